"""Runs of payouts: preview, approval, the bank's file, and the bank's answers."""

import asyncio
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Literal, NamedTuple
from uuid import UUID

from laari.edge.pages.dashboard.money.export import csv_reply
from laari.edge.pages.operator.request import OperatorRequest, Subject
from laari.edge.pages.request import FormProblem, Problem, RefusedForm, read_count
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.banking.bank_days import bank_day_from, cut_off_of
from laari.rules.banking.payout_runs import (
    AnswerPayout,
    ApproveRun,
    CancelPayout,
    CancelRun,
    OpenRun,
    SendRun,
    joining,
    written,
)
from laari.rules.banking.payouts import tenant_of
from laari.rules.calendar import local_day
from laari.rules.command import Command
from laari.rules.money import read_rufiyaa
from laari.rules.records import BankOrder, Payout, PayoutRun, Tenant
from laari.rules.refusals import Refusal
from laari.store.postgres.pool import Connection
from laari.store.reads.money import payouts

MOST_LISTED = 200
TOGETHER = 50  # commands of a run: their batches load all of its payouts


# == The list and the preview =====================================================================


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


class Held(NamedTuple):
    """A requested payout that cannot join a run now."""

    payout: Payout
    reason: str


class Expected(NamedTuple):
    """What a run for a day would contain."""

    payable: list[payouts.Preview]
    left_out: list[payouts.Preview]
    waiting: list[Payout]
    held: list[Held]
    tenants: dict[int, Tenant]  # of the waiting and the held ones
    opened: PayoutRun | None

    @property
    def number(self) -> int:
        return len(self.payable) + len(self.waiting)

    @property
    def total(self) -> int:
        due = sum(each.amount for each in self.payable)
        return due + sum(each.amount for each in self.waiting)


async def _expected(request: OperatorRequest, day: date) -> Expected:
    ask = request.backend.ask
    seen = await ask(payouts.preview, "live", cut_off_of(day), request.now)
    requested = await ask(payouts.waiting, "live")
    held = await ask(payouts.held, requested)
    return Expected(
        payable=[each for each in seen if each.refusal is None],
        left_out=[each for each in seen if each.refusal is not None],
        waiting=[each for each in requested if each.id not in held],
        held=[Held(each, held[each.id]) for each in requested if each.id in held],
        tenants=await ask(payouts.tenants_of, requested),
        opened=await ask(payouts.open_run, "live"),
    )


def _read_day(request: OperatorRequest) -> date | FormProblem:
    """The cut-off day of the query or the form; yesterday without one."""
    text = request.form.get("day", request.query.get("day", ""))
    if not text:
        return _yesterday(request)
    try:
        day = date.fromisoformat(text)
        ended = cut_off_of(day) <= request.now
    except (ValueError, OverflowError):
        return FormProblem(422, "The day must be a date.")
    return day if ended else FormProblem(422, f"{day} has not ended yet.")


async def show_preview(request: OperatorRequest) -> Reply:
    day = _read_day(request)
    if isinstance(day, FormProblem):
        request.problem, day = request.problem or day, _yesterday(request)
    holidays = await request.backend.ask(payouts.holidays)
    return await request.long_page(
        "payouts_preview.html",
        day=day,
        expected=await _expected(request, day),
        bank_day=bank_day_from(local_day(request.now), holidays),
    )


async def _create(request: OperatorRequest) -> Reply | Problem:
    """Opens a run or continues the open one: sent twice, it finds nothing left to pay."""
    day = _read_day(request)
    if isinstance(day, FormProblem):
        return day
    await request.confirm()
    expected = await _expected(request, day)
    run = expected.opened
    if run is not None and run.day != day:
        return FormProblem(
            409, f"Run {run.number} for {run.day} is open: approve it or cancel it first."
        )
    if run is None and not expected.number:
        return FormProblem(409, "There is nothing to pay out.")
    if run is None:
        opened = await request.submit(OpenRun(request.actor, "live", day))
        run = opened
    paid = [each.tenant for each in expected.payable]
    commands = joining(request.actor, run, expected.waiting, paid, expected.tenants)
    refused = await _fill(request, commands)
    return request.redirect(f"/payouts/{run.number}", done="run_partly" if refused else "run")


async def _fill(request: OperatorRequest, commands: Sequence[Command[Payout]]) -> int:
    """Adds payouts to a run; the number of refused ones, which stay in the next preview."""
    refused = 0
    for start in range(0, len(commands), TOGETHER):
        outcomes = await asyncio.gather(
            *(request.backend.spine.submit(each) for each in commands[start : start + TOGETHER])
        )
        refused += sum(isinstance(outcome, Refusal) for outcome in outcomes)
    return refused


# == One run ======================================================================================


