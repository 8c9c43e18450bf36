"""Verification tiers and their limits."""

from asyncpg import Connection

from laari.rules.records.wallets import Tier

LIMITS = ("per_transaction", "daily", "weekly", "monthly")
COLUMNS = f"name, {', '.join(LIMITS)}"


async def all_tiers(connection: Connection) -> dict[str, Tier]:
    rows = await connection.fetch(f"SELECT {COLUMNS} FROM tiers ORDER BY name")
    return {row["name"]: Tier(**row) for row in rows}
