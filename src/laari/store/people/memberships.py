"""Memberships: the role of a person at a merchant, or at the operator (`merchant_id` is None).

A merchant with people has an owner. Every change locks the merchant's row first, so that two
changes at once cannot remove the last two owners. A person who makes it is still an owner then.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

import asyncpg
from asyncpg import Connection
from msgspec import Struct

from laari.errors import LaariError
from laari.rules.actors import Actor
from laari.rules.people.permissions import MerchantRole, OperatorRole, Role
from laari.store.people import persons
from laari.store.people.acting import acting, note
from laari.store.people.logins import PersonId, show_whose
from laari.store.people.persons import Enrolled, NewLogin


class Membership(Struct, frozen=True):
    """One place at which a person works, as the person sees it."""

    merchant_id: str | None
    merchant_name: str | None
    role: Role
    till: str | None


class Member(Struct, frozen=True):
    """One person of a merchant or of the operator, as an owner sees them."""

    person_id: PersonId
    email: str
    role: Role
    till: str | None
    created_at: datetime
    last_seen_at: datetime | None
    sessions: int


class MembershipError(LaariError):
    """A change of memberships that cannot be made."""


class OnlyOwnerError(MembershipError):
    """The change would leave a merchant with people and without an owner."""


ONLY_OWNER = "this is the only owner: make another person an owner first"
FIRST_IS_OWNER = "the first person of a merchant has to be an owner"

_MEMBERS = """
SELECT b.person_id, p.email, b.role, b.till, b.created_at, b.last_seen_at,
    (SELECT count(*) FROM sessions s
        WHERE s.person_id = b.person_id AND coalesce(b.merchant_id <> ALL (s.ended_for), true))
FROM memberships b JOIN persons p ON p.id = b.person_id
WHERE b.merchant_id IS NOT DISTINCT FROM $1
"""


async def of_person(connection: Connection, whose: PersonId) -> list[Membership]:
    """All places of one person, the operator first, then the merchants by name."""
    rows = await connection.fetch(
        "SELECT b.merchant_id, m.name, b.role, b.till FROM memberships b "
        "LEFT JOIN merchants m ON m.id = b.merchant_id WHERE b.person_id = $1 "
        "ORDER BY m.name NULLS FIRST, b.merchant_id",
        whose.id,
    )
    return [Membership(*row) for row in rows]


async def role_in_session(
    connection: Connection, session: bytes, merchant_id: str
) -> MerchantRole | None:
    """The present role of the person of a session; None if it, or the membership, has ended."""
    role: MerchantRole | None = await connection.fetchval(
        "SELECT b.role FROM sessions s JOIN memberships b USING (person_id) "
        "WHERE s.digest = $1 AND b.merchant_id = $2 AND $2 <> ALL (s.ended_for)",
        session,
        merchant_id,
    )
    return role


async def list_members(connection: Connection, merchant_id: str | None) -> list[Member]:
    rows = await connection.fetch(f"{_MEMBERS} ORDER BY b.created_at, p.email", merchant_id)
    return [_member(row) for row in rows]


async def find_member(connection: Connection, merchant_id: str | None, email: str) -> Member:
    row = await connection.fetchrow(f"{_MEMBERS} AND p.email = $2", merchant_id, email)
    if row is None:
        raise MembershipError(f"{email} does not log in to {_named(merchant_id)}")
    return _member(row)


def _member(row: asyncpg.Record) -> Member:
    return Member(PersonId(row[0]), *row[1:])


def _named(merchant_id: str | None) -> str:
    return "the operator's desk" if merchant_id is None else merchant_id


@asynccontextmanager
async def changing(
    connection: Connection,
    actor: Actor,
    action: str,
    merchant_id: str | None,
    *,
    only_owners: bool = True,
) -> AsyncIterator[None]:
    """A transaction that holds the merchant.

    A person has to be an owner now: the role may have been lost since the request came.
    """
    async with acting(connection, actor, action):
        if merchant_id is not None:
            lock = "SELECT true FROM merchants WHERE id = $1 FOR NO KEY UPDATE"
            if await connection.fetchval(lock, merchant_id) is None:
                raise LaariError(f"no merchant has the id {merchant_id}")
        if only_owners and actor.kind == "person":
            await _check_is_owner(connection, merchant_id, actor.name)
        yield


async def _check_is_owner(connection: Connection, merchant_id: str | None, email: str) -> None:
    role = await connection.fetchval(
        "SELECT role FROM memberships b JOIN persons p ON p.id = b.person_id "
        "WHERE b.merchant_id = $1 AND p.email = $2",
        merchant_id,
        email,
    )
    if role != "owner":
        raise MembershipError("only an owner can change people")


async def _check_owner(
    connection: Connection, merchant_id: str | None, problem: str = ONLY_OWNER
) -> None:
    missing = await connection.fetchval(
        "SELECT every(role <> 'owner') FROM memberships WHERE merchant_id = $1", merchant_id
    )
    if missing:
        raise OnlyOwnerError(problem)


async def add(
    connection: Connection,
    actor: Actor,
    merchant_id: str | None,
    email: str,
    role: Role,
    till: str | None,
    login: NewLogin,
) -> Enrolled:
    """Adds a person, whose login is used only if they have none or have not proved the address."""
    async with changing(connection, actor, "membership.add", merchant_id):
        enrolled = await persons.enrol(connection, email, login)
        await join(connection, merchant_id, enrolled.id, role, till)
        await _check_owner(connection, merchant_id, FIRST_IS_OWNER)
    return enrolled


async def join(
    connection: Connection,
    merchant_id: str | None,
    whose: PersonId,
    role: Role,
    till: str | None = None,
) -> None:
    """Adds the row of a membership, within the caller's transaction."""
    try:
        await connection.execute(
            "INSERT INTO memberships (person_id, merchant_id, role, till) VALUES ($1, $2, $3, $4)",
            whose.id,
            merchant_id,
            role,
            till,
        )
    except asyncpg.UniqueViolationError:
        raise MembershipError(
            f"this email address already logs in to {_named(merchant_id)}"
        ) from None
    except asyncpg.ForeignKeyViolationError:
        raise MembershipError("this person was removed at this moment") from None


