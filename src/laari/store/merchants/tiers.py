"""The limits of tiers, which the operator sets."""

from collections.abc import Mapping

from asyncpg import Connection

from laari.rules.actors import Actor
from laari.rules.records import Tier
from laari.store.people.acting import acting
from laari.store.reads.tiers import COLUMNS, LIMITS


async def set_tier(
    connection: Connection, actor: Actor, name: str, limits: Mapping[str, int | None]
) -> Tier:
    """Sets the given limits, None for no limit; a new tier has none."""
    updates = ", ".join(f"{limit} = excluded.{limit}" for limit in LIMITS if limit in limits)
    async with acting(connection, actor, "tier.set"):
        row = await connection.fetchrow(
            f"INSERT INTO tiers ({COLUMNS}) VALUES ($1, $2, $3, $4, $5) "
            f"ON CONFLICT (name) DO UPDATE SET {updates or 'name = excluded.name'} "
            f"RETURNING {COLUMNS}",
            name,
            *(limits.get(limit) for limit in LIMITS),
        )
    return Tier(*row)
