"""Runs of payouts: preview, approval, the bank's file, and the bank's answers."""

from datetime import date, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from laari.edge.pages.csv_files import csv_reply
from laari.edge.pages.operator.forms import form, perform
from laari.edge.pages.operator.request import OperatorRequest, Subject, in_words
from laari.edge.pages.person import long
from laari.edge.pages.request import FormProblem, Problem, read_count
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.operations.payouts import (
    APPROVE,
    CANCEL,
    RETURN,
    SEND,
    SETTLE,
    Target,
    find_target,
)
from laari.rules import ids
from laari.rules.banking.approval import Control, approved_on, content_of, not_approver
from laari.rules.banking.bank_accounts import Owned, masked
from laari.rules.banking.bank_days import bank_day_from, has_ended
from laari.rules.banking.payout_runs import OpenRun, joining
from laari.rules.calendar import local_day
from laari.rules.day_ranges import read_day
from laari.rules.records import BankOrder, Payout, PayoutRun, Tenant
from laari.store import payout_filling
from laari.store.postgres.pool import Connection
from laari.store.reads.money import bank_files, payouts
from laari.store.reads.money.bank_files import ChangedFileError

MOST_LISTED = 200


# == The list and the preview =====================================================================


@long
async def show_list(request: OperatorRequest) -> Reply:
    ask = request.backend.ask
    waiting = await ask(payouts.waiting, "live")
    return await request.long_page(
        "payouts.html",
        runs=await ask(payouts.runs, "live", MOST_LISTED),
        waiting=waiting,
        tenants=await ask(payouts.tenants_of, waiting),
        yesterday=_yesterday(request),
    )


def _yesterday(request: OperatorRequest) -> date:
    return local_day(request.now) - timedelta(days=1)


def _read_day(request: OperatorRequest) -> date | FormProblem:
    """The cut-off day of the query or the form; yesterday without one."""
    text = request.form.get("day", request.query.get("day", ""))
    if not text:
        return _yesterday(request)
    day = read_day(text)
    if day is None:
        return FormProblem(422, "The day must be a date.")
    ended = has_ended(day, request.now)
    return day if ended else FormProblem(422, f"{day} has not ended yet.")


@long
async def show_preview(request: OperatorRequest) -> Reply:
    day = _read_day(request)
    if isinstance(day, FormProblem):
        request.problem, day = request.problem or day, _yesterday(request)
    holidays = await request.backend.ask(payouts.holidays)
    return await request.long_page(
        "payouts_preview.html",
        day=day,
        expected=await payout_filling.expected(request.backend.ask, day, request.now),
        bank_day=bank_day_from(local_day(request.now), holidays),
    )


async def _create(request: OperatorRequest) -> Reply | Problem:
    """Opens a run or continues the open one: sent twice, it finds nothing left to pay."""
    day = _read_day(request)
    if isinstance(day, FormProblem):
        return day
    await request.confirm()
    expected = await payout_filling.expected(request.backend.ask, day, request.now)
    if expected.opened is None and not expected.number:
        return FormProblem(409, "There is nothing to pay out.")
    run = await request.submit(OpenRun(request.actor, "live", day))
    commands = joining(request.actor, run, expected.waiting_ids, expected.payable_ids)
    refused = await payout_filling.fill(request.backend.spine.submit, expected, commands)
    return request.redirect(f"/payouts/{run.number}", done="run_partly" if refused else "run")


# == One run ======================================================================================


async def _find(request: OperatorRequest) -> PayoutRun | None:
    number = read_count(request.params["number"])
    return await request.backend.ask(payouts.run_by_number, "live", number)


class Content(NamedTuple):
    payouts: list[Payout]
    orders: list[BankOrder]
    tenants: dict[int, Tenant]
    owned: list[Owned]  # of the payouts' owners
    new_accounts: list[payouts.NewAccount]
    approved: int  # the total of the other runs that were approved today

    @property
    def total(self) -> int:
        return sum(each.amount for each in self.payouts if each.status != "cancelled")


async def _content(connection: Connection, run_id: UUID, now: datetime) -> Content:
    joined = await payouts.of_run(connection, run_id)
    owners = {each.owner for each in joined if each.status != "cancelled"}
    owned = await payouts.owned_accounts(connection, owners)
    approved = (await payouts.approved_runs(connection))["live"]
    return Content(
        payouts=joined,
        orders=await payouts.orders(connection, [each.id for each in joined]),
        tenants=await payouts.tenants_of(connection, joined),
        owned=list(owned.values()),
        new_accounts=await payouts.new_accounts(connection, joined, now),
        approved=approved_on(approved, local_day(now)),
    )


