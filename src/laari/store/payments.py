"""Reading payments."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import asyncpg

from laari.rules.records import Payment
from laari.store.listing import Listing, Walk, Window
from laari.store.tables import PAYMENTS

# Pending past its deadline with nobody paying it: reported as expired before it is marked so.
_OVERDUE = "status = 'pending' AND expires_at <= {now} AND reserved_at IS NULL"


async def by_id(connection: asyncpg.Connection, payment_ids: list[UUID]) -> dict[UUID, Payment]:
    rows = await connection.fetch(f"{PAYMENTS.select} WHERE id = ANY($1)", payment_ids)
    return {row["id"]: PAYMENTS.read(row) for row in rows}


async def by_token(connection: asyncpg.Connection, tokens: list[str]) -> dict[str, Payment]:
    rows = await connection.fetch(f"{PAYMENTS.select} WHERE token = ANY($1)", tokens)
    return {row["token"]: PAYMENTS.read(row) for row in rows}


def of_tenant(
    tenant_id: int, now: datetime, window: Window, **filters: str | None
) -> Listing[Payment]:
    return Listing(PAYMENTS, walks(tenant_id, now, **filters), window)


def walks(
    tenant_id: int,
    now: datetime,
    *,
    status: str | None = None,
    terminal_label: str | None = None,
    bill_number: str | None = None,
) -> list[Walk]:
    """How a tenant's payments or payment requests are looked for."""
    equal: dict[str, object] = {
        "tenant_id": tenant_id,
        **({"terminal_label": terminal_label} if terminal_label else {}),
        **({"bill_number": bill_number} if bill_number else {}),
    }
    return walks_by_status(equal, status, now)


def walks_by_status(equal: dict[str, object], status: str | None, now: datetime) -> list[Walk]:
    """How a status is looked for, where overdue pending rows count as expired.

    A label or bill number narrows more than a status does, so its index is walked and the status
    is checked on the way.
    """
    if status is None:
        return [Walk(equal)]
    narrowed = len(equal) > 1
    if status == "expired":
        if narrowed:
            return [Walk(equal, f"status = 'expired' OR ({_OVERDUE})", {"now": now})]
        return [
            Walk({**equal, "status": "expired"}),
            Walk({**equal, "status": "pending"}, _OVERDUE, {"now": now}),
        ]
    keep: list[str] = []
    values: dict[str, object] = {}
    if status == "pending":
        keep.append(f"NOT coalesce({_OVERDUE}, false)")
        values["now"] = now
    if narrowed:
        keep.append("status = {status}")
        values["status"] = status
        return [Walk(equal, " AND ".join(keep), values)]
    return [Walk({**equal, "status": status}, " AND ".join(keep) or None, values)]
