"""The operator's actions on log-ins. A password set by an operator must be changed."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import asyncpg
from asyncpg import Connection

from laari.errors import LaariError
from laari.rules.records import Mode
from laari.store.people.logins import end_all, set_password


class User(NamedTuple):
    merchant_id: str
    email: str
    created_at: datetime
    sessions: int


class EmailTakenError(LaariError):
    """Somebody already logs in with this email address."""


async def add_user(
    connection: Connection,
    merchant_id: str,
    email: str,
    password_hash: str,
    must_change: bool = True,
    first_password: bool = False,
) -> None:
    """A sandbox has no real people: they need not change their password."""
    try:
        await connection.execute(
            "INSERT INTO merchant_users (email, merchant_id, password_hash, password_must_change, "
            "password_first) SELECT $1, $2, $3, $4 AND is_live, $5 AND is_live FROM (SELECT "
            "coalesce((SELECT mode = 'live' FROM merchants WHERE id = $2), true)) m (is_live)",
            *(email, merchant_id, password_hash, must_change, first_password),
        )
    except asyncpg.UniqueViolationError:
        raise EmailTakenError("this email address already logs in to a merchant") from None
    except asyncpg.ForeignKeyViolationError:
        raise LaariError(f"no merchant has the id {merchant_id}") from None


async def users_of(connection: Connection, merchant_id: str) -> list[User]:
    rows = await connection.fetch(
        "SELECT merchant_id, email, created_at, "
        "(SELECT count(*) FROM sessions s WHERE s.email = u.email) "
        "FROM merchant_users u WHERE merchant_id = $1 ORDER BY created_at, email",
        merchant_id,
    )
    return [User(*row) for row in rows]


async def remove_user(connection: Connection, merchant_id: str, email: str) -> int:
    async with connection.transaction():
        await _lock_user(connection, merchant_id, email)
        ended = await end_all(connection, email)
        await connection.execute("DELETE FROM merchant_users WHERE email = $1", email)
    return ended


async def reset_user(
    connection: Connection, merchant_id: str, email: str, password_hash: str
) -> int:
    async with connection.transaction():
        await _lock_user(connection, merchant_id, email)
        return await set_password(connection, email, password_hash, must_change=True) or 0


async def _lock_user(connection: Connection, merchant_id: str, email: str) -> None:
    found = await connection.fetchval(
        "SELECT true FROM merchant_users WHERE email = $1 AND merchant_id = $2 FOR UPDATE",
        email,
        merchant_id,
    )
    if found is None:
        raise LaariError(f"{email} does not log in to {merchant_id}")


async def mode_of_customer(connection: Connection, customer_id: UUID) -> Mode | None:
    """Of a customer who can have a log-in: a merchant's own sandbox customer has none."""
    mode: Mode | None = await connection.fetchval(
        "SELECT mode FROM customers WHERE id = $1 AND sandbox_of IS NULL", customer_id
    )
    return mode


async def is_user(connection: Connection, email: str) -> bool:
    found = await connection.fetchval("SELECT true FROM merchant_users WHERE email = $1", email)
    return found is not None