async def set_role(
    connection: Connection,
    actor: Actor,
    merchant_id: str | None,
    whose: PersonId,
    role: MerchantRole | OperatorRole,
    till: str | None = None,
) -> None:
    async with changing(connection, actor, "membership.set_role", merchant_id):
        await _set_role(connection, merchant_id, whose, role, till)
        await _check_owner(connection, merchant_id)
        if role != "owner":
            await _withdraw_invitations(connection, merchant_id, whose)


async def _set_role(
    connection: Connection, merchant_id: str | None, whose: PersonId, role: Role, till: str | None
) -> None:
    changed = await connection.fetchval(
        "UPDATE memberships SET role = $3, till = $4 "
        "WHERE merchant_id IS NOT DISTINCT FROM $1 AND person_id = $2 RETURNING true",
        merchant_id,
        whose.id,
        role,
        till,
    )
    if changed is None:
        raise MembershipError(f"this person does not log in to {_named(merchant_id)}")


async def transfer_ownership(
    connection: Connection, actor: Actor, merchant_id: str, giver: PersonId, receiver: PersonId
) -> None:
    """The receiver becomes an owner and the giver, who is one, a manager: both or neither."""
    async with changing(connection, actor, "membership.transfer", merchant_id):
        role = await connection.fetchval(
            "SELECT role FROM memberships WHERE merchant_id = $1 AND person_id = $2",
            merchant_id,
            giver.id,
        )
        if giver == receiver or role != "owner":
            raise MembershipError("only an owner can transfer ownership, to another person")
        await _set_role(connection, merchant_id, giver, "manager", None)
        await _set_role(connection, merchant_id, receiver, "owner", None)
        await _withdraw_invitations(connection, merchant_id, giver)


async def remove(
    connection: Connection,
    actor: Actor,
    merchant_id: str | None,
    whose: PersonId,
    *,
    may_be_last: bool = False,
) -> int:
    """Ends a person's access; returns the number of ended sessions.

    A person with another membership stays logged in there. `may_be_last` allows to remove the
    only person of a merchant, which then has none.
    """
    async with changing(connection, actor, "membership.remove", merchant_id):
        # Nobody adds a membership of this person until this has committed.
        await connection.execute("SELECT FROM persons WHERE id = $1 FOR UPDATE", whose.id)
        gone = await connection.fetchval(
            "DELETE FROM memberships WHERE merchant_id IS NOT DISTINCT FROM $1 "
            "AND person_id = $2 RETURNING role",
            merchant_id,
            whose.id,
        )
        if gone is None:
            raise MembershipError(f"this person does not log in to {_named(merchant_id)}")
        await _check_owner(connection, merchant_id)
        await _withdraw_invitations(connection, merchant_id, whose)
        if gone == "owner" and not may_be_last and not await _has_people(connection, merchant_id):
            raise OnlyOwnerError(ONLY_OWNER)
        return await persons.remove_without_membership(connection, whose)


async def require_factor(
    connection: Connection, actor: Actor, merchant_id: str, required: bool
) -> None:
    """Sets whether all people of the merchant need a second factor."""
    async with changing(connection, actor, "merchant.require_factor", merchant_id):
        await connection.execute(
            "UPDATE merchants SET requires_factor = $2 WHERE id = $1", merchant_id, required
        )


async def end_sessions(
    connection: Connection, actor: Actor, merchant_id: str, whose: PersonId
) -> int:
    """Ends a person's sessions for this merchant; at others the person stays logged in."""
    async with changing(connection, actor, "sessions.end", merchant_id):
        ended = await connection.fetch(
            "UPDATE sessions SET ended_for = ended_for || $2::text "
            "WHERE person_id = $1 AND $2 <> ALL (ended_for) RETURNING true",
            whose.id,
            merchant_id,
        )
        if ended:
            await note(
                connection,
                actor,
                "sessions.end",
                "sessions",
                show_whose(whose),
                merchant_id=merchant_id,
                after={"ended": len(ended)},
            )
    return len(ended)


async def _withdraw_invitations(
    connection: Connection, merchant_id: str | None, whose: PersonId
) -> None:
    """A person who is no longer an owner must not come back through an invitation to a friend."""
    await connection.execute(
        "DELETE FROM invitations WHERE merchant_id = $1 AND invited_by = $2",
        merchant_id,
        whose.id,
    )


async def _has_people(connection: Connection, merchant_id: str | None) -> bool:
    statement = "SELECT EXISTS (SELECT FROM memberships WHERE merchant_id = $1)"
    return bool(await connection.fetchval(statement, merchant_id))
