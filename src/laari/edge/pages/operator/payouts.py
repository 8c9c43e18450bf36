"""Runs of payouts: preview, approval, the bank's file, and the bank's answers."""

from datetime import date, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from laari.edge.pages.csv_files import csv_reply
from laari.edge.pages.operator.forms import form, perform
from laari.edge.pages.operator.request import OperatorRequest, Subject, in_words
from laari.edge.pages.person import fields_of, long
from laari.edge.pages.request import RefusedForm, read_count
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.operations.operation import Operation
from laari.operations.payouts import (
    APPROVE,
    CANCEL,
    PAY_OUT,
    RETURN,
    SEND,
    SETTLE,
    Filled,
    Target,
    last_day,
)
from laari.rules import ids
from laari.rules.banking.bank_accounts import Owned, masked
from laari.rules.banking.bank_days import bank_day_from
from laari.rules.banking.payout_approval import Control, approved_on, content_of, not_approver
from laari.rules.calendar import local_day
from laari.rules.lifecycle import run_state
from laari.rules.records.payouts import BankOrder, Payout, PayoutRun
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal
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


def _read_day(request: OperatorRequest) -> date:
    """The cut-off day of the query or the form; yesterday without one."""
    given = fields_of(PAY_OUT.fields, request.form or request.query)
    named = given["day"]
    assert named is None or isinstance(named, date)
    day = last_day(named, request.now)
    if isinstance(day, Refusal):
        raise RefusedForm.of_field(day)
    return day


@long
async def show_preview(request: OperatorRequest) -> Reply:
    try:
        day = _read_day(request)
    except RefusedForm as refused:
        request.problem, day = request.problem or refused.problem, _yesterday(request)
    holidays = await request.backend.ask(payouts.holidays)
    return await request.long_page(
        "payouts_preview.html",
        day=day,
        expected=await payout_filling.expected(request.backend.ask, day, request.now),
        bank_day=bank_day_from(local_day(request.now), holidays),
    )


async def _create(request: OperatorRequest) -> Reply:
    """Opens a run or continues the open one."""
    filled = await request.act(PAY_OUT, None, {"day": _read_day(request)})
    assert isinstance(filled, Filled)
    return request.back_to(_page_of(filled.run), PAY_OUT.text_after(filled))


# == One run ======================================================================================


async def _find(request: OperatorRequest) -> PayoutRun | None:
    number = read_count(request.params["number"])
    return await request.backend.ask(payouts.run_by_number, "live", number)


class Content(NamedTuple):
    payouts: list[Payout]
    orders: list[BankOrder]  # to the bank
    tenants: dict[int, Tenant]
    owned: list[Owned]  # of the payouts' owners
    new_accounts: list[payouts.NewAccount]
    approved: int  # the total of the other runs that were approved today

    @property
    def total(self) -> int:
        return sum(each.amount for each in self.payouts if each.status != "cancelled")

    @property
    def open_orders(self) -> list[BankOrder]:
        return [each for each in self.orders if each.status == "sent"]


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
        helps=await request.helps(),
    )
    return await request.long_page(
        "payout_run.html",
        run=run,
        content=content,
        seen=content_of(content.payouts),
        state=run_state(run, {each.status for each in content.payouts}),
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


def _answer(path: str, declared: Operation[Target]) -> PageRoute[OperatorRequest]:
    """The page and the form of one answer of the bank, about one order or all open ones."""

    async def find(request: OperatorRequest, run: PayoutRun) -> tuple[Content, BankOrder | None]:
        """The order that the form or the address names, if it names one."""
        content = await request.backend.ask(_content, run.id, request.now)
        name = request.form.get("order", request.query.get("order", ""))
        if not name:
            return content, None
        named = [each for each in content.orders if each.reference == name]
        if not named:
            raise RefusedForm(404, "The run has no such order.")
        return content, named[0]

    async def show(request: OperatorRequest, run: PayoutRun) -> Reply:
        try:
            content, order = await find(request, run)
        except RefusedForm:
            return request.missing()
        by_id = {each.id: each for each in content.payouts}
        payout = None if order is None else by_id[order.payout_id]
        accounts = [account for owned in content.owned for account in owned.accounts]
        used = [each for each in accounts if payout and each.id == payout.bank_account_id]
        return request.page(
            "payout_answer.html",
            run=run,
            returns=declared is RETURN,
            orders=content.open_orders if order is None else [order],
            order=order,
            payout=payout,
            account=used[0] if used else None,
            tenants=content.tenants,
            masked=masked,
        )

    async def record(request: OperatorRequest, run: PayoutRun) -> Reply:
        _, order = await find(request, run)
        target = Target(run) if order is None else Target(None, order.payout_id, order.reference)
        return request.back_to(_page_of(run), await perform(request, declared, target))

    return PageRoute(
        OperatorRequest,
        f"/payouts/{{number}}{path}",
        get=RUN.found(show),
        post=RUN.found(record),
        needs=declared.needs,
        runs={declared.name: {}},
    )


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
        OperatorRequest,
        "/payouts/preview",
        get=show_preview,
        post=_create,
        needs=PAY_OUT.needs,
        runs={PAY_OUT.name: {}},
    ),
    PageRoute(OperatorRequest, "/payouts/{number}", get=RUN.show, needs="payouts.read"),
    form(RUN, "/approve", APPROVE, _page_of),
    form(RUN, "/send", SEND, _page_of),
    RUN.form("/cancel", _cancel, needs=CANCEL.needs, runs={CANCEL.name: {}}),
    _answer("/paid", SETTLE),
    _answer("/returned", RETURN),
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
