"""Tills since their last closing, and their closings.

The sums of an open till are those of all its days without its closings. So no statement reads the
movements themselves, and a till that was never closed costs the same.
"""

from uuid import UUID

from asyncpg import Connection

from laari.rules.records.tills import OpenTill, TillClosing
from laari.store.reads.figures import FINDING, NEWER_SALES
from laari.store.reads.listing import Position
from laari.store.tables import TILL_CLOSINGS

_SUMS = ("payments", "gross", "fees", "refunds", "refunded")
_ADDED = ", ".join(f"sum({name}) AS {name}" for name in _SUMS)
_OPEN = ", ".join(
    f"(coalesce(m.{name}, 0) - coalesce(c.{name}, 0))::bigint AS {name}" for name in _SUMS
)

# One statement, so that everything is of the snapshot that it returns. $2 is null for all tills.
_OPEN_TILLS = f"""
WITH newer AS MATERIALIZED ({NEWER_SALES}
), moved AS (
    SELECT terminal_label AS till, {_ADDED} FROM (
        SELECT terminal_label, {", ".join(_SUMS)} FROM daily_figures WHERE tenant_id = $1
        UNION ALL SELECT terminal_label, {", ".join(_SUMS)} FROM newer
    ) AS every WHERE $2::text IS NULL OR terminal_label = $2 GROUP BY terminal_label
), closed AS (
    SELECT till, max(number) AS number,
        (array_agg(created_at ORDER BY number DESC))[1] AS since, {_ADDED}
    FROM till_closings WHERE tenant_id = $1 AND ($2::text IS NULL OR till = $2) GROUP BY till
)
SELECT till, coalesce(c.number, 0) + 1 AS number, c.since, {_OPEN},
    pg_current_snapshot()::text AS snapshot
FROM moved m FULL JOIN closed c USING (till) ORDER BY till
"""


async def open_tills(
    connection: Connection, tenant_id: int, till: str | None = None
) -> list[OpenTill]:
    """The tills at which something was ever paid, or one of them, since their last closings."""
    found = [OpenTill(**row) for row in await connection.fetch(_OPEN_TILLS, tenant_id, till)]
    return [each for each in found if each.moved or each.since is not None]


async def show_open(
    connection: Connection, tenant_id: int, till: str | None = None
) -> list[OpenTill]:
    """The same for a page, whose session may plan otherwise."""
    async with connection.transaction(readonly=True):
        await connection.execute(FINDING)
        return await open_tills(connection, tenant_id, till)


async def closings(
    connection: Connection,
    tenant_id: int,
    till: str | None,
    limit: int,
    after: Position | None = None,
) -> tuple[list[TillClosing], Position | None]:
    """A page of closings, newest first."""
    rows = await connection.fetch(
        f"{TILL_CLOSINGS.select} WHERE tenant_id = $1 AND ($2::text IS NULL OR till = $2) "
        "AND ($3::timestamptz IS NULL OR (created_at, id) < ($3, $4)) "
        "ORDER BY created_at DESC, id DESC LIMIT $5",
        tenant_id,
        till,
        *(after or (None, None)),
        limit + 1,
    )
    found = [TILL_CLOSINGS.read(row) for row in rows]
    if len(found) <= limit:
        return found, None
    found = found[:limit]
    return found, Position(found[-1].created_at, found[-1].id)


async def closing(connection: Connection, tenant_id: int, id: UUID) -> TillClosing | None:
    row = await connection.fetchrow(
        f"{TILL_CLOSINGS.select} WHERE id = $1 AND tenant_id = $2", id, tenant_id
    )
    return None if row is None else TILL_CLOSINGS.read(row)


async def numbered(
    connection: Connection, tenant_id: int, till: str, number: int
) -> TillClosing | None:
    """The closing of a till with this number."""
    row = await connection.fetchrow(
        f"{TILL_CLOSINGS.select} WHERE tenant_id = $1 AND till = $2 AND number = $3",
        tenant_id,
        till,
        number,
    )
    return None if row is None else TILL_CLOSINGS.read(row)
