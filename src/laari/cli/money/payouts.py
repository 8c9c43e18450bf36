"""`laari payout`: runs of payouts to merchants' bank accounts."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from inspect import cleandoc
from pathlib import Path

import click

from laari.cli.money import payout_lists
from laari.cli.terminal.declared import (
    act,
    add_commands,
    optional,
    options_of,
    shown,
    subject_of,
)
from laari.cli.terminal.operation import operation
from laari.cli.terminal.operator_login import deciding_operator
from laari.cli.terminal.output import complain, confirm, is_interactive, path_text
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.operations.merchant_money import REQUEST, SET_TERMS, terms_shape
from laari.operations.merchants import TENANT
from laari.operations.payouts import (
    APPROVE,
    CANCEL,
    PAY_OUT,
    RETURN,
    RUN,
    SEND,
    SETTLE,
    Filled,
    last_day,
    merchant_shape,
    owner_shape,
    recent_shape,
    run_shape,
)
from laari.operations.service_settings import REMOVE_HOLIDAY, SET_HOLIDAY
from laari.process.open import Service
from laari.rules.banking.bank_days import bank_day_from
from laari.rules.banking.payout_approval import content_of
from laari.rules.banking.payouts import tenant_of
from laari.rules.calendar import local_day
from laari.rules.money import rufiyaa
from laari.rules.records.payouts import Payout, PayoutRun
from laari.rules.records.tenants import Mode, Tenant
from laari.rules.refusals import Refusal
from laari.store import payout_filling
from laari.store.bank_statements import asking
from laari.store.postgres.pool import connection_to
from laari.store.reads.money import bank_files, payouts


@click.group()
def payout() -> None:
    """Payouts to merchants' bank accounts."""


@payout.command(help=cleandoc(PAY_OUT.about))
@options_of(PAY_OUT)
@click.option("--dry-run", is_flag=True, help="Only show what would be paid out.")
@operation
@needs(PAY_OUT.needs)
async def run(service: Service, day: date | None, dry_run: bool) -> dict[str, object]:
    now = datetime.now(UTC)
    last = last_day(day, now)
    if isinstance(last, Refusal):
        raise LaariError(last.message)
    async with connection_to(service.dsn) as connection:
        found = await payout_filling.expected(asking(connection), last, now)
        holidays = await payouts.holidays(connection)
    answer: dict[str, object] = {
        "day": str(last),
        "bank_day": str(bank_day_from(local_day(now), holidays)),
        "count": found.number,
        "total": found.total,
    }
    if dry_run:
        paid = [
            {**owner_shape(None, each.tenant), "amount": each.amount, "fee": each.fee}
            for each in found.payable
        ]
        answer["payouts"] = paid + [_requested(each, found.tenants) for each in found.waiting]
    elif found.number or found.opened:
        filled = await act(service, PAY_OUT, None, {"day": last})
        answer.update(await _filled(service, filled))
    answer["held"] = [
        {**_requested(each.payout, found.tenants), "reason": each.reason} for each in found.held
    ]
    answer["not_paid"] = [
        {**merchant_shape(each.tenant), "available": each.available, "reason": each.refusal.message}
        for each in found.left_out
        if each.refusal is not None
    ]
    return answer


async def _filled(service: Service, filled: object) -> dict[str, object]:
    assert isinstance(filled, Filled)
    async with connection_to(service.dsn) as connection:
        shape = await run_shape(asking(connection), filled.run)
    return {
        **shape,
        "refused": [
            {**owner_shape(each.payout, each.tenant), "reason": each.reason}
            for each in filled.refused
        ],
    }


def _requested(found: Payout, known: Mapping[int, Tenant]) -> dict[str, object]:
    owner = owner_shape(found, tenant_of(known, found))
    return {**owner, "amount": found.amount, "fee": found.fee}


@payout.command(help=cleandoc(APPROVE.about))
@options_of(APPROVE)
@operation
@needs(APPROVE.needs)
async def approve(
    service: Service, run: int, total: int | None, content: str | None, email: str | None
) -> object:
    found = await subject_of(service, RUN, run=run)
    seen: dict[str, object] = {"total": total, "content": content}
    if total is None:
        seen = await _seen_now(service, found)
    approver = await deciding_operator(service, email, APPROVE.needs)
    approved = await act(service, APPROVE, found, seen, approver)
    return await shown(service, APPROVE, found, approved)


async def _seen_now(service: Service, run: PayoutRun) -> dict[str, object]:
    """What a person at the terminal sees. A script may omit it if no second person is required."""
    async with connection_to(service.dsn) as connection:
        joined = await payouts.of_run(connection, run.id)
        recent = await payouts.new_accounts(connection, joined, datetime.now(UTC))
    total = sum(each.amount for each in joined if each.status != "cancelled")
    if is_interactive():
        for account in map(recent_shape, recent):
            complain("new bank account: " + ", ".join(map(str, account.values())))
        if not confirm(f"Approve run {run.number} of MVR {rufiyaa(total)}?"):
            raise LaariError("nothing was approved")
    elif service.settings.second_operator_above is not None:
        raise LaariError("use --total with the total that you checked")
    return {"total": total, "content": content_of(joined)}


@payout.command(help=cleandoc(SEND.about))
@options_of(SEND)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write it here.")
@operation
@needs(SEND.needs)
async def file(service: Service, run: int, out: Path | None) -> dict[str, object]:
    require_absent(out)
    found = await subject_of(service, RUN, run=run)
    await act(service, SEND, found, {})
    async with connection_to(service.dsn) as connection:
        made = await bank_files.handed_out(connection, found.id)
    assert made is not None  # the run is sent
    if out is not None:
        write_new(out, made.content)
    return {
        "run": run,
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


@payout.command(help=cleandoc(SET_TERMS.about))
@optional(SET_TERMS)
@operation
@needs(SET_TERMS.needs)
async def terms(service: Service, /, merchant: str, mode: Mode, **given: object) -> object:
    tenant = await subject_of(service, TENANT, merchant=merchant, mode=mode)
    if given["paused_reason"] is not None and given["resume"]:
        raise LaariError("use either --pause or --resume")
    if given["resume"] or any(given[name] is not None for name in given if name != "resume"):
        changed = await act(service, SET_TERMS, tenant, given)
        return await shown(service, SET_TERMS, tenant, changed)
    async with connection_to(service.dsn) as connection:
        found = await payouts.terms(connection, tenant.id)
        return await terms_shape(asking(connection), tenant, found)


@payout.command()
@optional(SET_HOLIDAY)
@optional(REMOVE_HOLIDAY)
@operation
@needs(SET_HOLIDAY.needs)
async def holidays(
    service: Service, day: date | None, name: str | None, removed: date | None
) -> list[dict[str, object]]:
    """List, add or remove bank holidays.

    Banks do not work on Friday and Saturday either.
    """
    if (day is None) != (name is None):
        raise LaariError("use --add and --name together")
    if day is not None:
        await act(service, SET_HOLIDAY, None, {"day": day, "name": name})
    if removed is not None:
        await act(service, REMOVE_HOLIDAY, None, {"removed": removed})
    async with connection_to(service.dsn) as connection:
        found = await payouts.holidays(connection)
    return [{"day": str(each), "name": called} for each, called in found.items()]


for command in payout_lists.COMMANDS:
    payout.add_command(command)
add_commands(payout, REQUEST, SETTLE, RETURN, CANCEL)
