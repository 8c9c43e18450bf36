"""Advisory locks, for what no row protects: an idempotency key, a slip, a sign-up."""

import hashlib

import asyncpg

from laari.rules.world import ResponseKey


def lock_number(slot: ResponseKey) -> int:
    digest = hashlib.blake2b("\0".join(map(str, slot)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


async def lock_in_turn(connection: asyncpg.Connection, slots: list[ResponseKey]) -> None:
    """Waits for the advisory locks of these slots. Their tenant is 0, which no tenant is."""
    await connection.execute(
        "SELECT pg_advisory_xact_lock(n) FROM unnest($1::bigint[]) AS n",
        sorted(map(lock_number, slots)),
    )
