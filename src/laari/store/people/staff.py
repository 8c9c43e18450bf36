"""What the operator does to people's log-ins: gives them, takes them away, stops a stolen one.

A password that an operator set is changed by its owner at the first log-in.
"""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import asyncpg
from asyncpg import Connection

from laari.errors import LaariError
from laari.rules.records import Mode
from laari.store.people.logins import set_password
from laari.store.people.sessions import end_all


class User(NamedTuple):
    """One of a merchant's people, and how many browsers they are logged in with."""

    merchant_id: str
    email: str
    created_at: datetime
    sessions: int


async def add_user(
    connection: Connection, merchant_id: str, email: str, password_hash: str
) -> None:
    try:
        await connection.execute(
            "INSERT INTO merchant_users (email, merchant_id, password_hash, password_must_change) "
            "VALUES ($1, $2, $3, "
            "coalesce((SELECT mode = 'live' FROM merchants WHERE id = $2), true))",
            email,
            merchant_id,
            password_hash,
        )
    except asyncpg.UniqueViolationError:
        raise LaariError("this email address already logs in to a merchant") from None
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
    """Takes the log-in away; returns how many sessions ended with it."""
    async with connection.transaction():
        await _lock_user(connection, merchant_id, email)
        ended = await end_all(connection, email)
        await connection.execute("DELETE FROM merchant_users WHERE email = $1", email)
    return ended


async def reset_user(
    connection: Connection, merchant_id: str, email: str, password_hash: str
) -> int:
    """Gives a new password and ends every session; returns how many those were."""
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
