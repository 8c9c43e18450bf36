"""`laari movement`: movements of money that wait for a second person."""

from datetime import UTC, date, datetime
from uuid import UUID

import click

from laari.cli.money.bank_imports import book_statement
from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, database_operation, operation, submit
from laari.cli.terminal.operator_login import deciding_operator, operator_option
from laari.cli.terminal.permission import needs
from laari.cli.terminal.waiting import described_movement, movement_of
from laari.process.open import Service
from laari.rules import ids
from laari.rules.banking.movements import PERMISSIONS, MakeMovement, RefuseMovement
from laari.rules.banking.wallet_money import MovedMoney
from laari.rules.calendar import local_day
from laari.rules.calendar import show as show_time
from laari.rules.records import Mode
from laari.store.postgres.pool import Connection
from laari.store.reads.money import movement_lists

MOST_LISTED = 1_000
_ID = fields.id_of(ids.MOVEMENT, "a movement's id")


@click.group()
def movement() -> None:
    """Movements of money, done and waiting."""


@movement.command("list")
@click.option("--day", type=fields.day, help="Maldivian day; default: today.")
@click.option("--mode", type=fields.MODE, default="live", help="Mode of the wallets.")
@database_operation
@needs("wallets.read")
async def list_day(connection: Connection, day: date | None, mode: Mode) -> list[dict[str, object]]:
    """List top-ups and adjustments of a day in laari."""
    day = day or local_day(datetime.now(UTC))
    found = await movement_lists.of_day(connection, day, mode, MOST_LISTED)
    return [
        {
            "tid": each.tid,
            "time": show_time(each.time),
            "type": each.type,
            "account_number": str(each.account),
            "holder": each.holder,
            "amount": each.amount,
            "details": each.details,
            "slip": each.slip,
        }
        for each in found
    ]


@movement.command()
@database_operation
@needs("wallets.read")
async def waiting(connection: Connection) -> list[dict[str, object]]:
    """List movements that wait for a second person."""
    found = await movement_lists.waiting(connection, MOST_LISTED)
    return [described_movement(each) for each in found]


@movement.command()
@click.argument("movement_id", type=_ID)
@operator_option
@operation
@needs("wallets.move")
async def confirm(service: Service, movement_id: UUID, email: str | None) -> dict[str, object]:
    """Make a movement that another person asked for.

    With LAARI_SECOND_OPERATOR_ABOVE, the second operator logs in for this.
    """
    found = await movement_of(service, movement_id)
    operator = await deciding_operator(service, email, PERMISSIONS[found.movement.kind])
    made = await submit(service, MakeMovement(operator, movement_id))
    shown = described_movement(found._replace(movement=made.movement))
    if made.movement.kind == "import":
        assert made.movement.reference is not None  # by a constraint of the table
        shown["statement"] = await book_statement(service, operator, made.movement.reference)
    if isinstance(made.outcome, MovedMoney):
        shown |= {"balance_before": made.outcome.before, "balance_after": made.outcome.after}
    return shown


@movement.command()
@click.argument("movement_id", type=_ID)
@click.option("--reason", type=fields.reason, required=True, help="Only operators see it.")
@operation
@needs("wallets.move")
async def refuse(service: Service, movement_id: UUID, reason: str) -> dict[str, object]:
    """Refuse or withdraw a movement that waits."""
    refused = await submit(service, RefuseMovement(actor(), movement_id, reason))
    return described_movement(await movement_of(service, refused.id))
