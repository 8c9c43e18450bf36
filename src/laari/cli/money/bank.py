"""`laari bank`, `laari float` and `laari fees`: money at the bank."""

from datetime import UTC, date, datetime, timedelta
from typing import IO

import click

from laari.cli.money.wallets import SignedAmount
from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, database_operation, deciding, operation, submit
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules.banking.bank_days import cut_off_of
from laari.rules.banking.bank_lines import (
    Expected,
    HandleLine,
    ImportLine,
    MatchLine,
    SignFloat,
)
from laari.rules.banking.bank_statement import (
    MAX_BYTES,
    StatementError,
    read_statement,
)
from laari.rules.banking.merchant_money import SweepFees
from laari.rules.calendar import local_day
from laari.rules.calendar import show as show_time
from laari.rules.money import MAX_MONEY
from laari.rules.records import BankLine
from laari.rules.refusals import Refusal
from laari.rules.world import MovementKey
from laari.store.postgres.pool import Connection, connection_to
from laari.store.reads.money import bank as reads

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
    unallocated until you assign it. Each line counts once, and a wrong file changes nothing.
    """
    try:
        lines = read_statement(file.read(MAX_BYTES + 1))
    except StatementError as error:
        raise LaariError(str(error)) from None
    async with connection_to(service.dsn) as connection:
        expected = await reads.expectations(connection, lines)
    if dry_run:
        return _summary([_expected(each) for each in expected])
    for each in expected:
        if each.conflict is not None:
            raise LaariError(f"line {each.line.number}: {each.conflict} Nothing was booked.")
    booked = []
    async with deciding(service) as decide:
        for line, target, *_ in expected:
            outcome = await decide(ImportLine(actor(), line, target))
            if isinstance(outcome, Refusal):
                raise LaariError(f"line {line.number}: {outcome.message}")
            booked.append({**described(outcome.line), "repeated": outcome.repeated})
    return _summary(booked)


def _expected(each: Expected) -> dict[str, object]:
    line = each.line
    return {
        "reference": line.reference,
        "day": str(line.day),
        "amount": line.amount,
        "use": each.use if each.conflict is None else "conflict",
        "description": line.description,
        "repeated": each.repeated and each.conflict is None,
        "conflict": each.conflict,
    }


def _summary(lines: list[dict[str, object]]) -> dict[str, object]:
    new = [line for line in lines if not line["repeated"]]
    return {
        "lines": len(lines),
        "new": len(new),
        **{
            use: sum(1 for line in new if line["use"] == use)
            for use in ("topup", "receipt", "settled", "returned", "none", "conflict")
        },
        "booked": lines,
    }


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
@click.argument("account", type=fields.account)
@operation
@needs("bank.import")
async def assign(service: Service, reference: str, account: int) -> dict[str, object]:
    """Add unallocated money to a wallet."""
    return described(await submit(service, HandleLine(actor(), reference, account)))


@bank.command("return")
@click.argument("reference")
@operation
@needs("bank.import")
async def return_(service: Service, reference: str) -> dict[str, object]:
    """Record that unallocated money was sent back by the bank."""
    return described(await submit(service, HandleLine(actor(), reference)))


@bank.command()
@click.argument("reference")
@operation
@needs("bank.import")
async def charge(service: Service, reference: str) -> dict[str, object]:
    """Book a line without a use as the bank's own charge."""
    return described(await submit(service, HandleLine(actor(), reference, charge=True)))


@bank.command()
@click.argument("reference")
@click.option("--returned", metavar="REFERENCE", help="The receipt that was sent back.")
@click.option("--sweep", type=fields.integer(1, MAX_MONEY), help="The number of the sweep.")
@operation
@needs("bank.import")
async def match(
    service: Service, reference: str, returned: str | None, sweep: int | None
) -> dict[str, object]:
    """Close a line whose money the books have sent before.

    This is a receipt that was sent back, or a sweep of fees, of the same amount. Nothing is booked.
    Without an option, the movements of this amount are named.
    """
    movement: MovementKey = ("sweep", str(sweep))
    if (returned is None) == (sweep is None):
        raise LaariError(await _candidates(service, reference))
    if returned is not None:
        movement = ("sent_back", returned)
    return described(await submit(service, MatchLine(actor(), reference, movement)))


async def _candidates(service: Service, reference: str) -> str:
    """Which movements a line may show."""
    async with connection_to(service.dsn) as connection:
        line = (await reads.by_reference(connection, [reference])).get(reference)
        found = [] if line is None else await reads.unmatched(connection, [-line.amount])
    if line is None:
        return f"no line has the reference {reference}"
    options = [
        f"--sweep {each.name}" if each.kind == "sweep" else f"--returned {each.name}"
        for each in found
    ]
    return f"use one of: {', '.join(options)}" if options else "the books have no such movement"


def described(line: BankLine) -> dict[str, object]:
    return {
        "reference": line.reference,
        "day": str(line.day),
        "amount": line.amount,
        "use": line.use,
        "account": None if line.account is None else str(line.account),
        "order": line.order_reference,
        "description": line.description,
    }


@click.command("float", cls=SignedAmount)
@click.option("--day", type=fields.day, help="Day in Maldivian time; yesterday if omitted.")
@click.option(
    "--bank-closing",
    type=fields.integer(-MAX_MONEY, MAX_MONEY),
    help="The bank's closing balance in laari: signs the day off.",
)
@click.option("--note", type=fields.text(500), help="Explains a difference.")
@operation
@needs("bank.import")
async def float_command(
    service: Service, day: date | None, bank_closing: int | None, note: str | None
) -> dict[str, object]:
    """Show a day of the live bank account, and sign it off.

    Shows the opening balance, sums in and out, and the closing balance of the books. The difference
    to the bank's closing balance needs a note.
    """
    now = datetime.now(UTC)
    day = day or local_day(now) - timedelta(days=1)
    async with connection_to(service.dsn) as connection:
        found = await reads.float_of(connection, day)
    signed = found.signed
    if bank_closing is not None:
        if cut_off_of(day) > now:
            raise LaariError(f"{day} has not ended yet")
        signing = SignFloat(actor(), day, found.closing, bank_closing, note)
        signed = await submit(service, signing)
    elif note is not None:
        raise LaariError("use --note with --bank-closing")
    return {
        "day": str(day),
        "opening": found.opening,
        "in": sum(found.came_in.values()),
        "out": sum(found.went_out.values()),
        "closing": found.closing,
        "bank_closing": None if signed is None else signed.bank_closing,
        "difference": None if signed is None else signed.bank_closing - found.closing,
        "signed_by": None if signed is None else signed.actor_name,
        "signed_at": None if signed is None else show_time(signed.created_at),
        "note": None if signed is None else signed.note,
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
    swept = await submit(service, SweepFees(actor(), "live", laari))
    async with connection_to(service.dsn) as connection:
        left = (await reads.earned_fees(connection, ["live"]))["live"]
    return {"sweep": swept.number, "amount": swept.amount, "fees_left": left.balance}


@fees.command("show")
@database_operation
@needs("statements.read")
async def show_fees(connection: Connection) -> dict[str, object]:
    """Show the earned fees that were not swept, in laari."""
    found = (await reads.earned_fees(connection, ["live"]))["live"]
    return {"fees": found.balance, "sweeps": found.last_sweep}


COMMANDS: tuple[click.Command, ...] = (bank, float_command, fees)
