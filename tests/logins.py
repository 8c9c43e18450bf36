"""Log-ins of customers and people, by the names that tests have for them."""

from datetime import UTC, datetime
from uuid import UUID

from asyncpg import Connection

from laari.rules.people_records import CustomerId, Whose
from laari.store.people import logins, password_links, sessions
from laari.store.reads.people import persons
from tests.actors import MASTER, OPERATOR


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
        connection, master, found, now or datetime.now(UTC), verified, page
    )
    assert token is not None
    return token


async def password_link(
    connection: Connection, who: Whose, now: datetime, master: bytes = MASTER
) -> str:
    """The token of a link that the operator forwards."""
    made = await password_links.hand_over(connection, OPERATOR, master, who, now, frozenset(), "")
    assert made.link is not None
    return made.link.rpartition("/")[2]
