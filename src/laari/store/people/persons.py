"""People of merchants and of the operator. Each has one email, one password and its sessions."""

import os
from datetime import UTC, datetime
from typing import NamedTuple

from asyncpg import Connection

from laari.errors import LaariError
from laari.rules import ids
from laari.rules.actors import Actor
from laari.store.people import logins
from laari.store.people.acting import acting
from laari.store.people.logins import PersonId
from laari.store.reads.tenants import has_live_side


class NewLogin(NamedTuple):
    """The password of a person who has none yet, and who knows it."""

    password_hash: str
    must_change: bool = False
    first_password: bool = False
    proven: bool = True  # False for a sign-up: anybody could have entered the address


class EmailTakenError(LaariError):
    """A stranger cannot use the address of a person who exists."""


class Enrolled(NamedTuple):
    id: PersonId
    has_new_password: bool  # False if the person has a password already


async def find(connection: Connection, email: str) -> PersonId | None:
    found = await connection.fetchval("SELECT id FROM persons WHERE email = $1", email)
    return None if found is None else PersonId(found)


async def enrol(connection: Connection, email: str, login: NewLogin) -> Enrolled:
    """Finds the person with this email, or makes one; within the caller's transaction.

    A person who signed up alone has not proved the address: the login replaces theirs, their
    sessions end and their second factor is off. So a stranger who signs up with the address of
    another person gains nothing, and cannot lock that person out.
    """
    person_id = ids.new_id(datetime.now(UTC), os.urandom)
    made = await connection.fetchval(
        "INSERT INTO persons (id, email, password_hash, password_must_change, password_first, "
        "proven) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (email) DO NOTHING RETURNING true",
        person_id,
        email,
        *login,
    )
    if made:
        return Enrolled(PersonId(person_id), True)
    if not login.proven:
        raise EmailTakenError("this email address cannot be used to sign up")
    row = await connection.fetchrow(
        "SELECT id, proven FROM persons WHERE email = $1 FOR NO KEY UPDATE", email
    )
    if row is None:
        raise LaariError(f"{email} was removed at this moment: try again")
    whose = PersonId(row["id"])
    if not row["proven"]:
        await connection.execute(
            "UPDATE persons SET password_hash = $2, password_must_change = $3, "
            "password_first = $4, proven = $5 WHERE id = $1",
            whose.id,
            *login,
        )
        await _forget_factor(connection, whose)
        await logins.end_all(connection, whose)
    return Enrolled(whose, not row["proven"])


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


async def remove_without_membership(connection: Connection, whose: PersonId) -> int:
    """Removes a person who has lost the last membership; returns the number of ended sessions.

    The caller has locked the person's row, so nobody adds a membership meanwhile.
    """
    left = await connection.fetchval(
        "SELECT count(*) FROM memberships WHERE person_id = $1", whose.id
    )
    if left:
        return 0
    ended = await logins.end_all(connection, whose)
    await connection.execute("DELETE FROM persons WHERE id = $1", whose.id)
    return ended
