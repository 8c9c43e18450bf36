"""Who is logged in on the pages.

A session ends after a time without requests, and in any case after some hours. Its token is found
by digest; the token itself is only in the browser. A session that was opened on a checkout or
approval page is good for that page alone.
"""

from datetime import datetime, timedelta
from typing import NamedTuple, Protocol
from uuid import UUID

from asyncpg import Connection

from laari.rules.actors import Payer
from laari.rules.records import Mode
from laari.store.people.logins import Whose, person
from laari.store.secrets import digest, new_secret

IDLE = timedelta(minutes=30)
LIFE = timedelta(hours=12)
SEEN_EVERY = timedelta(minutes=1)  # how exactly `seen_at` is kept: not one write per request

_OPEN = "s.seen_at > $2 AND s.created_at > $3"


class Session(Protocol):
    """What both kinds of session have."""

    @property
    def digest(self) -> bytes: ...
    @property
    def authenticated_at(self) -> datetime: ...
    @property
    def seen_at(self) -> datetime: ...
    @property
    def whose(self) -> Whose: ...
    @property
    def must_change(self) -> bool: ...


class CustomerSession(NamedTuple):
    """A customer who is logged in, with the wallet that pays."""

    digest: bytes
    authenticated_at: datetime
    seen_at: datetime
    customer_id: UUID
    name: str
    mode: Mode
    account: int
    must_change: bool  # the password, before anything else

    @property
    def whose(self) -> UUID:
        return self.customer_id

    @property
    def payer(self) -> Payer:
        return Payer(self.account, self.mode)


class UserSession(NamedTuple):
    """One of a merchant's people who is logged in to the dashboard."""

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


async def of_customer(
    connection: Connection, token: str, now: datetime, page: str | None = None
) -> CustomerSession | None:
    """The customer whose session this is, if it is good everywhere or for this very page."""
    row = await connection.fetchrow(
        "SELECT s.digest, s.authenticated_at, s.seen_at, c.id, c.name, c.mode, w.account, "
        "c.password_must_change FROM sessions s JOIN customers c ON c.id = s.customer_id "
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
    connection: Connection,
    whose: Whose,
    now: datetime,
    verified: str,
    page: str | None = None,
) -> str | None:
    """A new session of somebody whose password fitted the hash `verified`; returns its token.

    None where that is no longer the hash of their password: it takes a while to verify one, and a
    password that was changed meanwhile opens nothing.
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
        "UPDATE sessions SET seen_at = greatest(seen_at, $2) WHERE digest = $1",
        session.digest,
        now,
    )


async def note_authenticated(
    connection: Connection, session: Session, now: datetime, verified: str
) -> bool:
    """The password was given once more; False where it has been changed since it was verified."""
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


async def end_all(connection: Connection, whose: Whose) -> int:
    """Every session of one person; returns how many there were."""
    column = person(whose).column
    ended: int = await connection.fetchval(
        f"WITH ended AS (DELETE FROM sessions WHERE {column} = $1 RETURNING 1) "
        "SELECT count(*) FROM ended",
        whose,
    )
    return ended
