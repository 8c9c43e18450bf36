"""Sign-up: merchants that anybody may make, for the sandbox only."""

from typing import Any, Literal

from asyncpg import Connection

from laari.errors import LaariError
from laari.rules.actors import Actor
from laari.store.people import merchants
from laari.store.people.merchants import NewMerchant

_ONE_AT_A_TIME = 0x6C61_6172_6901  # an advisory lock: "laari", and which of its locks


class LiveError(LaariError):
    """A merchant has gone live since the service started."""


async def sign_up(
    connection: Connection, actor: Actor, /, master_key: bytes, most: int, **details: Any
) -> NewMerchant | None:
    """A new merchant without a live side; None if there are already `most` merchants.

    Until the caller's transaction ends nobody else signs up, so the bound is exact.
    """
    await connection.execute("SELECT pg_advisory_xact_lock($1)", _ONE_AT_A_TIME)
    match await why_closed(connection, most):
        case "live":
            raise LiveError("this installation has live merchants")
        case "full":
            return None
    return await merchants.create(
        connection, actor, master_key, mode="sandbox", sandbox_only=True, **details
    )


async def why_closed(connection: Connection, most: int) -> Literal["live", "full"] | None:
    """Why nobody can sign up now; None if anybody can."""
    if await is_live(connection):
        return "live"
    held = await connection.fetchval(
        "SELECT count(*) FROM (SELECT FROM merchants LIMIT $1) AS counted", most
    )
    return "full" if held >= most else None


async def is_live(connection: Connection) -> bool:
    """Whether a merchant is in live mode, so that real money may move."""
    statement = "SELECT EXISTS (SELECT FROM merchants WHERE mode = 'live')"
    return bool(await connection.fetchval(statement))
