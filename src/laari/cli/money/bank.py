"""`laari bank`, `laari float` and `laari fees`: money at the bank."""

from datetime import UTC, date, datetime, timedelta
from typing import IO

import click

from laari.cli.money.bank_imports import book_statement, described_gaps, would_book
from laari.cli.money.wallets import SignedAmount
from laari.cli.terminal import fields
from laari.cli.terminal.declared import add_commands
from laari.cli.terminal.operation import actor, database_operation, operation, submit
from laari.cli.terminal.operator_login import deciding_operator, operator_option
from laari.cli.terminal.permission import needs
from laari.cli.terminal.waiting import asked, move
from laari.errors import LaariError
from laari.operations.bank import ASSIGN, CHARGE, SEND_BACK, UNMATCH, described
from laari.process.open import Service
from laari.rules.banking.bank_lines import SignFloat
from laari.rules.banking.bank_matches import MatchLine
from laari.rules.banking.bank_statement import (
    MAX_BYTES,
    StatementError,
)
from laari.rules.banking.merchant_money import SweepFees
from laari.rules.calendar import local_day
from laari.rules.calendar import show as show_time
from laari.rules.money import MAX_MONEY
from laari.rules.records import FeeSweep, PendingMovement
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


@bank.command("import")
@click.argument("file", type=click.File("rb"))
@click.option("--dry-run", is_flag=True, help="Only show what would be booked.")
@operation
@needs("bank.import")
async def import_(service: Service, file: IO[bytes], dry_run: bool) -> dict[str, object]:
    """Import the bank's statement from a CSV file.

    Its columns are date, reference, description, debit, credit and balance. A line with the number
    of a wallet becomes a top-up. A line with the reference of an order answers it. Other money is
    unallocated until you assign it. Each line counts once, and a wrong file changes nothing. Above
    LAARI_SECOND_OPERATOR_ABOVE, all of it waits for a second person.
    """
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
    booked = await book_statement(service, actor(), digest)
    return await asked(service, booked) if isinstance(booked, PendingMovement) else booked


@bank.command()
@click.option("--open", "only_open", is_flag=True, help="Only lines that wait for a person.")
@click.option("--limit", type=fields.integer(1, MOST_LISTED), default=20, help="Number of lines.")
@database_operation
@needs("bank.import")
async def lines(connection: Connection, only_open: bool, limit: int) -> list[dict[str, object]]:
    """List imported lines, newest first."""
    found = await reads.lines(connection, limit, only_open=only_open)
    return [described(line) for line in found]


@bank.command()
@click.argument("reference")
@click.option("--returned", metavar="REFERENCE", help="The receipt that was sent back.")
@click.option("--sweep", type=fields.integer(1, MAX_MONEY), help="The number of the sweep.")
@click.option("--order", metavar="REFERENCE", help="The order that left and came back.")
@operation
@needs("bank.import")
async def match(
    service: Service,
    reference: str,
    returned: str | None,
    sweep: int | None,
    order: str | None,
) -> dict[str, object]:
    """Close a line whose money the books have sent before.

    This is a receipt that was sent back, a sweep of fees, or an order of which the books have only
    the return, of the same amount. Nothing is booked. Without an option, the movements of this
    amount are named.
    """
    given: list[MovementKey] = []
    if returned is not None:
        given.append(("sent_back", returned))
    if sweep is not None:
        given.append(("sweep", str(sweep)))
    if order is not None:
        given.append(("order", order.upper()))
    if len(given) != 1:
        raise LaariError(await _candidates(service, reference))
    return described(await submit(service, MatchLine(actor(), reference, given[0])))


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


@click.command("float", cls=SignedAmount)
@click.option("--day", type=fields.day, help="Day in Maldivian time; yesterday if omitted.")
@click.option(
    "--bank-closing",
    type=fields.integer(-MAX_MONEY, MAX_MONEY),
    help="The bank's closing balance in laari: signs the day off.",
)
@click.option("--note", type=fields.text(500), help="Explains a difference.")
@operator_option
@operation
@needs("bank.import")
async def float_command(
    service: Service,
    day: date | None,
    bank_closing: int | None,
    note: str | None,
    email: str | None,
) -> dict[str, object]:
    """Show a day of the live bank account, and sign it off.

    Shows the opening balance, sums in and out, and the closing balance of the books, by the days of
    the bank's lines. The closing balance of the statement is shown beside it. A difference needs a
    note. With LAARI_SECOND_OPERATOR_ABOVE, the operator logs in to sign off.
    """
    day = day or local_day(datetime.now(UTC)) - timedelta(days=1)
    async with connection_to(service.dsn) as connection:
        found = await float_of(connection, day)
    signed = found.signed
    if bank_closing is not None:
        signer = await deciding_operator(service, email, "bank.import")
        signed = await submit(service, SignFloat(signer, day, found.closing, bank_closing, note))
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
        "gaps": described_gaps(found.statement.gaps),
        "movements": [
            {"kind": kind, "direction": direction, "amount": amount}
            for direction, sums in (("in", found.came_in), ("out", found.went_out))
            for kind, amount in sums.items()
        ],
    }


@click.group()
def fees() -> None:
    """Fees that the service earned."""


@fees.command()
@click.argument("laari", type=fields.integer(1, MAX_MONEY))
@operation
@needs("payouts.run")
async def sweep(service: Service, laari: int) -> dict[str, object]:
    """Record that earned fees were taken out of the live bank account."""

    async def done(swept: FeeSweep) -> dict[str, object]:
        async with connection_to(service.dsn) as connection:
            left = (await reads.earned_fees(connection, ["live"]))["live"]
        return {"sweep": swept.number, "amount": swept.amount, "fees_left": left.balance}

    return await move(service, SweepFees(actor(), "live", laari), done)


@fees.command("show")
@database_operation
@needs("statements.read")
async def show_fees(connection: Connection) -> dict[str, object]:
    """Show the earned fees that were not swept, in laari."""
    found = (await reads.earned_fees(connection, ["live"]))["live"]
    return {"fees": found.balance, "sweeps": found.last_sweep}


COMMANDS: tuple[click.Command, ...] = (bank, float_command, fees)
