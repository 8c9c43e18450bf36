"""Sign-up: merchants that anybody may make, for the sandbox only."""

from typing import Any

from asyncpg import Connection

from laari.rules.actors import Actor
from laari.store.merchants import merchants
from laari.store.merchants.merchants import NewMerchant

_ONE_AT_A_TIME = 0x6C61_6172_6901  # an advisory lock: "laari", and which of its locks


async def sign_up(
    connection: Connection, actor: Actor, /, master_key: bytes, most: int, **details: Any
) -> NewMerchant | None:
    """A new merchant without a live side; None if there are already `most` merchants.

    Until the caller's transaction ends nobody else signs up, so the bound is exact.
    """
    await connection.execute("SELECT pg_advisory_xact_lock($1)", _ONE_AT_A_TIME)
    if await is_full(connection, most):
        return None
    return await merchants.create(
        connection, actor, master_key, mode="sandbox", sandbox_only=True, **details
    )


async def is_full(connection: Connection, most: int) -> bool:
    """Whether there are already `most` merchants, so that nobody can sign up."""
    held = await connection.fetchval(
        "SELECT count(*) FROM (SELECT FROM merchants LIMIT $1) AS counted", most
    )
    return bool(held >= most)
