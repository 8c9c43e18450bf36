"""Reading payment requests."""

from datetime import datetime
from uuid import UUID

from asyncpg import Connection

from laari.rules.records.payments import PaymentRequest
from laari.store.reads.listing import Listing, Walk, Window
from laari.store.reads.payments import walks
from laari.store.tables import REQUESTS

by_id = REQUESTS.finder("id")


def of_tenant(
    tenant_id: int, now: datetime, window: Window, **filters: str | None
) -> Listing[PaymentRequest]:
    return Listing(REQUESTS, walks(tenant_id, now, **filters), window)


def of_account(account: int, window: Window, *, waiting: bool) -> Listing[PaymentRequest]:
    keep = "status = 'pending'" if waiting else "status <> 'pending'"
    return Listing(REQUESTS, [Walk({"account": account}, keep)], window)


async def overdue(
    connection: Connection, now: datetime, most: int, share: int, after: int = 0
) -> list[tuple[UUID, int]]:
    """Requests past their deadline by their tenant's clock, with the tenants' ids.

    In the order of tenants `after` this one, at most `share` of each.
    """
    rows = await connection.fetch(
        "SELECT r.id, t.id FROM tenants t CROSS JOIN LATERAL ("
        "SELECT id FROM payment_requests WHERE tenant_id = t.id AND status = 'pending' "
        "AND reserved_at IS NULL "
        "AND expires_at <= $1::timestamptz + t.clock_offset_seconds * interval '1 second' "
        "ORDER BY expires_at LIMIT $3) r WHERE t.id > $4 ORDER BY t.id LIMIT $2",
        now,
        most,
        share,
        after,
    )
    return [(request_id, tenant_id) for request_id, tenant_id in rows]
