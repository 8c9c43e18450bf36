"""Verification tiers and their limits."""

from __future__ import annotations

import asyncpg

from laari.rules.records import Tier

LIMITS = ("per_transaction", "daily", "weekly", "monthly")


async def all_tiers(connection: asyncpg.Connection) -> dict[str, Tier]:
    rows = await connection.fetch(
        "SELECT name, per_transaction, daily, weekly, monthly FROM tiers ORDER BY name"
    )
    return {row["name"]: Tier(*row) for row in rows}
