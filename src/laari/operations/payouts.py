"""What the operator does with payouts and their runs."""

from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from asyncpg import Connection

from laari.operations.fields import Amount, Day, Field, Number, Text, reason
from laari.operations.operation import Context, Operation, Otherwise, Shape, Subject, command
from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.banking.bank_accounts import masked
from laari.rules.banking.bank_days import bank_day_from, has_ended
from laari.rules.banking.bank_file import MAX_NUMBER
from laari.rules.banking.payout_approval import ApproveRun, content_of
from laari.rules.banking.payout_runs import (
    AnswerPayout,
    CancelPayout,
    CancelRun,
    OpenRun,
    Run,
    SendRun,
    joining,
)
from laari.rules.banking.payouts import tenant_of
from laari.rules.calendar import local_day, show_or_none
from laari.rules.calendar import show as show_time
from laari.rules.lifecycle import RunState, run_state
from laari.rules.money import MAX_MONEY
from laari.rules.records.payouts import BankOrder, Payout, PayoutRun
from laari.rules.records.second_person import PendingMovement
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal, invalid, refuse
from laari.store.bank_statements import Ask
from laari.store.payout_filling import Refused, expected, fill
from laari.store.reads.money import payouts

# == Shapes =======================================================================================


def merchant_shape(tenant: Tenant) -> Shape:
    return {"merchant_id": tenant.merchant_id, "merchant": tenant.merchant_name}


def owner_shape(payout: Payout | None, tenant: Tenant | None) -> Shape:
    """The merchant of a payout, or the account of a withdrawal."""
    if tenant is not None:
        return {**merchant_shape(tenant), "account": None}
    account = None if payout is None else str(payout.account)
    return {"merchant_id": None, "merchant": None, "account": account}


def payout_shape(payout: Payout, tenant: Tenant | None) -> dict[str, object]:
    """A payout of a merchant, or a withdrawal from an account."""
    return {
        "id": ids.show_id(ids.PAYOUT, payout.id),
        "mode": "live" if tenant is None else tenant.mode,
        **owner_shape(payout, tenant),
        "amount": payout.amount,
        "fee": payout.fee,
        "status": payout.status,
        "returned_amount": payout.returned_amount,
        "created_at": show_time(payout.created_at),
    }


def order_shape(order: BankOrder) -> Shape:
    return {
        "reference": order.reference,
        "payout_id": ids.show_id(ids.PAYOUT, order.payout_id),
        "amount": order.amount,
        "status": order.status,
        "return_reason": order.return_reason,
    }


def run_line(run: PayoutRun, state: RunState) -> dict[str, object]:
    """A run without its payouts."""
    return {
        "run": run.number,
        "day": str(run.day),
        "status": state,
        "created_at": show_time(run.created_at),
        "created_by": run.created_by,
        "approved_by": run.approved_by,
        "approved_at": show_or_none(run.approved_at),
        "sent_by": run.sent_by,
        "sent_at": show_or_none(run.sent_at),
    }


async def run_shape(ask: Ask, run: PayoutRun) -> dict[str, object]:
    joined = await ask(payouts.of_run, run.id)
    by_id = await ask(payouts.tenants_of, joined)
    left = [each for each in joined if each.status != "cancelled"]
    recent = await ask(payouts.new_accounts, joined, datetime.now(UTC))
    orders = await ask(payouts.orders, [each.id for each in joined])
    return {
        **run_line(run, run_state(run, {each.status for each in joined})),
        "count": len(left),
        "total": sum(each.amount for each in left),
        "content": content_of(joined),
        "payouts": [payout_shape(each, tenant_of(by_id, each)) for each in joined],
        "recent_bank_accounts": [recent_shape(each) for each in recent],
        "orders": [order_shape(each) for each in orders],
    }


def recent_shape(found: payouts.NewAccount) -> Shape:
    """A bank account that is new to the approver."""
    account = found.account
    return {
        "owner": found.owner,
        "holder": account.holder,
        "bank": account.bank,
        "number": masked(account.account_number),
        "entered_by": account.entered_by,
        "entered_at": show_time(account.created_at),
        "effective_at": show_time(account.effective_at),
    }


