"""Sessions of the pages; the database has only the digest of a token.

A session from a checkout or approval page is valid for that page only.
"""

from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias
from uuid import UUID

from asyncpg import Connection

from laari.rules.actors import Payer
from laari.rules.records import Contact, Language, Mode
from laari.store.people.logins import Whose, person
from laari.store.secrets import digest, new_secret

IDLE = timedelta(minutes=30)
LIFE = timedelta(hours=12)
SEEN_EVERY = timedelta(minutes=1)  # how exactly `seen_at` is kept: not one write per request

_OPEN = "s.seen_at > $2 AND s.created_at > $3"


class CustomerSession(NamedTuple):
    digest: bytes
    authenticated_at: datetime
    seen_at: datetime
    customer_id: UUID
    name: str
    mode: Mode
    account: int
    must_change: bool  # the password, before anything else
    email: str | None
    language: Language

    @property
    def whose(self) -> UUID:
        return self.customer_id

    @property
    def contact(self) -> Contact:
        """For messages that go by email only."""
        return Contact(self.account, self.customer_id, self.email, None, self.language)

    @property
    def payer(self) -> Payer:
        return Payer(self.account, self.mode)


class UserSession(NamedTuple):
    digest: bytes
    authenticated_at: datetime
    seen_at: datetime
    email: str
    merchant_id: str
    merchant_name: str
    must_change: bool

    @property
    def whose(self) -> str:
        return self.email


Session: TypeAlias = CustomerSession | UserSession


async def of_customer(
    connection: Connection, token: str, now: datetime, page: str | None = None
) -> CustomerSession | None:
    """The session with this token, if it is valid everywhere or for this page."""
    row = await connection.fetchrow(
        "SELECT s.digest, s.authenticated_at, s.seen_at, c.id, c.name, c.mode, w.account, "
        "c.password_must_change, c.email, c.language "
        "FROM sessions s JOIN customers c ON c.id = s.customer_id "
        "JOIN wallets w ON w.customer_id = c.id "
        f"WHERE s.digest = $1 AND {_OPEN} AND (s.page IS NULL OR s.page = $4)",
        digest(token),
        now - IDLE,
        now - LIFE,
        page,
    )
    return None if row is None else CustomerSession(*row)


async def of_user(connection: Connection, token: str, now: datetime) -> UserSession | None:
    row = await connection.fetchrow(
        "SELECT s.digest, s.authenticated_at, s.seen_at, u.email, m.id, m.name, "
        "u.password_must_change FROM sessions s JOIN merchant_users u ON u.email = s.email "
        f"JOIN merchants m ON m.id = u.merchant_id WHERE s.digest = $1 AND {_OPEN}",
        digest(token),
        now - IDLE,
        now - LIFE,
    )
    return None if row is None else UserSession(*row)


async def open_for(
    connection: Connection, whose: Whose, now: datetime, verified: str, page: str | None = None
) -> str | None:
    """Opens a session after the password fitted the hash `verified`; returns its token.

    None if the password was changed while it was verified.
    """
    token = new_secret("")
    table, key, column, _ = person(whose)
    opened = await connection.fetchval(
        # The lock makes a change of the password wait for this, or this for the change.
        f"WITH person AS (SELECT {key} FROM {table} WHERE {key} = $2 AND password_hash = $4 "
        "FOR SHARE) "
        f"INSERT INTO sessions (digest, {column}, created_at, authenticated_at, seen_at, page) "
        f"SELECT $1, {key}, $3, $3, $3, $5 FROM person RETURNING true",
        digest(token),
        whose,
        now,
        verified,
        page,
    )
    return token if opened else None


async def note_seen(connection: Connection, session: Session, now: datetime) -> None:
    await connection.execute(
        "UPDATE sessions SET seen_at = greatest(seen_at, $2) WHERE digest = $1", session.digest, now
    )


async def note_authenticated(
    connection: Connection, session: Session, now: datetime, verified: str
) -> bool:
    """Notes that the password was given again; False if it was changed meanwhile."""
    table, key, column, _ = person(session.whose)
    noted = await connection.fetchval(
        f"WITH person AS (SELECT {key} FROM {table} WHERE {key} = $3 AND password_hash = $4 "
        "FOR SHARE) "
        f"UPDATE sessions s SET authenticated_at = $2, seen_at = $2 FROM person p "
        f"WHERE s.digest = $1 AND s.{column} = p.{key} RETURNING true",
        session.digest,
        now,
        session.whose,
        verified,
    )
    return noted is not None


async def end(connection: Connection, token: str) -> None:
    await connection.execute("DELETE FROM sessions WHERE digest = $1", digest(token))
