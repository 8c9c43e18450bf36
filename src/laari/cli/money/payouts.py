"""`laari payout`: runs of payouts to merchants' bank accounts."""

import os
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import click

from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, database_operation, deciding, operation, submit
from laari.cli.terminal.output import path_text
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules import ids
from laari.rules.banking.bank_days import bank_day_from, cut_off_of
from laari.rules.banking.payout_runs import (
    AnswerPayout,
    ApproveRun,
    CancelPayout,
    CancelRun,
    JoinRun,
    OpenRun,
    Run,
    SendRun,
    joining,
)
from laari.rules.banking.payouts import RequestPayout, tenant_of
from laari.rules.calendar import local_day, show_or_none
from laari.rules.calendar import show as show_time
from laari.rules.money import MAX_MONEY
from laari.rules.records import Payout, PayoutRun, Tenant
from laari.rules.refusals import Refusal
from laari.store.merchants import merchants, payout_terms
from laari.store.postgres.pool import Connection, connection_to
from laari.store.reads.money import payouts

MOST_LISTED = 1_000
_run_number = fields.integer(1, 999_999)


@click.group()
def payout() -> None:
    """Payouts to merchants' bank accounts."""


@payout.command()
@click.option("--day", type=fields.day, help="Last day to pay out; yesterday if omitted.")
@click.option("--dry-run", is_flag=True, help="Only show what would be paid out.")
@operation
@needs("payouts.run")
async def run(service: Service, day: date | None, dry_run: bool) -> dict[str, object]:
    """Pay out all live merchants up to the end of a day.

    Shows amounts, and the reasons why others are not paid out or held. Repeat the command to
    continue a run that was interrupted. Approve the run before you make its file.
    """
    now = datetime.now(UTC)
    day = day or local_day(now) - timedelta(days=1)
    if cut_off_of(day) > now:
        raise LaariError(f"{day} has not ended yet")
    async with connection_to(service.dsn) as connection:
        seen = await payouts.preview(connection, "live", cut_off_of(day), now)
        requested = await payouts.waiting(connection, "live")
        held = await payouts.held(connection, requested)
        opened = await payouts.open_run(connection, "live")
        holidays = await payouts.holidays(connection)
        known = await payouts.tenants_of(connection, requested)
    if opened is not None and opened.day != day:
        raise LaariError(f"run {opened.number} for {opened.day} is open: approve or cancel it")
    payable = [each for each in seen if each.refusal is None]
    waiting = [each for each in requested if each.id not in held]
    answer: dict[str, object] = {
        "day": str(day),
        "bank_day": str(bank_day_from(local_day(now), holidays)),
        "count": len(payable) + len(waiting),
        "total": sum(each.amount for each in payable) + sum(each.amount for each in waiting),
    }
    if dry_run:
        paid = [
            {**_merchant(each.tenant), "amount": each.amount, "fee": each.fee} for each in payable
        ]
        answer["payouts"] = paid + [_requested(each, known) for each in waiting]
    elif payable or waiting or opened:
        answer |= await _make_run(service, opened, day, payable, waiting, known)
    answer["held"] = [
        {**_requested(each, known), "reason": held[each.id]}
        for each in requested
        if each.id in held
    ]
    answer["not_paid"] = [
        {**_merchant(each.tenant), "available": each.available, "reason": each.refusal.message}
        for each in seen
        if each.refusal is not None
    ]
    return answer


def _requested(found: Payout, known: Mapping[int, Tenant]) -> dict[str, object]:
    owner = _owner(found, tenant_of(known, found))
    return {**owner, "amount": found.amount, "fee": found.fee}


async def _make_run(
    service: Service,
    opened: PayoutRun | None,
    day: date,
    payable: list[payouts.Preview],
    waiting: list[Payout],
    known: Mapping[int, Tenant],
) -> dict[str, object]:
    """Opens the run or continues it, and adds all payouts that can join it."""
    refused, requested = [], {each.id: each for each in waiting}
    async with deciding(service) as decide:
        found = opened or _accepted(await decide(OpenRun(actor(), "live", day)))
        paid = [each.tenant for each in payable]
        for command in joining(actor(), found, waiting, paid, known):
            outcome: Payout | Refusal = await decide(command)
            if isinstance(outcome, Refusal):
                asked = requested[command.id] if isinstance(command, JoinRun) else None
                refused.append({**_owner(asked, command.tenant), "reason": outcome.message})
    async with connection_to(service.dsn) as connection:
        shown = await _run_shown(connection, found)
    return {**shown, "refused": refused}