async def _shape(ask: Ask, subject: object, changed: Run | Payout) -> Shape:
    if isinstance(changed, Run):
        return await run_shape(ask, changed.run)
    tenants = await ask(payouts.tenants_of, [changed])
    return payout_shape(changed, tenant_of(tenants, changed))


# == A new run ====================================================================================


class Filled(NamedTuple):
    """The run of a day, and the payouts that could not join it."""

    run: PayoutRun
    refused: list[Refused]


def last_day(named: date | None, now: datetime) -> date | Refusal:
    """The last day that a run pays out: yesterday if none is named."""
    day = named or local_day(now) - timedelta(days=1)
    return day if has_ended(day, now) else invalid("day", f"{day} has not ended yet.")


async def _run(context: Context, day: date | None) -> Filled | Refusal:
    """Opens a run or continues the open one: repeated, it finds nothing left to pay."""
    last = last_day(day, context.now)
    if isinstance(last, Refusal):
        return last
    found = await expected(context.ask, last, context.now)
    if found.opened is None and not found.number:
        return refuse("payout_conflict", "There is nothing to pay out.")
    run = await context.submit(OpenRun(context.actor, "live", last))
    if isinstance(run, Refusal):
        return run
    commands = joining(context.actor, run, found.waiting_ids, found.payable_ids)
    return Filled(run, await fill(context.submit, found, commands))


def _is_partly(filled: Filled) -> bool:
    return bool(filled.refused)


PAY_OUT: Operation[None] = Operation(
    "payout.run",
    needs=OpenRun.permission,
    fields=(Field("day", Day(), "Last day to pay out; yesterday if omitted.", "never"),),
    run=_run,
    done="The payouts are in the run. It waits for approval.",
    otherwise=Otherwise(
        _is_partly, "Some payouts could not join the run. The next preview shows the reasons."
    ),
    about="""Pay out all live merchants up to the end of a day.

    Shows amounts, and the reasons why others are not paid out or held. Repeat the command to
    continue a run that was interrupted. Approve the run before you make its file.
    """,
)

# == One run ======================================================================================


async def find_run(connection: Connection, run: int) -> PayoutRun | None:
    return await payouts.run_by_number(connection, "live", run)


RUN = Subject(
    "run",
    "",
    (Field("run", Number(1, MAX_NUMBER), positional=True),),
    find_run,
    "no run has the number {run}",
)


async def _approve(
    context: Context, run: PayoutRun, total: int | None, content: str | None = None
) -> object:
    if total is None:
        return refuse("invalid_request", "Name the total that you checked.", "total")
    threshold = context.settings.payout_approval_above
    return await context.submit(ApproveRun(context.actor, run.id, threshold, total, content))


APPROVE = Operation(
    "payout.approve",
    needs=ApproveRun.permission,
    subject=RUN,
    fields=(
        Field("total", Amount(0, MAX_MONEY), "The total that you checked.", "on pages"),
        Field(
            "content",
            Text(32),
            "The code of the payouts that you checked, from `payout show`.",
            required="never",
        ),
    ),
    run=_approve,
    shape=_shape,
    logs_in=True,
    done="The run is approved. Its file can be made.",
    about="""Approve a run, so that its file can be made.

    With LAARI_SECOND_OPERATOR_ABOVE, another operator than the one who opened the run logs in for
    this, and names its total. Without that setting, another operator is needed
    only if the runs of the day are above LAARI_PAYOUT_APPROVAL_ABOVE.
    """,
)


async def _send(context: Context, run: PayoutRun) -> object:
    holidays = await context.ask(payouts.holidays)
    value_date = bank_day_from(local_day(context.now), holidays)
    most = context.settings.payout_order_limit
    return await context.submit(SendRun(context.actor, run.id, value_date, most))


SEND = Operation(
    "payout.file",
    needs=SendRun.permission,
    subject=RUN,
    fields=(),
    run=_send,
    shape=_shape,
    done="The file is made. Download it and send it to the bank.",
    about="""Make the bank's file, or write it again.

    The payouts are sent with the first call. Later calls write the same bytes.
    """,
)

