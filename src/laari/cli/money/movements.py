"""`laari movement`: top-ups and adjustments that wait for a second operator."""

from datetime import UTC, date, datetime
from uuid import UUID

import click

from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, database_operation, operation, submit
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules import ids
from laari.rules.banking.movements import MakeMovement, RefuseMovement
from laari.rules.calendar import local_day, show_or_none
from laari.rules.calendar import show as show_time
from laari.rules.records import Mode, PendingMovement
from laari.store.postgres.pool import Connection, connection_to
from laari.store.reads import tenants
from laari.store.reads.money import movement_lists

MOST_LISTED = 1_000
_ID = fields.id_of(ids.MOVEMENT, "a movement's id")


@click.group()
def movement() -> None:
    """Top-ups and adjustments of all wallets."""


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
    """List movements that wait for a second operator."""
    found = await movement_lists.waiting(connection, MOST_LISTED)
    return [described_movement(each) for each in found]


@movement.command()
@click.argument("movement_id", type=_ID)
@operation
@needs("wallets.move")
async def confirm(service: Service, movement_id: UUID) -> dict[str, object]:
    """Make a movement that another operator asked for."""
    movement = await _find(service, movement_id)
    async with connection_to(service.dsn) as connection:
        tenant = await tenants.of_wallet(connection, movement.account)
    command = MakeMovement(actor(), tenant, movement_id, movement.account, movement.slip)
    made = await submit(service, command)
    return described_movement(await _find(service, movement_id)) | {
        "balance_before": made.before,
        "balance_after": made.after,
    }


@movement.command()
@click.argument("movement_id", type=_ID)
@click.option("--reason", type=fields.reason, required=True, help="Only operators see it.")
@operation
@needs("wallets.move")
async def refuse(service: Service, movement_id: UUID, reason: str) -> dict[str, object]:
    """Refuse or withdraw a movement that waits."""
    return described_movement(await submit(service, RefuseMovement(actor(), movement_id, reason)))


async def _find(service: Service, movement_id: UUID) -> PendingMovement:
    async with connection_to(service.dsn) as connection:
        found = await movement_lists.by_id(connection, [movement_id])
    if movement_id not in found:
        raise LaariError(f"no movement has the id {ids.show_id(ids.MOVEMENT, movement_id)}")
    return found[movement_id]


def described_movement(movement: PendingMovement) -> dict[str, object]:
    return {
        "movement_id": ids.show_id(ids.MOVEMENT, movement.id),
        "status": movement.status,
        "type": movement.kind,
        "account_number": str(movement.account),
        "amount": movement.amount,
        "details": movement.details,
        "slip": movement.slip,
        "requested_by": movement.requested_by,
        "requested_at": show_time(movement.requested_at),
        "decided_by": movement.decided_by,
        "decided_at": show_or_none(movement.decided_at),
        "reason": movement.reason,
        "tid": movement.tid,
    }