@long
async def _show(request: OperatorRequest, run: PayoutRun) -> Reply:
    content = await request.backend.ask(_content, run.id, request.now)
    settings = request.backend.settings
    control = Control(
        run=run,
        day_total=content.approved + content.total,
        owned=content.owned,
        threshold=settings.payout_approval_above,
        needs_second=settings.second_operator_above is not None,
    )
    return await request.long_page(
        "payout_run.html",
        run=run,
        content=content,
        seen=content_of(content.payouts),
        by_id={each.id: each for each in content.payouts},
        file=await request.backend.ask(bank_files.bank_file, run.id),
        needs_another=not_approver(request.actor, control, request.now),
        masked=masked,
    )


RUN = Subject("/payouts/{number}", _find, _show)


def _page_of(run: PayoutRun) -> str:
    return f"/payouts/{run.number}"


async def _cancel(request: OperatorRequest, run: PayoutRun) -> Reply:
    return request.back_to(_page_of(run), await perform(request, CANCEL, Target(run)))


async def _download(request: OperatorRequest, run: PayoutRun) -> Reply:
    """The bytes that were made with the first call, and no others."""
    try:
        made = await request.backend.ask(bank_files.handed_out, run.id)
    except ChangedFileError as error:
        request.problem = in_words(error)
        return await _show(request, run)
    if made is None:
        return request.missing()
    return csv_reply(f"laari-payouts-{run.number:06}.csv", made.content)


async def _answer(request: OperatorRequest, run: PayoutRun) -> Reply | Problem:
    """The bank's answer to one order (`return LP…`), or all open orders are paid (`settle`)."""
    answer, _, reference = request.form.get("answer", "").partition(" ")
    declared = {"settle": SETTLE, "return": RETURN}.get(answer)
    if declared is None:
        return FormProblem(422, "Choose an order, and whether the bank paid or returned it.")
    target: Target | None = Target(run)
    if reference:
        target = await request.backend.ask(find_target, reference)
    if target is None or not await _is_of(request, run, target):
        return request.missing()
    return request.back_to(_page_of(run), await perform(request, declared, target))


async def _is_of(request: OperatorRequest, run: PayoutRun, target: Target) -> bool:
    if target.run is not None:
        return target.run.id == run.id
    joined = await request.backend.ask(payouts.of_run, run.id)
    return any(each.id == target.payout_id for each in joined)


async def _cancel_one(request: OperatorRequest) -> Reply:
    """Cancels a payout of a run, or one that waits for a run."""
    payout_id = ids.read_id(ids.PAYOUT, request.params["id"])
    if payout_id is None:
        return request.missing()
    done = await perform(request, CANCEL, Target(payout_id=payout_id))
    payout = (await request.backend.ask(payouts.by_id, [payout_id]))[payout_id]
    if payout.run_id is None:
        return request.back_to("/payouts", done)
    runs = await request.backend.ask(payouts.run_by_id, [payout.run_id])
    return request.back_to(_page_of(runs[payout.run_id]), done)


ROUTES: Routes = [
    PageRoute(OperatorRequest, "/payouts", get=show_list, needs="payouts.read"),
    PageRoute(
        OperatorRequest, "/payouts/preview", get=show_preview, post=_create, needs="payouts.run"
    ),
    PageRoute(OperatorRequest, "/payouts/{number}", get=RUN.show, needs="payouts.read"),
    form(RUN, "/approve", APPROVE, _page_of),
    form(RUN, "/send", SEND, _page_of),
    RUN.form("/cancel", _cancel, needs=CANCEL.needs, runs={CANCEL.name: {}}),
    RUN.form(
        "/answer",
        _answer,
        needs=SETTLE.needs,
        runs={SETTLE.name: {"answer": "settle"}, RETURN.name: {"answer": "return"}},
    ),
    PageRoute(
        OperatorRequest,
        "/payouts/{number}/file.csv",
        get=RUN.found(_download),
        hands_out=True,
        needs="payouts.run",
    ),
    PageRoute(
        OperatorRequest,
        "/payouts/one/{id}/cancel",
        post=_cancel_one,
        page=show_list,
        needs=CANCEL.needs,
        runs={CANCEL.name: {}},
    ),
]
