"""Movements that wait for a second person, as commands show them."""

from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import UUID

from laari.cli.terminal.operation import submit
from laari.cli.terminal.output import complain
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules import ids
from laari.rules.banking.second_person import Controlled
from laari.rules.calendar import show as show_time
from laari.rules.calendar import show_or_none
from laari.rules.records import PendingMovement
from laari.store.postgres.pool import connection_to
from laari.store.reads.money import movement_lists

T = TypeVar("T")


async def move(
    service: Service, command: Controlled[T], done: Callable[[T], Awaitable[dict[str, object]]]
) -> dict[str, object]:
    """Runs the command and shows its result, or the movement that waits for a second person."""
    outcome = await submit(service, command)
    if isinstance(outcome, PendingMovement):
        return await asked(service, outcome)
    return await done(outcome)


async def asked(service: Service, movement: PendingMovement) -> dict[str, object]:
    """Shows a movement that waits now, and says how it goes on."""
    shown = described_movement(await movement_of(service, movement.id))
    complain(f"a second person has to confirm this: laari movement confirm {shown['movement_id']}")
    return shown


async def movement_of(service: Service, movement_id: UUID) -> movement_lists.Waiting:
    async with connection_to(service.dsn) as connection:
        found = await movement_lists.by_id(connection, movement_id)
    if found is None:
        raise LaariError(f"no movement has the id {ids.show_id(ids.MOVEMENT, movement_id)}")
    return found


def described_movement(found: movement_lists.Waiting) -> dict[str, object]:
    movement, tenant = found.movement, found.tenant
    return {
        "movement_id": ids.show_id(ids.MOVEMENT, movement.id),
        "status": movement.status,
        "type": movement.kind,
        "account_number": None if movement.account is None else str(movement.account),
        "merchant_id": None if tenant is None else tenant.merchant_id,
        "holder": found.holder,
        "amount": movement.amount,
        "details": movement.details,
        "reference": movement.reference,
        "requested_by": movement.requested_by,
        "requested_at": show_time(movement.requested_at),
        "decided_by": movement.decided_by,
        "decided_at": show_or_none(movement.decided_at),
        "reason": movement.reason,
        "tid": movement.tid,
    }