async def _find(request: OperatorRequest) -> PayoutRun | None:
    number = read_count(request.params["number"])
    return await request.backend.ask(payouts.run_by_number, "live", number)


class Content(NamedTuple):
    payouts: list[Payout]
    orders: list[BankOrder]
    tenants: dict[int, Tenant]

    @property
    def total(self) -> int:
        return sum(each.amount for each in self.payouts if each.status != "cancelled")


async def _content(connection: Connection, run_id: UUID) -> Content:
    joined = await payouts.of_run(connection, run_id)
    orders = await payouts.orders(connection, [each.id for each in joined])
    by_id = await payouts.tenants_of(connection, joined)
    return Content(joined, orders, by_id)


async def _show(request: OperatorRequest, run: PayoutRun) -> Reply:
    content = await request.backend.ask(_content, run.id)
    threshold = request.backend.settings.payout_approval_above
    return await request.long_page(
        "payout_run.html",
        run=run,
        content=content,
        by_id={each.id: each for each in content.payouts},
        file=await request.backend.ask(payouts.bank_file, run.id),
        threshold=threshold,
        needs_another=content.total > threshold and written(request.actor) == run.created_by,
    )


RUN = Subject("/payouts/{number}", _find, _show)


async def _approve(request: OperatorRequest, run: PayoutRun) -> Reply:
    await request.confirm()
    content = await request.backend.ask(_content, run.id)
    threshold = request.backend.settings.payout_approval_above
    seen = read_rufiyaa(request.form.get("total", ""))
    if seen is None:
        raise RefusedForm(FormProblem(422, "The total must be in rufiyaa, as the page shows it."))
    command = ApproveRun(request.actor, run.id, content.tenants, threshold, seen)
    await request.submit(command)
    return request.redirect(f"/payouts/{run.number}", done="run_approved")


async def _send(request: OperatorRequest, run: PayoutRun) -> Reply:
    await request.confirm()
    content = await request.backend.ask(_content, run.id)
    holidays = await request.backend.ask(payouts.holidays)
    value_date = bank_day_from(local_day(request.now), holidays)
    most = request.backend.settings.payout_order_limit
    await request.submit(SendRun(request.actor, run.id, content.tenants, value_date, most))
    return request.redirect(f"/payouts/{run.number}", done="run_sent")


async def _cancel(request: OperatorRequest, run: PayoutRun) -> Reply:
    await request.confirm()
    content = await request.backend.ask(_content, run.id)
    await request.submit(CancelRun(request.actor, run.id, content.tenants))
    return request.redirect(f"/payouts/{run.number}", done="run_cancelled")


async def _download(request: OperatorRequest, run: PayoutRun) -> Reply:
    """The bytes that were made with the first call, and no others."""
    made = await request.backend.ask(payouts.bank_file, run.id)
    if made is None:
        return request.missing()
    return csv_reply(f"laari-payouts-{run.number:06}.csv", made.content)


async def _answer(request: OperatorRequest, run: PayoutRun) -> Reply | Problem:
    """The bank's answer to one order (`return LP…`), or all open orders are paid (`settle`)."""
    action, _, reference = request.form.get("answer", "").partition(" ")
    if action not in ("settle", "return") or (action == "return" and not reference):
        return FormProblem(422, "Choose an order, and whether the bank paid or returned it.")
    content = await request.backend.ask(_content, run.id)
    order = next((each for each in content.orders if each.reference == reference), None)
    if reference and order is None:
        return request.missing()
    await request.confirm()
    answered = [
        each
        for each in content.payouts
        if (each.status == "sent" if order is None else each.id == order.payout_id)
    ]
    if not answered:
        return FormProblem(409, "No order waits for an answer.")
    kind: Literal["settle", "return"] = "settle" if action == "settle" else "return"
    for payout in answered:
        tenant = tenant_of(content.tenants, payout)
        await request.submit(
            AnswerPayout(tenant, request.actor, payout.id, kind, reference or None)
        )
    return request.redirect(f"/payouts/{run.number}", done=f"bank_{kind}")


async def _cancel_one(request: OperatorRequest) -> Reply:
    """Cancels a payout of a run, or one that waits for a run."""
    ask, number = request.backend.ask, ids.read_id(ids.PAYOUT, request.params["id"])
    payout = None if number is None else (await ask(payouts.by_id, [number])).get(number)
    if payout is None:
        return request.missing()
    tenant = tenant_of(await ask(payouts.tenants_of, [payout]), payout)
    await request.confirm()
    await request.submit(CancelPayout(tenant, request.actor, payout.id))
    where = "/payouts"
    if payout.run_id is not None:
        run = (await ask(payouts.run_by_id, [payout.run_id]))[payout.run_id]
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
