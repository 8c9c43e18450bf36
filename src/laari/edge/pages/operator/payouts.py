"""Runs of payouts: preview, approval, the bank's file, and the bank's answers."""

from datetime import date, datetime, timedelta
from typing import Literal, NamedTuple
from uuid import UUID

from laari.edge.pages.csv_files import csv_reply
from laari.edge.pages.operator.request import OperatorRequest, Subject, in_words
from laari.edge.pages.person import long
from laari.edge.pages.request import FormProblem, Problem, RefusedForm, read_count
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.banking.approval import ApproveRun, Control, approved_on, not_approver
from laari.rules.banking.bank_accounts import masked
from laari.rules.banking.bank_days import bank_day_from, has_ended
from laari.rules.banking.payout_runs import (
    AnswerPayout,
    CancelPayout,
    CancelRun,
    OpenRun,
    SendRun,
    joining,
)
from laari.rules.calendar import local_day
from laari.rules.day_ranges import read_day
from laari.rules.money import read_rufiyaa
from laari.rules.records import BankAccount, BankOrder, Payout, PayoutRun, Tenant
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
    accounts: tuple[BankAccount, ...]  # of the payouts' owners
    recent: list[payouts.RecentAccount]
    approved: int  # the total of the other runs that were approved today

    @property
    def total(self) -> int:
        return sum(each.amount for each in self.payouts if each.status != "cancelled")


async def _content(connection: Connection, run_id: UUID, now: datetime) -> Content:
    joined = await payouts.of_run(connection, run_id)
    owned = await payouts.bank_accounts(connection, {each.owner for each in joined})
    approved = (await payouts.approved_runs(connection))["live"]
    return Content(
        payouts=joined,
        orders=await payouts.orders(connection, [each.id for each in joined]),
        tenants=await payouts.tenants_of(connection, joined),
        accounts=tuple(account for accounts in owned.values() for account in accounts),
        recent=await payouts.recent_accounts(connection, joined, now),
        approved=approved_on(approved, local_day(now)),
    )


@long
async def _show(request: OperatorRequest, run: PayoutRun) -> Reply:
    content = await request.backend.ask(_content, run.id, request.now)
    settings = request.backend.settings
    control = Control(
        run=run,
        day_total=content.approved + content.total,
        accounts=content.accounts,
        threshold=settings.payout_approval_above,
        needs_second=settings.second_operator_above is not None,
    )
    return await request.long_page(
        "payout_run.html",
        run=run,
        content=content,
        by_id={each.id: each for each in content.payouts},
        file=await request.backend.ask(bank_files.bank_file, run.id),
        needs_another=not_approver(request.actor, control, request.now),
        masked=masked,
    )


RUN = Subject("/payouts/{number}", _find, _show)


async def _approve(request: OperatorRequest, run: PayoutRun) -> Reply:
    await request.confirm()
    threshold = request.backend.settings.payout_approval_above
    seen = read_rufiyaa(request.form.get("total", ""))
    if seen is None:
        raise RefusedForm(FormProblem(422, "The total must be in rufiyaa, as the page shows it."))
    await request.submit(ApproveRun(request.actor, run.id, threshold, seen))
    return request.redirect(f"/payouts/{run.number}", done="run_approved")


async def _send(request: OperatorRequest, run: PayoutRun) -> Reply:
    await request.confirm()
    holidays = await request.backend.ask(payouts.holidays)
    value_date = bank_day_from(local_day(request.now), holidays)
    most = request.backend.settings.payout_order_limit
    await request.submit(SendRun(request.actor, run.id, value_date, most))
    return request.redirect(f"/payouts/{run.number}", done="run_sent")


async def _cancel(request: OperatorRequest, run: PayoutRun) -> Reply:
    await request.confirm()
    await request.submit(CancelRun(request.actor, run.id))
    return request.redirect(f"/payouts/{run.number}", done="run_cancelled")


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
    action, _, reference = request.form.get("answer", "").partition(" ")
    if action not in ("settle", "return") or (action == "return" and not reference):
        return FormProblem(422, "Choose an order, and whether the bank paid or returned it.")
    joined = await request.backend.ask(payouts.of_run, run.id)
    orders = await request.backend.ask(payouts.orders, [each.id for each in joined])
    order = next((each for each in orders if each.reference == reference), None)
    if reference and order is None:
        return request.missing()
    await request.confirm()
    if order is None:
        answered = [each.id for each in joined if each.status == "sent"]
    else:
        answered = [order.payout_id]
    if not answered:
        return FormProblem(409, "No order waits for an answer.")
    kind: Literal["settle", "return"] = "settle" if action == "settle" else "return"
    done = f"bank_{kind}"
    for payout_id in answered:
        command = AnswerPayout(request.actor, payout_id, kind, reference or None)
        done = await request.move(command, done)
    return request.redirect(f"/payouts/{run.number}", done=done)


async def _cancel_one(request: OperatorRequest) -> Reply:
    """Cancels a payout of a run, or one that waits for a run."""
    payout_id = ids.read_id(ids.PAYOUT, request.params["id"])
    if payout_id is None:
        return request.missing()
    await request.confirm()
    payout = await request.submit(CancelPayout(request.actor, payout_id))
    where = "/payouts"
    if payout.run_id is not None:
        found = await request.backend.ask(payouts.run_by_id, [payout.run_id])
        run = found[payout.run_id]
        where = f"/payouts/{run.number}"
    return request.redirect(where, done="payout_cancelled")


ROUTES: Routes = [
    PageRoute(OperatorRequest, "/payouts", get=show_list, needs="payouts.read"),
    PageRoute(
        OperatorRequest, "/payouts/preview", get=show_preview, post=_create, needs="payouts.run"
    ),
    PageRoute(OperatorRequest, "/payouts/{number}", get=RUN.show, needs="payouts.read"),
    RUN.form("/approve", _approve, needs="payouts.run"),
    RUN.form("/send", _send, needs="payouts.run"),
    RUN.form("/cancel", _cancel, needs="payouts.run"),
    RUN.form("/answer", _answer, needs="payouts.run"),
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
        needs="payouts.run",
    ),
]