def _accepted(outcome: PayoutRun | Refusal) -> PayoutRun:
    if isinstance(outcome, Refusal):
        raise LaariError(outcome.message)
    return outcome


@payout.command("list")
@click.option("--limit", type=fields.integer(1, MOST_LISTED), default=20, help="Number of runs.")
@database_operation
@needs("payouts.run")
async def list_runs(connection: Connection, limit: int) -> list[dict[str, object]]:
    """List runs, newest first."""
    found = await payouts.runs(connection, "live", limit)
    return [
        {**_described(each.run), "payouts": each.payouts, "total": each.total} for each in found
    ]


@payout.command()
@click.argument("number", metavar="RUN", type=_run_number)
@database_operation
@needs("payouts.run")
async def show(connection: Connection, number: int) -> dict[str, object]:
    """Show a run with its payouts and orders."""
    return await _run_shown(connection, await _find_run(connection, number))


@payout.command()
@click.argument("number", metavar="RUN", type=_run_number)
@operation
@needs("payouts.run")
async def approve(service: Service, number: int) -> dict[str, object]:
    """Approve a run, so that its file can be made.

    Above LAARI_PAYOUT_APPROVAL_ABOVE, another person than the one who opened it has to do this.
    """
    threshold = service.settings.payout_approval_above
    found, by_id = await _run_and_tenants(service, number)
    return await _done(service, await submit(service, ApproveRun(actor(), found, by_id, threshold)))


@payout.command()
@click.argument("number", metavar="RUN", type=_run_number)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write it here.")
@operation
@needs("payouts.run")
async def file(service: Service, number: int, out: Path | None) -> dict[str, object]:
    """Make the bank's file, or write it again.

    The payouts are sent with the first call. Later calls write the same bytes.
    """
    require_absent(out)
    most = service.settings.payout_order_limit
    found, by_id = await _run_and_tenants(service, number)
    async with connection_to(service.dsn) as connection:
        holidays = await payouts.holidays(connection)
    value_date = bank_day_from(local_day(datetime.now(UTC)), holidays)
    await submit(service, SendRun(actor(), found, by_id, value_date, most))
    async with connection_to(service.dsn) as connection:
        made = await payouts.bank_file(connection, found)
    assert made is not None  # the run is sent
    if out is not None:
        write_new(out, made.content)
    return {
        "run": number,
        "value_date": str(made.value_date),
        "orders": made.order_count,
        "total": made.total,
        "digest": made.digest,
        "file": None if out is None else path_text(out),
    }


def require_absent(out: Path | None) -> None:
    if out is not None and out.exists():
        raise LaariError(f"{path_text(out)} exists already")


def write_new(out: Path, content: bytes) -> None:
    with out.open("xb") as target:
        target.write(content)
        target.flush()
        os.fsync(target.fileno())


@payout.command()
@click.argument("what", metavar="PAYOUT|ORDER|RUN")
@operation
@needs("payouts.run")
async def settle(service: Service, what: str) -> list[dict[str, object]]:
    """Record that the bank has paid.

    Names a payout, one of its orders, or a run with all of its payouts.
    """
    return await _answer(service, what, "settle")


@payout.command("return")
@click.argument("what", metavar="PAYOUT|ORDER")
@operation
@needs("payouts.run")
async def return_(service: Service, what: str) -> list[dict[str, object]]:
    """Record that the bank has returned money.

    Names a payout or one of its orders. The money is available to the merchant at once.
    """
    if what.isdecimal():
        raise LaariError("name a payout (po_…) or an order (LP…), not a run")
    return await _answer(service, what, "return")


