"""Who is logged in on the pages, and the log-ins themselves.

A session ends after a time without requests, and in any case after some hours. Its token is found
by digest; the token itself is only in the browser.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple, Protocol
from uuid import UUID

import asyncpg

from laari.rules.records import Mode
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


class CustomerSession(NamedTuple):
    """A customer who is logged in, with the wallet that pays."""

    digest: bytes
    authenticated_at: datetime
    seen_at: datetime
    customer_id: UUID
    name: str
    mode: Mode
    account: int


class UserSession(NamedTuple):
    """One of a merchant's people who is logged in to the dashboard."""

    digest: bytes
    authenticated_at: datetime
    seen_at: datetime
    email: str
    merchant_id: str
    merchant_name: str


async def of_customer(
    connection: asyncpg.Connection, token: str, now: datetime
) -> CustomerSession | None:
    row = await connection.fetchrow(
        "SELECT s.digest, s.authenticated_at, s.seen_at, c.id, c.name, c.mode, w.account "
        "FROM sessions s JOIN customers c ON c.id = s.customer_id "
        f"JOIN wallets w ON w.customer_id = c.id WHERE s.digest = $1 AND {_OPEN}",
        digest(token),
        now - IDLE,
        now - LIFE,
    )
    return None if row is None else CustomerSession(*row)


async def of_user(connection: asyncpg.Connection, token: str, now: datetime) -> UserSession | None:
    row = await connection.fetchrow(
        "SELECT s.digest, s.authenticated_at, s.seen_at, u.email, m.id, m.name "
        "FROM sessions s JOIN merchant_users u ON u.email = s.email "
        f"JOIN merchants m ON m.id = u.merchant_id WHERE s.digest = $1 AND {_OPEN}",
        digest(token),
        now - IDLE,
        now - LIFE,
    )
    return None if row is None else UserSession(*row)


async def open_for(connection: asyncpg.Connection, whose: UUID | str, now: datetime) -> str:
    """A new session of a customer (by id) or a merchant's person (by email); answers its token."""
    token = new_secret("")
    column = "customer_id" if isinstance(whose, UUID) else "email"
    await connection.execute(
        f"INSERT INTO sessions (digest, {column}, created_at, authenticated_at, seen_at) "
        "VALUES ($1, $2, $3, $3, $3)",
        digest(token),
        whose,
        now,
    )
    return token


async def note_seen(connection: asyncpg.Connection, session: Session, now: datetime) -> None:
    await connection.execute(
        "UPDATE sessions SET seen_at = greatest(seen_at, $2) WHERE digest = $1",
        session.digest,
        now,
    )


async def note_authenticated(
    connection: asyncpg.Connection, session: Session, now: datetime
) -> None:
    """The password was given once more."""
    await connection.execute(
        "UPDATE sessions SET authenticated_at = $2, seen_at = $2 WHERE digest = $1",
        session.digest,
        now,
    )


async def end(connection: asyncpg.Connection, token: str) -> None:
    await connection.execute("DELETE FROM sessions WHERE digest = $1", digest(token))


async def end_others(connection: asyncpg.Connection, session: Session) -> None:
    """Every other session of the same person: after a change of password."""
    await connection.execute(
        "DELETE FROM sessions o USING sessions s WHERE s.digest = $1 AND o.digest <> s.digest "
        "AND (o.customer_id = s.customer_id OR o.email = s.email)",
        session.digest,
    )


async def forget_ended(connection: asyncpg.Connection, now: datetime) -> None:
    """Removes the sessions that nobody can use any more: those past their life are not seen."""
    await connection.execute("DELETE FROM sessions WHERE seen_at < $1", now - IDLE)


class Login(NamedTuple):
    """Somebody who could log in: a customer's id or a person's email, and the password's hash."""

    whose: UUID | str
    password_hash: str | None


async def customer_login(
    connection: asyncpg.Connection,
    mode: Mode,
    *,
    mobile: str | None,
    email: str | None,
    vpa: str | None,
) -> Login | None:
    """The customer with this mobile number, email or VPA; a number is first of all a mobile's.

    A merchant's own sandbox customer cannot log in: the page lets anyone act as it.
    """
    row = await connection.fetchrow(
        "SELECT id, password_hash FROM customers WHERE mode = $1 AND sandbox_of IS NULL "
        "AND (mobile = $2 OR email = $3 OR vpa = $4) ORDER BY mobile = $2 DESC NULLS LAST LIMIT 1",
        mode,
        mobile,
        email,
        vpa,
    )
    return None if row is None else Login(*row)


async def user_login(connection: asyncpg.Connection, email: str) -> Login | None:
    row = await connection.fetchrow(
        "SELECT email, password_hash FROM merchant_users WHERE email = $1", email
    )
    return None if row is None else Login(*row)


async def password_hash_of(connection: asyncpg.Connection, session: Session) -> str | None:
    """The hash of the password of whoever this session belongs to."""
    password_hash: str | None = await connection.fetchval(
        "SELECT coalesce(c.password_hash, u.password_hash) FROM sessions s "
        "LEFT JOIN customers c ON c.id = s.customer_id "
        "LEFT JOIN merchant_users u ON u.email = s.email WHERE s.digest = $1",
        session.digest,
    )
    return password_hash
