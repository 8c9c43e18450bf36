"""`laari movement`: movements of money that wait for a second person."""

from datetime import UTC, date, datetime

import click

from laari.cli.terminal import fields
from laari.cli.terminal.declared import add_commands
from laari.cli.terminal.operation import database_operation
from laari.cli.terminal.permission import needs
from laari.operations.waiting_movements import CONFIRM, REFUSE, movement_shape
from laari.rules.calendar import local_day
from laari.rules.calendar import show as show_time
from laari.rules.records.tenants import Mode
from laari.store.postgres.pool import Connection
from laari.store.reads.money import movement_lists

MOST_LISTED = 1_000


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
    return [movement_shape(each) for each in found]


add_commands(movement, CONFIRM, REFUSE)