@payout.command()
@click.argument("what", metavar="PAYOUT|RUN")
@operation
@needs("payouts.run")
async def cancel(service: Service, what: str) -> dict[str, object]:
    """Cancel a payout or a run before it is sent.

    The money is available again.
    """
    if what.isdecimal():
        found, by_id = await _run_and_tenants(service, _run_number(what))
        return await _done(service, await submit(service, CancelRun(actor(), found, by_id)))
    one, tenant = await _find_payout(service, what)
    return described(await submit(service, CancelPayout(tenant, actor(), one.id)), tenant)


@payout.command()
@click.argument("merchant_id")
@click.option("--mode", type=fields.MODE, default="live", help="Mode of the balance.")
@operation
@needs("payouts.run")
async def request(service: Service, merchant_id: str, mode: Any) -> dict[str, object]:
    """Pay out all that one merchant has.

    The next run takes the payout. In a sandbox it is sent at once.
    """
    async with connection_to(service.dsn) as connection:
        tenant = await merchants.tenant_of(connection, merchant_id, mode)
    return described(await submit(service, RequestPayout(tenant, actor())), tenant)


@payout.command()
@click.argument("merchant_id")
@click.option("--mode", type=fields.MODE, default="live", help="Mode of the terms.")
@click.option("--minimum", type=fields.integer(1, MAX_MONEY), help="Smallest payout in laari.")
@click.option("--fee", type=fields.fee_fixed, help="Fee of a payout in laari.")
@click.option("--on-request/--not-on-request", default=None, help="Its people may ask for one.")
@click.option(
    "--pause", type=fields.reason, metavar="REASON", help="Pay out nothing until resumed."
)
@click.option("--resume", is_flag=True, help="End a pause.")
@database_operation
@needs("fees.change")
async def terms(
    connection: Connection,
    /,
    merchant_id: str,
    mode: Any,
    pause: str | None,
    resume: bool,
    **given: Any,
) -> dict[str, object]:
    """Show or change the terms of payouts."""
    if pause is not None and resume:
        raise LaariError("use either --pause or --resume")
    changes = {name: value for name, value in given.items() if value is not None}
    if pause is not None or resume:
        changes["paused_reason"] = pause
    tenant = await merchants.tenant_of(connection, merchant_id, mode)
    if changes:
        found = await payout_terms.change(connection, tenant.id, actor(), **changes)
    else:
        found = await payouts.terms(connection, tenant.id)
    return {
        **_merchant(tenant),
        "mode": tenant.mode,
        "minimum": found.minimum,
        "fee": found.fee,
        "on_request": found.on_request,
        "paused_reason": found.paused_reason,
    }


@payout.command()
@click.option("--add", "added", type=fields.day, metavar="DAY", help="Add or rename a holiday.")
@click.option("--name", type=fields.text(100), help="Name of the added holiday.")
@click.option("--remove", "removed", type=fields.day, metavar="DAY", help="Remove a holiday.")
@database_operation
@needs("payouts.run")
async def holidays(
    connection: Connection, added: date | None, name: str | None, removed: date | None
) -> list[dict[str, object]]:
    """List, add or remove bank holidays.

    Banks do not work on Friday and Saturday either.
    """
    if (added is None) != (name is None):
        raise LaariError("use --add and --name together")
    if added is not None and name is not None:
        await payout_terms.set_holiday(connection, added, name, actor())
    if removed is not None and not await payout_terms.remove_holiday(connection, removed, actor()):
        raise LaariError(f"{removed} is no holiday")
    found = await payouts.holidays(connection)
    return [{"day": str(day), "name": called} for day, called in found.items()]


async def _answer(
    service: Service, what: str, action: Literal["settle", "return"]
) -> list[dict[str, object]]:
    async with connection_to(service.dsn) as connection:
        targets = await _targets(connection, what)
        by_id = await payouts.tenants_of(connection, [each for each, _ in targets])
    done = []
    async with deciding(service) as decide:
        for each, reference in targets:
            tenant = tenant_of(by_id, each)
            outcome: Payout | Refusal = await decide(
                AnswerPayout(tenant, actor(), each.id, action, reference)
            )
            if isinstance(outcome, Refusal):
                raise LaariError(f"{ids.show_id(ids.PAYOUT, each.id)}: {outcome.message}")
            done.append(described(outcome, tenant))
    return done


