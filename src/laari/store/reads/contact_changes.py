"""Changes of customers' contacts: those of a customer, those that are due, and their rows."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from asyncpg import Connection

from laari.rules.records.payments import CustomerType
from laari.rules.records.people import ContactChange
from laari.rules.records.tenants import Mode
from laari.store.tables import CONTACT_CHANGES

_SELECT = CONTACT_CHANGES.select
_OPEN = "status IN ('waiting', 'confirmed')"


async def of_customer(connection: Connection, customer_id: UUID, most: int) -> list[ContactChange]:
    """The newest first."""
    rows = await connection.fetch(
        f"{_SELECT} WHERE customer_id = $1 ORDER BY id DESC LIMIT $2", customer_id, most
    )
    return [CONTACT_CHANGES.read(row) for row in rows]


async def open_of_customers(
    connection: Connection, customers: Collection[UUID]
) -> list[ContactChange]:
    rows = await connection.fetch(
        f"{_SELECT} WHERE customer_id = ANY($1) AND {_OPEN}", list(customers)
    )
    return [CONTACT_CHANGES.read(row) for row in rows]


async def by_stop_digest(connection: Connection, digest: bytes) -> ContactChange | None:
    """The change that the link with this digest can stop."""
    row = await connection.fetchrow(
        f"{_SELECT} WHERE stop_digest = $1 AND status = 'confirmed'", digest
    )
    return None if row is None else CONTACT_CHANGES.read(row)


async def due(connection: Connection, now: datetime, most: int) -> list[ContactChange]:
    """The confirmed changes whose moment has come, the earliest first."""
    rows = await connection.fetch(
        f"{_SELECT} WHERE status = 'confirmed' AND effective_at <= $1 "
        "ORDER BY effective_at LIMIT $2",
        now,
        most,
    )
    return [CONTACT_CHANGES.read(row) for row in rows]


async def holders(
    connection: Connection, wanted: Collection[tuple[Mode, CustomerType, str]]
) -> dict[tuple[Mode, CustomerType, str], UUID]:
    """The customers with these contacts; sandbox customers of merchants share theirs."""
    found: dict[tuple[Mode, CustomerType, str], UUID] = {}
    for mode, contact, value in wanted:
        customer_id = await connection.fetchval(
            f"SELECT id FROM customers WHERE mode = $1 AND {contact} = $2 AND sandbox_of IS NULL",
            mode,
            value,
        )
        if customer_id is not None:
            found[mode, contact, value] = customer_id
    return found
