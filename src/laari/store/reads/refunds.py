"""Reading refunds."""

from collections.abc import Collection, Iterable
from typing import NamedTuple
from uuid import UUID

from asyncpg import Connection

from laari.rules.records.payments import Refund
from laari.rules.records.wallets import Transaction
from laari.store.reads.listing import Listing, Walk, Window
from laari.store.tables import REFUNDS

by_id = REFUNDS.finder("id")


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


class LinkedRefund(NamedTuple):
    """A refund in a customer's history, and the line of the payment that it belongs to."""

    tid: str
    payment_tid: str
    amount: int


# Lines know neither the payment nor the refund; their transfers are in the same transaction.
_LINKED = """
SELECT r.tid, p.payment_reference AS payment_tid, r.amount FROM (
    SELECT f.payment_id FROM refunds f WHERE f.tid = ANY($1)
    UNION SELECT t.payment_id FROM transactions l CROSS JOIN LATERAL (
        SELECT payment_id FROM transfers
        WHERE xid = l.xid AND tid = l.tid AND kind = 'payment' LIMIT 1
    ) AS t WHERE l.tid = ANY($2)
) AS found JOIN payments p ON p.id = found.payment_id JOIN refunds r ON r.payment_id = p.id
ORDER BY r.created_at, r.id
"""


async def linked(connection: Connection, lines: Iterable[Transaction]) -> list[LinkedRefund]:
    """The refunds among these lines, and those of the payments among them; oldest first."""
    tids: dict[str, list[str]] = {"refund": [], "payment": []}
    for line in lines:
        if line.type in tids and line.status == "success":
            tids[line.type].append(line.tid)
    rows = await connection.fetch(_LINKED, tids["refund"], tids["payment"])
    return [LinkedRefund(**row) for row in rows]
