"""What is kept about customers: notes, identity data, and the merchant of a sandbox customer."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from asyncpg import Connection

from laari.rules.records.people import CustomerNote
from laari.rules.records.tenants import Mode


async def notes(connection: Connection, customer_id: UUID, most: int) -> list[CustomerNote]:
    """The newest first."""
    rows = await connection.fetch(
        "SELECT customer_id, time, author, text FROM customer_notes WHERE customer_id = $1 "
        "ORDER BY id DESC LIMIT $2",
        customer_id,
        most,
    )
    return [CustomerNote(**row) for row in rows]


async def identity_since(connection: Connection, customer_id: UUID) -> datetime | None:
    """When the identity data was entered; None without any."""
    since: datetime | None = await connection.fetchval(
        "SELECT entered_at FROM customer_identities WHERE customer_id = $1", customer_id
    )
    return since


async def sandbox_shops(connection: Connection, customers: Collection[UUID]) -> dict[UUID, str]:
    """The merchants whose own sandbox customers these are."""
    rows = await connection.fetch(
        "SELECT c.id, t.merchant_id FROM customers c JOIN tenants t ON t.id = c.sandbox_of "
        "WHERE c.id = ANY($1)",
        list(customers),
    )
    return {row["id"]: row["merchant_id"] for row in rows}


async def mode_of(connection: Connection, customer_id: UUID) -> Mode | None:
    """Of a customer who can have a log-in: a merchant's own sandbox customer has none."""
    mode: Mode | None = await connection.fetchval(
        "SELECT mode FROM customers WHERE id = $1 AND sandbox_of IS NULL", customer_id
    )
    return mode
