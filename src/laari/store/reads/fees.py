"""Fee terms of merchants: in force at once or from a later moment, with their history."""

from datetime import datetime

from asyncpg import Connection
from msgspec import Struct

from laari.rules.day_ranges import Days


class FeeTerms(Struct, frozen=True):
    fee_bps: int
    fee_fixed: int
    since: datetime
    is_scheduled: bool


async def terms_of(connection: Connection, merchant_id: str) -> list[FeeTerms]:
    """Scheduled and past terms, the latest first."""
    rows = await connection.fetch(
        "SELECT fee_bps, fee_fixed, starts_at AS since, true AS is_scheduled "
        "FROM scheduled_fees WHERE merchant_id = $1 "
        "UNION ALL SELECT * FROM (SELECT fee_bps, fee_fixed, since, false FROM fee_history "
        "WHERE merchant_id = $1 ORDER BY recorded) AS past",
        merchant_id,
    )
    return sorted((FeeTerms(**row) for row in rows), key=lambda each: each.since, reverse=True)


async def in_force(connection: Connection, merchant_id: str, days: Days) -> list[FeeTerms]:
    """The terms at the beginning of these days, and each change within them."""
    rows = await connection.fetch(
        "SELECT fee_bps, fee_fixed, since, false AS is_scheduled FROM fee_history "
        "WHERE merchant_id = $1 AND since < $3 "
        "AND recorded >= coalesce((SELECT max(recorded) FROM fee_history "
        "WHERE merchant_id = $1 AND since <= $2), 0) ORDER BY recorded",
        merchant_id,
        days.begin,
        days.end,
    )
    return [FeeTerms(**row) for row in rows]


async def due(connection: Connection, now: datetime, most: int) -> list[tuple[str, datetime]]:
    """Scheduled fees whose moment has come: the merchant and the moment."""
    rows = await connection.fetch(
        "SELECT merchant_id, starts_at FROM scheduled_fees WHERE starts_at <= $1 "
        "ORDER BY starts_at LIMIT $2",
        now,
        most,
    )
    return [(row["merchant_id"], row["starts_at"]) for row in rows]
