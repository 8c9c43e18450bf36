"""`laari payout`: runs of payouts to merchants' bank accounts."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import click

from laari.cli.money import payout_lists
from laari.cli.money.payout_lists import (
    described,
    find_run,
    merchant,
    owner_of,
    payout_id,
    payout_shown,
    run_number,
    run_shown,
)
from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, deciding, operation, submit
from laari.cli.terminal.operator_login import deciding_operator, operator_option
from laari.cli.terminal.output import complain, confirm, is_interactive, path_text
from laari.cli.terminal.permission import needs
from laari.cli.terminal.waiting import asked
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules import ids
from laari.rules.banking.approval import ApproveRun
from laari.rules.banking.bank_days import bank_day_from, has_ended
from laari.rules.banking.holidays import RemoveHoliday, SetHoliday
from laari.rules.banking.payout_runs import (
    AnswerPayout,
    CancelPayout,
    CancelRun,
    OpenRun,
    Run,
    SendRun,
    joining,
)
from laari.rules.banking.payouts import RequestPayout, tenant_of
from laari.rules.calendar import local_day
from laari.rules.merchants.payout_terms import ChangePayoutTerms, NewTerms
from laari.rules.money import MAX_MONEY, rufiyaa
from laari.rules.records import BankHoliday, Mode, Payout, PendingMovement, Tenant
from laari.rules.refusals import Refusal
from laari.store import payout_filling
from laari.store.bank_statements import asking
from laari.store.merchants import merchants
from laari.store.payout_filling import Expected
from laari.store.postgres.pool import Connection, connection_to
from laari.store.reads.money import bank_files, payouts


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
    if not has_ended(day, now):
        raise LaariError(f"{day} has not ended yet")
    async with connection_to(service.dsn) as connection:
        found = await payout_filling.expected(asking(connection), day, now)
        holidays = await payouts.holidays(connection)
    answer: dict[str, object] = {
        "day": str(day),
        "bank_day": str(bank_day_from(local_day(now), holidays)),
        "count": found.number,
        "total": found.total,
    }
    if dry_run:
        paid = [
            {**owner_of(None, each.tenant), "amount": each.amount, "fee": each.fee}
            for each in found.payable
        ]
        answer["payouts"] = paid + [_requested(each, found.tenants) for each in found.waiting]
    elif found.number or found.opened:
        answer |= await _make_run(service, day, found)
    answer["held"] = [
        {**_requested(each.payout, found.tenants), "reason": each.reason} for each in found.held
    ]
    answer["not_paid"] = [
        {**merchant(each.tenant), "available": each.available, "reason": each.refusal.message}
        for each in found.left_out
        if each.refusal is not None
    ]
    return answer


def _requested(found: Payout, known: Mapping[int, Tenant]) -> dict[str, object]:
    owner = owner_of(found, tenant_of(known, found))
    return {**owner, "amount": found.amount, "fee": found.fee}


async def _make_run(service: Service, day: date, found: Expected) -> dict[str, object]:
    """Opens the run or continues it, and adds all payouts that can join it."""
    async with deciding(service) as decide:
        opened = await decide(OpenRun(actor(), "live", day))
        if isinstance(opened, Refusal):
            raise LaariError(opened.message)
        commands = joining(actor(), opened, found.waiting_ids, found.payable_ids)
        refused = await payout_filling.fill(decide, found, commands)
    async with connection_to(service.dsn) as connection:
        shown = await run_shown(connection, opened)
    return {
        **shown,
        "refused": [
            {**owner_of(each.payout, each.tenant), "reason": each.reason} for each in refused
        ],
    }


@payout.command()
@click.argument("number", metavar="RUN", type=run_number)
@click.option("--total", type=fields.integer(1, MAX_MONEY), help="The total that you checked.")
@operator_option
@operation
@needs("payouts.run")
async def approve(
    service: Service, number: int, total: int | None, email: str | None
) -> dict[str, object]:
    """Approve a run, so that its file can be made.

    With LAARI_SECOND_OPERATOR_ABOVE, another operator than the one who opened the run logs in for
    this, and names its total. Otherwise this is so if the runs of the day are above
    LAARI_PAYOUT_APPROVAL_ABOVE.
    """
    async with connection_to(service.dsn) as connection:
        found = await find_run(connection, number)
        shown = await run_shown(connection, found)
    total = _checked_total(service, shown, total)
    approver = await deciding_operator(service, email, "payouts.run")
    threshold = service.settings.payout_approval_above
    return await _done(
        service, await submit(service, ApproveRun(approver, found.id, threshold, total))
    )


def _checked_total(service: Service, shown: Mapping[str, Any], total: int | None) -> int:
    """The total that a person has seen. A script may leave it out if nobody has to control it."""
    if total is not None:
        return total
    if is_interactive():
        for account in shown["recent_bank_accounts"]:
            complain("new bank account: " + ", ".join(map(str, account.values())))
        question = f"Approve run {shown['run']} of MVR {rufiyaa(shown['total'])}?"
        if not confirm(question):
            raise LaariError("nothing was approved")
    elif service.settings.second_operator_above is not None:
        raise LaariError("use --total with the total that you checked")
    return int(shown["total"])


@payout.command()
@click.argument("number", metavar="RUN", type=run_number)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write it here.")
@operation
@needs("payouts.run")
async def file(service: Service, number: int, out: Path | None) -> dict[str, object]:
    """Make the bank's file, or write it again.

    The payouts are sent with the first call. Later calls write the same bytes.
    """
    require_absent(out)
    most = service.settings.payout_order_limit
    async with connection_to(service.dsn) as connection:
        found = await find_run(connection, number)
        holidays = await payouts.holidays(connection)
    value_date = bank_day_from(local_day(datetime.now(UTC)), holidays)
    await submit(service, SendRun(actor(), found.id, value_date, most))
    async with connection_to(service.dsn) as connection:
        made = await bank_files.handed_out(connection, found.id)
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
    if out is None:
        return
    with _named(out):
        exists = out.exists()
    if exists:
        raise LaariError(f"{path_text(out)} exists already")


def write_new(out: Path, content: bytes) -> None:
    with _named(out), out.open("xb") as target:
        target.write(content)
        target.flush()
        os.fsync(target.fileno())


@contextmanager
def _named(out: Path) -> Iterator[None]:
    """Says which file failed; within a connection, the error would count as one of the network."""
    try:
        yield
    except OSError as error:
        raise LaariError(f"{path_text(out)} cannot be written: {error.strerror}") from None


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
        async with connection_to(service.dsn) as connection:
            found = await find_run(connection, run_number(what))
        return await _done(service, await submit(service, CancelRun(actor(), found.id)))
    cancelled = await submit(service, CancelPayout(actor(), payout_id(what)))
    async with connection_to(service.dsn) as connection:
        return await payout_shown(connection, cancelled)


@payout.command()
@click.argument("merchant_id")
@click.option("--mode", type=fields.MODE, default="live", help="Mode of the balance.")
@operation
@needs("payouts.run")
async def request(service: Service, merchant_id: str, mode: Mode) -> dict[str, object]:
    """Pay out all that one merchant has.

    The next run takes the payout. In a sandbox it is sent at once.
    """
    async with connection_to(service.dsn) as connection:
        tenant = await merchants.tenant_of(connection, merchant_id, mode)
    return described(await submit(service, RequestPayout(tenant.id, actor())), tenant)


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
@operation
@needs("fees.change")
async def terms(
    service: Service,
    /,
    merchant_id: str,
    mode: Mode,
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
    async with connection_to(service.dsn) as connection:
        tenant = await merchants.tenant_of(connection, merchant_id, mode)
        found = await payouts.terms(connection, tenant.id)
    if changes:
        new = NewTerms(**changes)
        found = await submit(service, ChangePayoutTerms(actor(), tenant.id, new))
    return {
        **merchant(tenant),
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
@operation
@needs("payouts.run")
async def holidays(
    service: Service, added: date | None, name: str | None, removed: date | None
) -> list[dict[str, object]]:
    """List, add or remove bank holidays.

    Banks do not work on Friday and Saturday either.
    """
    if (added is None) != (name is None):
        raise LaariError("use --add and --name together")
    if added is not None and name is not None:
        await submit(service, SetHoliday(actor(), BankHoliday(added, name)))
    if removed is not None:
        await submit(service, RemoveHoliday(actor(), removed))
    async with connection_to(service.dsn) as connection:
        found = await payouts.holidays(connection)
    return [{"day": str(day), "name": called} for day, called in found.items()]


async def _answer(
    service: Service, what: str, action: Literal["settle", "return"]
) -> list[dict[str, object]]:
    async with connection_to(service.dsn) as connection:
        targets = await _targets(connection, what)
        done = []
        async with deciding(service) as decide:
            for target, reference in targets:
                outcome = await decide(AnswerPayout(actor(), target, action, reference))
                if isinstance(outcome, Refusal):
                    raise LaariError(f"{ids.show_id(ids.PAYOUT, target)}: {outcome.message}")
                if isinstance(outcome, PendingMovement):
                    done.append(await asked(service, outcome))
                else:
                    done.append(await payout_shown(connection, outcome))
    return done


async def _targets(connection: Connection, what: str) -> list[tuple[UUID, str | None]]:
    """The payouts that are answered, each whole or one of its orders."""
    if what.isdecimal():
        found = await find_run(connection, run_number(what))
        sent: list[tuple[UUID, str | None]] = [
            (each.id, None)
            for each in await payouts.of_run(connection, found.id)
            if each.status == "sent"
        ]
        if not sent:
            raise LaariError(f"run {found.number} is {found.status}: no order waits for an answer")
        return sent
    number = ids.read_id(ids.PAYOUT, what)
    if number is not None:
        return [(number, None)]
    order = (await payouts.order_by_reference(connection, [what.upper()])).get(what.upper())
    if order is None:
        raise LaariError(f"no payout or order is called {what}")
    return [(order.payout_id, order.reference)]


async def _done(service: Service, changed: Run) -> dict[str, object]:
    async with connection_to(service.dsn) as connection:
        return await run_shown(connection, changed.run)


for command in payout_lists.COMMANDS:
    payout.add_command(command)
