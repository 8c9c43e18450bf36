"""Passwords of people that others set, and the proof of their address."""

from asyncpg import Connection

from laari.rules.actors import Actor
from laari.rules.people_records import PersonId
from laari.store.people import logins
from laari.store.people.acting import acting
from laari.store.reads.tenants import has_live_side


async def prove(connection: Connection, whose: PersonId) -> None:
    """Notes that a new password went to the address; within the caller's `acting`.

    A second factor from before that may be a stranger's, who would lock the person out with it.
    """
    first = await connection.fetchval(
        "UPDATE persons SET proven = true WHERE id = $1 AND NOT proven RETURNING true", whose.id
    )
    if first:
        await _forget_factor(connection, whose)


async def _forget_factor(connection: Connection, whose: PersonId) -> None:
    """Not if live money is behind the person: their emails alone must not open it.

    The operator has approved such a merchant, and can turn the factor off.
    """
    await connection.execute(
        "DELETE FROM second_factors WHERE person_id = $1 AND NOT EXISTS ("
        "SELECT FROM memberships b WHERE b.person_id = $1 "
        f"AND (b.merchant_id IS NULL OR {has_live_side('b.merchant_id')}))",
        whose.id,
    )


async def reset_password(
    connection: Connection, actor: Actor, whose: PersonId, password_hash: str
) -> int:
    """Sets a password that the person has to change; returns the number of ended sessions."""
    async with acting(connection, actor, "person.reset_password"):
        await prove(connection, whose)
        return (
            await logins.set_password(connection, actor, whose, password_hash, must_change=True)
            or 0
        )
