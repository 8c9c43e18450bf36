"""Invitations to a role at a merchant, by a link that works once and for 24 hours."""

from datetime import datetime
from typing import NamedTuple

from asyncpg import Connection
from msgspec import Struct

from laari.rules import terms
from laari.rules.actors import Actor
from laari.rules.messages import InvitationContent
from laari.rules.people.permissions import MerchantRole
from laari.rules.records import Language
from laari.store.people import memberships, notices, persons
from laari.store.people.logins import PersonId
from laari.store.people.memberships import MembershipError
from laari.store.people.notices import Reached
from laari.store.people.persons import EmailTakenError, NewLogin
from laari.store.reads import messages
from laari.store.secrets import derive, new_secret

_LOCK = 0x6C61_6101  # the first half of an advisory lock: "la", and which of its locks


class Offer(NamedTuple):
    email: str
    role: MerchantRole
    till: str | None = None


class Invitation(Struct, frozen=True):
    merchant_id: str
    merchant_name: str
    email: str
    role: MerchantRole
    till: str | None
    created_at: datetime
    expires_at: datetime
    is_known: bool  # the person has to log in: the link must not replace the password


class Invited(NamedTuple):
    link: str
    expires_at: datetime
    is_sent: bool  # by email


_SELECT = """
SELECT i.merchant_id, m.name, i.email, i.role, i.till, i.created_at, i.expires_at,
    p.id IS NOT NULL AND (p.proven OR NOT i.proves)
FROM invitations i JOIN merchants m ON m.id = i.merchant_id LEFT JOIN persons p USING (email)
"""


async def invite(
    connection: Connection,
    actor: Actor,
    master: bytes,
    merchant_id: str,
    offer: Offer,
    now: datetime,
    *,
    page: str,
    by: PersonId | None = None,
    language: Language | None = None,
) -> Invited:
    """Makes an invitation, which replaces an earlier one of the same address.

    `page` is the address of the links without their token. The link is sent by email in this
    `language`, or with None returned alone. A link that its inviter (`by`) sees proves nothing
    about the address: the inviter could open it.
    """
    token = new_secret("")
    invited = Invited(f"{page}/{token}", now + terms.INVITATION_LIFE, language is not None)
    async with memberships.changing(connection, actor, "invitation.create", merchant_id):
        taken = await connection.fetchval(
            "SELECT true FROM memberships b JOIN persons p ON p.id = b.person_id "
            "WHERE b.merchant_id = $1 AND p.email = $2",
            merchant_id,
            offer.email,
        )
        if taken:
            raise MembershipError(f"{offer.email} already logs in to {merchant_id}")
        await connection.execute(
            "DELETE FROM invitations WHERE merchant_id = $1 AND email = $2",
            merchant_id,
            offer.email,
        )
        count = await connection.fetchval(
            "SELECT count(*) FROM invitations WHERE merchant_id = $1 AND expires_at > $2",
            merchant_id,
            now,
        )
        if count >= terms.OPEN_INVITATIONS:
            raise MembershipError(
                f"a merchant has at most {terms.OPEN_INVITATIONS} open invitations"
            )
        await connection.execute(
            "INSERT INTO invitations (digest, merchant_id, email, role, till, invited_by, "
            "created_at, expires_at, proves) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            _of_link(master, token),
            merchant_id,
            *offer,
            None if by is None else by.id,
            now,
            invited.expires_at,
            by is None or invited.is_sent,
        )
        if language is not None:
            await _send(connection, master, merchant_id, offer, invited, now, language)
    return invited


async def _send(
    connection: Connection,
    master: bytes,
    merchant_id: str,
    offer: Offer,
    invited: Invited,
    now: datetime,
    language: Language,
) -> None:
    """Refuses one invitation too many. Merchants that invite the same address wait in turn."""
    await connection.execute("SELECT pg_advisory_xact_lock($1, hashtext($2))", _LOCK, offer.email)
    if await messages.invitations_to(connection, offer.email, now) >= terms.INVITATIONS_A_DAY:
        raise MembershipError(
            f"{offer.email} got {terms.INVITATIONS_A_DAY} invitations in 24 hours: try again later"
        )
    name = await connection.fetchval("SELECT name FROM merchants WHERE id = $1", merchant_id)
    content = InvitationContent(name, offer.role, invited.expires_at, invited.link)
    to = Reached("email", offer.email, language, None, False)
    await notices.write(connection, master, to, "invitation", content, now)


async def list_open(connection: Connection, merchant_id: str, now: datetime) -> list[Invitation]:
    rows = await connection.fetch(
        f"{_SELECT} WHERE i.merchant_id = $1 AND i.expires_at > $2 ORDER BY i.created_at, i.email",
        merchant_id,
        now,
    )
    return [Invitation(*row) for row in rows]


async def find(
    connection: Connection, master: bytes, token: str, now: datetime
) -> Invitation | None:
    """None for a link that was used, has expired, was withdrawn or never existed."""
    row = await connection.fetchrow(
        f"{_SELECT} WHERE i.digest = $1 AND i.expires_at > $2", _of_link(master, token), now
    )
    return None if row is None else Invitation(*row)


async def withdraw(connection: Connection, actor: Actor, merchant_id: str, email: str) -> bool:
    """False if there is none."""
    async with memberships.changing(connection, actor, "invitation.withdraw", merchant_id):
        gone = await connection.fetchval(
            "DELETE FROM invitations WHERE merchant_id = $1 AND email = $2 RETURNING true",
            merchant_id,
            email,
        )
    return gone is not None


async def accept(
    connection: Connection,
    actor: Actor,
    master: bytes,
    token: str,
    now: datetime,
    *,
    person: PersonId | None = None,
    password_hash: str | None = None,
) -> tuple[Invitation, PersonId] | None:
    """Gives the role to the person who is logged in, or to a new one with this password.

    None if the link is not valid, or not for this person. Of two uses at once one succeeds.
    """
    found = await find(connection, master, token, now)
    if found is None:
        return None
    async with memberships.changing(
        connection, actor, "invitation.accept", found.merchant_id, only_owners=False
    ):
        proves = await connection.fetchval(
            "DELETE FROM invitations WHERE digest = $1 AND expires_at > $2 RETURNING proves",
            _of_link(master, token),
            now,
        )
        if proves is None:
            return None
        if password_hash is not None:
            person = await _enrol(connection, found.email, NewLogin(password_hash, proven=proves))
        elif person is None or await persons.find(connection, found.email) != person:
            raise MembershipError("this invitation is for another person")
        elif proves:
            await connection.execute("UPDATE persons SET proven = true WHERE id = $1", person.id)
        await memberships.join(connection, found.merchant_id, person, found.role, found.till)
    return found, person


def _of_link(master: bytes, token: str) -> bytes:
    return derive(master, "invitation", token)


async def _enrol(connection: Connection, email: str, login: NewLogin) -> PersonId:
    """A new person, or one who has not proved the address, if this link proves it."""
    try:
        enrolled = await persons.enrol(connection, email, login)
    except EmailTakenError:
        enrolled = None
    if enrolled is None or not enrolled.has_new_password:
        raise MembershipError("this person has a password: log in first")
    return enrolled.id
