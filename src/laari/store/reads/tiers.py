"""Verification tiers and their limits."""

from collections.abc import Mapping

from asyncpg import Connection

from laari.rules.records import Tier

LIMITS = ("per_transaction", "daily", "weekly", "monthly")
_COLUMNS = f"name, {', '.join(LIMITS)}"


async def all_tiers(connection: Connection) -> dict[str, Tier]:
    rows = await connection.fetch(f"SELECT {_COLUMNS} FROM tiers ORDER BY name")
    return {row["name"]: Tier(*row) for row in rows}


async def set_tier(connection: Connection, name: str, limits: Mapping[str, int | None]) -> Tier:
    """Sets the given limits, None for no limit; a new tier has none."""
    updates = ", ".join(f"{limit} = excluded.{limit}" for limit in LIMITS if limit in limits)
    row = await connection.fetchrow(
        f"INSERT INTO tiers ({_COLUMNS}) VALUES ($1, $2, $3, $4, $5) "
        f"ON CONFLICT (name) DO UPDATE SET {updates or 'name = excluded.name'} "
        f"RETURNING {_COLUMNS}",
        name,
        *(limits.get(limit) for limit in LIMITS),
    )
    return Tier(*row)