async def _targets(connection: Connection, what: str) -> list[tuple[Payout, str | None]]:
    """The payouts that are answered, each whole or one of its orders."""
    if what.isdecimal():
        found = await _find_run(connection, _run_number(what))
        sent: list[tuple[Payout, str | None]] = [
            (each, None)
            for each in await payouts.of_run(connection, found.id)
            if each.status == "sent"
        ]
        if not sent:
            raise LaariError(f"run {found.number} is {found.status}: no order waits for an answer")
        return sent
    number = ids.read_id(ids.PAYOUT, what)
    reference = None
    if number is None:
        order = (await payouts.order_by_reference(connection, [what.upper()])).get(what.upper())
        if order is None:
            raise LaariError(f"no payout or order is called {what}")
        number, reference = order.payout_id, order.reference
    found_payout = (await payouts.by_id(connection, [number])).get(number)
    if found_payout is None:
        raise LaariError(f"no payout has the id {what}")
    return [(found_payout, reference)]


async def _find_payout(service: Service, payout_id: str) -> tuple[Payout, Tenant | None]:
    number = ids.read_id(ids.PAYOUT, payout_id)
    async with connection_to(service.dsn) as connection:
        found = (await payouts.by_id(connection, [number])).get(number) if number else None
        if found is None:
            raise LaariError(f"no payout has the id {payout_id}")
        return found, tenant_of(await payouts.tenants_of(connection, [found]), found)


async def _find_run(connection: Connection, number: int) -> PayoutRun:
    found = await payouts.run_by_number(connection, "live", number)
    if found is None:
        raise LaariError(f"no run has the number {number}")
    return found


async def _run_and_tenants(service: Service, number: int) -> tuple[UUID, dict[int, Tenant]]:
    async with connection_to(service.dsn) as connection:
        found = await _find_run(connection, number)
        joined = await payouts.of_run(connection, found.id)
        return found.id, await payouts.tenants_of(connection, joined)


async def _done(service: Service, changed: Run) -> dict[str, object]:
    async with connection_to(service.dsn) as connection:
        return await _run_shown(connection, changed.run)


async def _run_shown(connection: Connection, found: PayoutRun) -> dict[str, object]:
    joined = await payouts.of_run(connection, found.id)
    by_id = await payouts.tenants_of(connection, joined)
    orders = await payouts.orders(connection, [each.id for each in joined])
    shown: dict[str, object] = _described(found)
    shown["total"] = sum(each.amount for each in joined if each.status != "cancelled")
    shown["payouts"] = [described(each, tenant_of(by_id, each)) for each in joined]
    shown["orders"] = [
        {
            "reference": each.reference,
            "payout_id": ids.show_id(ids.PAYOUT, each.payout_id),
            "amount": each.amount,
            "status": each.status,
        }
        for each in orders
    ]
    return shown


def _merchant(tenant: Tenant) -> dict[str, object]:
    return {"merchant_id": tenant.merchant_id, "merchant": tenant.merchant_name}


def _owner(found: Payout | None, tenant: Tenant | None) -> dict[str, object]:
    if tenant is not None:
        return _merchant(tenant)
    return {"account": None if found is None else str(found.account)}


def described(found: Payout, tenant: Tenant | None) -> dict[str, object]:
    """A payout of a merchant, or a withdrawal from an account."""
    return {
        "id": ids.show_id(ids.PAYOUT, found.id),
        **_owner(found, tenant),
        "amount": found.amount,
        "fee": found.fee,
        "status": found.status,
        "returned_amount": found.returned_amount,
        "created_at": show_time(found.created_at),
    }


def _described(found: PayoutRun) -> dict[str, object]:
    return {
        "run": found.number,
        "day": str(found.day),
        "status": found.status,
        "created_at": show_time(found.created_at),
        "created_by": found.created_by,
        "approved_by": found.approved_by,
        "approved_at": show_or_none(found.approved_at),
        "sent_by": found.sent_by,
        "sent_at": show_or_none(found.sent_at),
    }
