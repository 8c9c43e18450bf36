"""Reading authorizations, their payments and their usage in past periods."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from laari.rules.limits import PeriodKey
from laari.rules.records import Authorization, ClosedPeriod, Payment
from laari.store.listing import Found, Walk, Window, page
from laari.store.tables import AUTHORIZATIONS, CLOSED_PERIODS, PAYMENTS

# The deadline that makes an authorization expired, by its stored status; others never expire.
_DEADLINES = {
    "pending": "approval_expires_at",
    "active": "expires_at",
    "suspended": "expires_at",
}


async def by_id(
    connection: asyncpg.Connection, authorization_ids: list[UUID]
) -> dict[UUID, Authorization]:
    rows = await connection.fetch(f"{AUTHORIZATIONS.select} WHERE id = ANY($1)", authorization_ids)
    return {row["id"]: AUTHORIZATIONS.read(row) for row in rows}


async def by_token(connection: asyncpg.Connection, tokens: list[str]) -> dict[str, Authorization]:
    rows = await connection.fetch(f"{AUTHORIZATIONS.select} WHERE token = ANY($1)", tokens)
    return {row["token"]: AUTHORIZATIONS.read(row) for row in rows}


async def closed_periods(
    connection: asyncpg.Connection, wanted: Collection[PeriodKey]
) -> dict[PeriodKey, ClosedPeriod]:
    authorization_ids, starts = zip(*wanted, strict=True)
    rows = await connection.fetch(
        f"{CLOSED_PERIODS.select} WHERE (authorization_id, period_start) IN "
        "(SELECT * FROM unnest($1::uuid[], $2::date[]))",
        authorization_ids,
        starts,
    )
    found = map(CLOSED_PERIODS.read, rows)
    return {(period.authorization_id, period.period_start): period for period in found}


async def list_of_tenant(
    connection: asyncpg.Connection,
    tenant_id: int,
    now: datetime,
    window: Window,
    status: str | None = None,
) -> Found[Authorization]:
    return await page(connection, AUTHORIZATIONS, _walks(tenant_id, status, now), window)


def _walks(tenant_id: int, status: str | None, now: datetime) -> list[Walk]:
    """How a status is looked for, where one past its deadline counts as expired."""
    if status is None:
        return [Walk({"tenant_id": tenant_id})]
    if status == "expired":
        return [
            Walk({"tenant_id": tenant_id, "status": stored}, f"{deadline} <= {{now}}", {"now": now})
            for stored, deadline in _DEADLINES.items()
        ]
    equal = {"tenant_id": tenant_id, "status": status}
    if status not in _DEADLINES:
        return [Walk(equal)]
    return [Walk(equal, f"({_DEADLINES[status]} <= {{now}}) IS NOT TRUE", {"now": now})]


async def list_payments(
    connection: asyncpg.Connection,
    authorization_id: UUID,
    window: Window,
    *,
    status: str | None = None,
    bill_number: str | None = None,
) -> Found[Payment]:
    """The payments of one authorization; the filters are checked on the way along its index."""
    wanted = {"status": status, "bill_number": bill_number}
    values: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
    keep = " AND ".join(f"{name} = {{{name}}}" for name in values)
    walk = Walk({"authorization_id": authorization_id}, keep or None, values)
    return await page(connection, PAYMENTS, [walk], window)