# == Payouts, one or all of a run =================================================================


class Target(NamedTuple):
    """Payouts that a person names: a whole run, or one payout, perhaps one order of it."""

    run: PayoutRun | None = None
    payout_id: UUID | None = None
    order: str | None = None


async def find_target(connection: Connection, what: str) -> Target | None:
    if what.isascii() and what.isdecimal():
        run = await find_run(connection, int(what)) if len(what) <= len(str(MAX_NUMBER)) else None
        return None if run is None else Target(run)
    payout_id = ids.read_id(ids.PAYOUT, what)
    if payout_id is not None:
        return Target(payout_id=payout_id)
    order = (await payouts.order_by_reference(connection, [what.upper()])).get(what.upper())
    return None if order is None else Target(payout_id=order.payout_id, order=order.reference)


def _named(metavar: str) -> Subject[Target]:
    return Subject(
        "target",
        "",
        (Field("what", Text(100), positional=True, typed=metavar),),
        find_target,
        "no payout, order or run is called {what}",
    )


def _cancel(actor: Actor, target: Target) -> CancelRun | CancelPayout:
    if target.run is not None:
        return CancelRun(actor, target.run.id)
    assert target.payout_id is not None
    return CancelPayout(actor, target.payout_id)


def _is_payout(changed: Run | Payout) -> bool:
    return isinstance(changed, Payout)


CANCEL = Operation(
    "payout.cancel",
    needs=CancelPayout.permission,
    subject=_named("PAYOUT|RUN"),
    fields=(),
    run=command(_cancel),
    shape=_shape,
    done="The run is cancelled. Its money is available again.",
    otherwise=Otherwise(_is_payout, "The payout is cancelled. Its money is available again."),
    about="""Cancel a payout or a run before it is sent.

    The money is available again.
    """,
)


async def _settle(context: Context, target: Target) -> object:
    if target.payout_id is not None:
        settle = AnswerPayout(context.actor, target.payout_id, "settle", target.order)
        return _listed(await context.submit(settle))
    assert target.run is not None
    joined = await context.ask(payouts.of_run, target.run.id)
    sent = [each.id for each in joined if each.status == "sent"]
    if not sent:
        which = f"Run {target.run.number} is {target.run.status}"
        return refuse("payout_conflict", f"{which}: no order waits for an answer.")
    settled = []
    for payout_id in sent:
        outcome = await context.submit(AnswerPayout(context.actor, payout_id, "settle"))
        if isinstance(outcome, Refusal):
            name = ids.show_id(ids.PAYOUT, payout_id)
            return outcome._replace(message=f"{name}: {outcome.message}")
        settled.append(outcome)
    return settled


def _listed(outcome: Payout | PendingMovement | Refusal) -> object:
    return outcome if isinstance(outcome, Refusal) else [outcome]


SETTLE = Operation(
    "payout.settle",
    needs=AnswerPayout.permission,
    subject=_named("PAYOUT|ORDER|RUN"),
    fields=(),
    run=_settle,
    shape=_shape,
    done="The answer is recorded: the bank has paid.",
    about="""Record that the bank has paid.

    Names a payout, one of its orders, or a run with all of its payouts.
    """,
)


async def _return(context: Context, target: Target, reason: str | None) -> object:
    if target.payout_id is None:
        message = "Name a payout (po_…) or an order (LP…), not a run."
        return refuse("invalid_request", message)
    command = AnswerPayout(context.actor, target.payout_id, "return", target.order, reason)
    return _listed(await context.submit(command))


RETURN = Operation(
    "payout.return",
    needs=AnswerPayout.permission,
    subject=_named("PAYOUT|ORDER"),
    fields=(reason(about="In the bank's words. The shop or the customer reads it."),),
    run=_return,
    shape=_shape,
    done="The answer is recorded. The returned money is available again.",
    about="""Record that the bank has returned money.

    Names a payout or one of its orders. The money is available to the merchant at once.
    """,
)
