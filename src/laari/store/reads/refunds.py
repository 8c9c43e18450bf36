"""Reading refunds."""

from collections.abc import Collection
from uuid import UUID

from asyncpg import Connection

from laari.rules.records import Refund
from laari.store.reads.listing import Listing, Walk, Window
from laari.store.tables import REFUNDS

by_id = REFUNDS.finder("id")
by_tid = REFUNDS.finder("tid")


async def counts(connection: Connection, payment_ids: Collection[UUID]) -> dict[UUID, int]:
    """The number of refunds of these payments; a payment without any is left out."""
    rows = await connection.fetch(
        "SELECT payment_id, count(*) FROM refunds WHERE payment_id = ANY($1) GROUP BY payment_id",
        list(payment_ids),
    )
    return dict(rows)


async def of_payment(connection: Connection, payment_id: UUID) -> list[Refund]:
    """All refunds of a payment, oldest first; they are few."""
    rows = await connection.fetch(
        f"{REFUNDS.select} WHERE payment_id = $1 ORDER BY created_at, id", payment_id
    )
    return [REFUNDS.read(row) for row in rows]


def listed(payment_id: UUID, window: Window) -> Listing[Refund]:
    return Listing(REFUNDS, [Walk({"payment_id": payment_id})], window)
