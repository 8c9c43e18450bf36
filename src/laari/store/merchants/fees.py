"""Fee terms of merchants: in force at once or from a later moment, with their history."""

from datetime import datetime

from asyncpg import Connection
from msgspec import Struct

from laari.errors import LaariError
from laari.rules.actors import Actor
from laari.rules.day_ranges import Days
from laari.store.people.acting import acting


class FeeTerms(Struct, frozen=True):
    fee_bps: int
    fee_fixed: int
    since: datetime
    is_scheduled: bool


async def set_fees(
    connection: Connection,
    actor: Actor,
    merchant_id: str,
    fee_bps: int,
    fee_fixed: int,
    starts_at: datetime | None = None,
    reason: str | None = None,
) -> None:
    """Sets the fees now, or from a later moment on; the same moment again replaces them."""
    async with acting(connection, actor, "merchant.set_fees", reason):
        found = await connection.fetchval(
            "SELECT $2::timestamptz > now() FROM merchants WHERE id = $1 FOR NO KEY UPDATE",
            merchant_id,
            starts_at,
        )
        if found is None and starts_at is not None:
            raise LaariError(f"no merchant has the id {merchant_id}")
        if found and starts_at is not None:
            async with acting(connection, actor, "fees.schedule", reason):
                await connection.execute(
                    "INSERT INTO scheduled_fees (merchant_id, starts_at, fee_bps, fee_fixed, "
                    "scheduled_by) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (merchant_id, "
                    "starts_at) DO UPDATE SET fee_bps = $3, fee_fixed = $4, scheduled_by = $5, "
                    "scheduled_at = now()",
                    merchant_id,
                    starts_at,
                    fee_bps,
                    fee_fixed,
                    actor.name,
                )
            return
        changed = await connection.fetchval(
            "UPDATE merchants SET fee_bps = $2, fee_fixed = $3 WHERE id = $1 RETURNING true",
            merchant_id,
            fee_bps,
            fee_fixed,
        )
        if changed is None:
            raise LaariError(f"no merchant has the id {merchant_id}")


async def cancel_scheduled(
    connection: Connection, actor: Actor, merchant_id: str, starts_at: datetime
) -> bool:
    """Removes fees that have not begun; False if there are none for this moment."""
    async with acting(connection, actor, "fees.cancel"):
        gone = await connection.fetchval(
            "DELETE FROM scheduled_fees WHERE merchant_id = $1 AND starts_at = $2 RETURNING true",
            merchant_id,
            starts_at,
        )
    return gone is not None


async def terms_of(connection: Connection, merchant_id: str) -> list[FeeTerms]:
    """Scheduled and past terms, the latest first."""
    rows = await connection.fetch(
        "SELECT fee_bps, fee_fixed, starts_at, true FROM scheduled_fees WHERE merchant_id = $1 "
        "UNION ALL SELECT * FROM (SELECT fee_bps, fee_fixed, since, false FROM fee_history "
        "WHERE merchant_id = $1 ORDER BY recorded) AS past",
        merchant_id,
    )
    return sorted((FeeTerms(*row) for row in rows), key=lambda each: each.since, reverse=True)


async def in_force(connection: Connection, merchant_id: str, days: Days) -> list[FeeTerms]:
    """The terms at the beginning of these days, and each change within them."""
    rows = await connection.fetch(
        "SELECT fee_bps, fee_fixed, since, false FROM fee_history WHERE merchant_id = $1 "
        "AND since < $3 AND recorded >= coalesce((SELECT max(recorded) FROM fee_history "
        "WHERE merchant_id = $1 AND since <= $2), 0) ORDER BY recorded",
        merchant_id,
        days.begin,
        days.end,
    )
    return [FeeTerms(*row) for row in rows]


async def start_due(connection: Connection) -> bool:
    """Sets the earliest fees whose moment has come; whether there were any."""
    actor = Actor("service", "scheduled fees")
    async with acting(connection, actor, "merchant.set_fees"):
        async with acting(connection, actor, "fees.start"):
            row = await connection.fetchrow(
                "DELETE FROM scheduled_fees WHERE (merchant_id, starts_at) = (SELECT merchant_id, "
                "starts_at FROM scheduled_fees WHERE starts_at <= now() ORDER BY starts_at LIMIT 1 "
                "FOR UPDATE SKIP LOCKED) RETURNING merchant_id, fee_bps, fee_fixed"
            )
        if row is None:
            return False
        await connection.execute(
            "UPDATE merchants SET fee_bps = $2, fee_fixed = $3 WHERE id = $1", *row
        )
        return True
