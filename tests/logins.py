"""Log-ins of customers and people, by the names that tests have for them."""

from datetime import UTC, datetime
from uuid import UUID

from asyncpg import Connection

from laari.rules.actors import Actor
from laari.rules.people.log_ins import ResetPassword, SetPassword
from laari.rules.people.password_links import HandOverPasswordLink, UsePasswordLink
from laari.rules.records.people import CustomerId, Whose
from laari.store.counters import sessions
from laari.store.counters.sessions import Opened, Proof
from laari.store.reads.people import logins, password_links, persons
from tests.actors import MASTER, OPERATOR
from tests.people import RefusedError, decided


async def whose(connection: Connection, who: UUID | str) -> Whose:
    """The customer with this id, or the person with this email."""
    if isinstance(who, UUID):
        return CustomerId(who)
    person = await persons.find(connection, who)
    assert person is not None
    return person


async def opened(
    connection: Connection,
    who: UUID | str,
    now: datetime | None = None,
    page: str | None = None,
    master: bytes = MASTER,
) -> str:
    """The token of a session of somebody who has just given their password."""
    found = await whose(connection, who)
    verified = await logins.password_hash_of(connection, found)
    assert verified is not None
    token = await sessions.open_for(
        connection,
        master,
        found,
        now or datetime.now(UTC),
        Proof(verified),
        opened=Opened(page=page),
    )
    assert token is not None
    return token


async def set_password(
    connection: Connection,
    actor: Actor,
    who: Whose,
    password_hash: str,
    verified: str | None = None,
) -> int:
    """A change by the person, who has just given the present password."""
    verified = verified or await logins.password_hash_of(connection, who)
    return await decided(connection, SetPassword(actor, who, password_hash, verified))


async def reset_password(
    connection: Connection, actor: Actor, who: Whose, password_hash: str
) -> int:
    return await decided(connection, ResetPassword(actor, who, password_hash))


async def password_link(
    connection: Connection, who: Whose, now: datetime, master: bytes = MASTER
) -> str:
    """The token of a link that the operator forwards."""
    command = HandOverPasswordLink(OPERATOR, who, "shown")
    made = await decided(connection, command, now, master)
    assert made.link is not None
    return made.link.rpartition("/")[2]


async def use_link(
    connection: Connection,
    token: str,
    password_hash: str,
    now: datetime,
    address: str | None = None,
) -> bool:
    """Whether the link has set the password."""
    digest = password_links.of_link(MASTER, token)
    command = UsePasswordLink(digest, password_hash, address)
    try:
        await decided(connection, command, now)
    except RefusedError:
        return False
    return True
