"""Reusable links of tenants."""

from collections.abc import Collection
from uuid import UUID

from asyncpg import Connection

from laari.rules.records.merchants import ReusableLink
from laari.store.tables import REUSABLE_LINKS


async def by_token(connection: Connection, token: str) -> ReusableLink | None:
    row = await connection.fetchrow(f"{REUSABLE_LINKS.select} WHERE token = $1", token)
    return None if row is None else REUSABLE_LINKS.read(row)


async def find(connection: Connection, tenant_id: int, link_id: UUID) -> ReusableLink | None:
    row = await connection.fetchrow(
        f"{REUSABLE_LINKS.select} WHERE id = $1 AND tenant_id = $2", link_id, tenant_id
    )
    return None if row is None else REUSABLE_LINKS.read(row)


async def open_links(connection: Connection, tenant_id: int) -> list[ReusableLink]:
    """Those that nobody has ended, the newest first; they are bounded."""
    rows = await connection.fetch(
        f"{REUSABLE_LINKS.select} WHERE tenant_id = $1 AND ended_at IS NULL ORDER BY id DESC",
        tenant_id,
    )
    return [REUSABLE_LINKS.read(row) for row in rows]


async def counts(connection: Connection, tenant_ids: Collection[int]) -> dict[int, int]:
    """The number of links of each tenant that nobody has ended."""
    rows = await connection.fetch(
        "SELECT tenant_id, count(*) FROM reusable_links WHERE tenant_id = ANY($1) "
        "AND ended_at IS NULL GROUP BY tenant_id",
        list(tenant_ids),
    )
    return dict.fromkeys(tenant_ids, 0) | {row["tenant_id"]: row["count"] for row in rows}
