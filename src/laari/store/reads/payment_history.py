"""What the database keeps about one payment."""

from uuid import UUID

from asyncpg import Connection

from laari.rules.records.idempotency import SavedResponse
from laari.rules.records.ledger import Transfer
from laari.rules.records.wallets import Transaction
from laari.store.tables import SAVED_RESPONSES, TRANSACTIONS, TRANSFERS

MOST_SAVED_RESPONSES = 50  # of one payment
MOST_ATTEMPTS = 50


async def transfers_of(connection: Connection, payment_id: UUID) -> list[Transfer]:
    rows = await connection.fetch(
        f"{TRANSFERS.select} WHERE payment_id = $1 ORDER BY created_at, kind = 'fee'", payment_id
    )
    return [TRANSFERS.read(row) for row in rows]


async def failed_attempts_at(connection: Connection, payment_id: UUID) -> list[Transaction]:
    """The attempts to pay it that were refused, newest first."""
    rows = await connection.fetch(
        f"{TRANSACTIONS.select} WHERE unpaid_id = $1 ORDER BY recorded DESC LIMIT {MOST_ATTEMPTS}",
        payment_id,
    )
    return [TRANSACTIONS.read(row) for row in rows]


async def saved_responses_of(
    connection: Connection, tenant_id: int, objects: list[UUID]
) -> list[SavedResponse]:
    """The saved responses that show these resources, one for each idempotency key."""
    rows = await connection.fetch(
        f"{SAVED_RESPONSES.select} WHERE resource_id = ANY($1) AND tenant_id = $2 "
        f"ORDER BY completed_at LIMIT {MOST_SAVED_RESPONSES}",
        objects,
        tenant_id,
    )
    return [SAVED_RESPONSES.read(row) for row in rows]
