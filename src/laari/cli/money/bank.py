"""`laari bank`, `laari float` and `laari fees`: money at the bank."""

from datetime import UTC, date, datetime, timedelta
from inspect import cleandoc
from typing import IO

import click

from laari.cli.money.bank_imports import would_book
from laari.cli.terminal import fields
from laari.cli.terminal.declared import SignedAmount, act, add_commands, options_of, shown
from laari.cli.terminal.operation import database_operation, operation
from laari.cli.terminal.operator_login import deciding_operator
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.operations.bank import (
    ASSIGN,
    CHARGE,
    IMPORT,
    MATCH,
    SEND_BACK,
    SIGN,
    UNMATCH,
    described,
    gap_shapes,
)
from laari.operations.merchant_money import SWEEP
from laari.process.open import Service
from laari.rules.banking.bank_statement import MAX_BYTES, StatementError
from laari.rules.calendar import local_day
from laari.rules.calendar import show as show_time
from laari.rules.money import MAX_MONEY
from laari.rules.records.bank import FloatSignoff
from laari.rules.world import MovementKey
from laari.store import bank_statements
from laari.store.bank_statements import asking
from laari.store.postgres.pool import Connection, connection_to
from laari.store.reads.money import bank as reads
from laari.store.reads.money.float_days import float_of

MOST_LISTED = 1_000


@click.group()
def bank() -> None:
    """Statements of the live bank account."""


@bank.command("import", help=cleandoc(IMPORT.about))
@click.argument("file", type=click.File("rb"))
@click.option("--dry-run", is_flag=True, help="Only show what would be booked.")
@operation
@needs(IMPORT.needs)
async def import_(service: Service, file: IO[bytes], dry_run: bool) -> object:
    content, today = file.read(MAX_BYTES + 1), local_day(datetime.now(UTC))
    async with connection_to(service.dsn) as connection:
        try:
            if dry_run:
                return would_book(await bank_statements.check(asking(connection), content, today))
            await bank_statements.read(content, today)
        except StatementError as error:
            raise LaariError(str(error)) from None
        digest = await bank_statements.digest_of(content)
        await bank_statements.keep(connection, digest, content, datetime.now(UTC))
    return await shown(service, IMPORT, None, await act(service, IMPORT, None, {"digest": digest}))


@bank.command()
@click.option("--open", "only_open", is_flag=True, help="Only lines that wait for a person.")
@click.option("--limit", type=fields.integer(1, MOST_LISTED), default=20, help="Number of lines.")
@database_operation
@needs("bank.import")
async def lines(connection: Connection, only_open: bool, limit: int) -> list[dict[str, object]]:
    """List imported lines, newest first."""
    found = await reads.lines(connection, limit, only_open=only_open)
    return [described(line) for line in found]


@bank.command(help=cleandoc(MATCH.about))
@options_of(MATCH)
@click.option("--returned", metavar="REFERENCE", help="The receipt that was sent back.")
@click.option("--sweep", type=fields.integer(1, MAX_MONEY), help="The number of the sweep.")
@click.option("--order", metavar="REFERENCE", help="The order that left and came back.")
@operation
@needs(MATCH.needs)
async def match(
    service: Service,
    reference: str,
    returned: str | None,
    sweep: int | None,
    order: str | None,
) -> object:
    given: list[MovementKey] = []
    if returned is not None:
        given.append(("sent_back", returned))
    if sweep is not None:
        given.append(("sweep", str(sweep)))
    if order is not None:
        given.append(("order", order.upper()))
    if len(given) != 1:
        raise LaariError(await _candidates(service, reference))
    kind, name = given[0]
    values = {"reference": reference, "kind": kind, "name": name}
    return await shown(service, MATCH, None, await act(service, MATCH, None, values))


async def _candidates(service: Service, reference: str) -> str:
    """Which movements a line may show."""
    async with connection_to(service.dsn) as connection:
        line = (await reads.by_reference(connection, [reference])).get(reference)
        found = [] if line is None else await reads.unmatched(connection, [-line.amount])
    if line is None:
        return f"no line has the reference {reference}"
    names = {"sent_back": "--returned", "sweep": "--sweep", "order": "--order"}
    options = [f"{names[each.kind]} {each.name}" for each in found]
    return f"use one of: {', '.join(options)}" if options else "the books have no such movement"


add_commands(bank, ASSIGN, SEND_BACK, CHARGE, UNMATCH)


@click.command("float", cls=SignedAmount, help=cleandoc(SIGN.about))
@options_of(SIGN)
@operation
@needs(SIGN.needs)
async def float_command(
    service: Service,
    day: date | None,
    bank_closing: int | None,
    note: str | None,
    email: str | None,
) -> dict[str, object]:
    day = day or local_day(datetime.now(UTC)) - timedelta(days=1)
    async with connection_to(service.dsn) as connection:
        found = await float_of(connection, day)
    signed = found.signed
    if bank_closing is not None:
        signer = await deciding_operator(service, email, SIGN.needs)
        given = {"day": day, "bank_closing": bank_closing, "note": note}
        made = await act(service, SIGN, None, given, signer)
        assert isinstance(made, FloatSignoff)
        signed = made
    elif note is not None or email is not None:
        raise LaariError("use --note and --operator with --bank-closing")
    return {
        "day": str(day),
        "opening": found.opening,
        "in": sum(found.came_in.values()),
        "out": sum(found.went_out.values()),
        "closing": found.closing,
        "statement_closing": found.bank_closing,
        "unused_lines": found.unused,
        "without_a_line": found.unshown,
        "bank_closing": None if signed is None else signed.bank_closing,
        "difference": None if signed is None else signed.bank_closing - found.closing,
        "signed_by": None if signed is None else signed.actor_name,
        "signed_at": None if signed is None else show_time(signed.created_at),
        "note": None if signed is None else signed.note,
        "gaps": gap_shapes(found.statement.gaps),
        "movements": [
            {"kind": kind, "direction": direction, "amount": amount}
            for direction, sums in (("in", found.came_in), ("out", found.went_out))
            for kind, amount in sums.items()
        ],
    }


@click.group()
def fees() -> None:
    """Fees that the service earned."""


@fees.command("show")
@database_operation
@needs("statements.read")
async def show_fees(connection: Connection) -> dict[str, object]:
    """Show the earned fees that can be swept, in laari.

    Fees that merchants still owe, after refunds, are shown apart.
    """
    found = (await reads.earned_fees(connection, ["live"]))["live"]
    return {"fees": found.balance, "owed": found.owed, "sweeps": found.last_sweep}


add_commands(fees, SWEEP)

COMMANDS: tuple[click.Command, ...] = (bank, float_command, fees)
