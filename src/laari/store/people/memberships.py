"""Whether all people of a merchant need a second factor."""

from asyncpg import Connection

from laari.errors import LaariError
from laari.rules.actors import Actor
from laari.store.people.acting import acting


class NotOwnerError(LaariError):
    """The person is no owner now."""


async def require_factor(
    connection: Connection, actor: Actor, merchant_id: str, required: bool
) -> None:
    """A person has to be an owner now: the role may have been lost since the request came."""
    async with acting(connection, actor, "merchant.require_factor"):
        lock = "SELECT true FROM merchants WHERE id = $1 FOR NO KEY UPDATE"
        if await connection.fetchval(lock, merchant_id) is None:
            raise LaariError(f"no merchant has the id {merchant_id}")
        role = await connection.fetchval(
            "SELECT role FROM memberships b JOIN persons p ON p.id = b.person_id "
            "WHERE b.merchant_id = $1 AND p.email = $2",
            merchant_id,
            actor.name,
        )
        if actor.kind == "person" and role != "owner":
            raise NotOwnerError("only an owner can change this")
        await connection.execute(
            "UPDATE merchants SET requires_factor = $2 WHERE id = $1", merchant_id, required
        )
