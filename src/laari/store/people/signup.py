"""Sign-up: merchants that anybody may make, for the sandbox alone."""

from typing import Literal

from asyncpg import Connection

from laari.errors import LaariError
from laari.store.people import merchants
from laari.store.people.merchants import NewMerchant

_ONE_AT_A_TIME = 0x6C61_6172_6901  # an advisory lock: "laari", and which of its locks


class LiveError(LaariError):
    """A merchant has gone live since the service started, which looks only then."""


async def sign_up(
    connection: Connection,
    master_key: bytes,
    most: int,
    *,
    name: str,
    fee_bps: int = 0,
    fee_fixed: int = 0,
    webhook_url: str | None = None,
    email: str | None = None,
    password: str | None = None,
    password_hash: str | None = None,
) -> NewMerchant | None:
    """A new merchant without a live side; None where there are `most` merchants already.

    Within a transaction: until it ends nobody else signs up, so that the bound is kept exactly.
    """
    await connection.execute("SELECT pg_advisory_xact_lock($1)", _ONE_AT_A_TIME)
    match await why_closed(connection, most):
        case "live":
            raise LiveError("this installation has live merchants")
        case "full":
            return None
    return await merchants.create(
        connection,
        master_key,
        name=name,
        mode="sandbox",
        fee_bps=fee_bps,
        fee_fixed=fee_fixed,
        webhook_url=webhook_url,
        email=email,
        password=password,
        password_hash=password_hash,
        sandbox_only=True,
    )


async def why_closed(connection: Connection, most: int) -> Literal["live", "full"] | None:
    """Why nobody can sign up now; None while anybody can."""
    if await is_live(connection):
        return "live"
    held = await connection.fetchval(
        "SELECT count(*) FROM (SELECT FROM merchants LIMIT $1) AS counted", most
    )
    return "full" if held >= most else None


async def is_live(connection: Connection) -> bool:
    """Whether a merchant of this installation acts in live mode: real money may move."""
    found: bool = await connection.fetchval(
        "SELECT EXISTS (SELECT FROM merchants WHERE mode = 'live')"
    )
    return found
