"""Movements that wait for a second person, as commands show them."""

from laari.cli.terminal.output import complain
from laari.operations.waiting_movements import find, movement_shape
from laari.process.open import Service
from laari.rules.records.second_person import PendingMovement
from laari.store.postgres.pool import connection_to


async def asked(service: Service, movement: PendingMovement) -> dict[str, object]:
    """Shows a movement that waits now, and names the next command."""
    async with connection_to(service.dsn) as connection:
        found = await find(connection, movement.id)
    assert found is not None  # movements stay
    shown = movement_shape(found)
    complain(f"a second person has to confirm this: laari movement confirm {shown['movement_id']}")
    return shown
