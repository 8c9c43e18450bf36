"""People who can log in: customers by their id, people of merchants by email."""

from typing import NamedTuple, TypeAlias
from uuid import UUID

from asyncpg import Connection

from laari.rules.records import Mode

Whose: TypeAlias = UUID | str  # a customer's id, or the email of one of a merchant's people


class Login(NamedTuple):
    whose: Whose
    password_hash: str | None
    first_password: bool = False  # it came with the account


class Person(NamedTuple):
    table: str
    key: str
    column: str  # of the table `sessions`
    is_live: str  # whether real people and money are behind it


_CUSTOMER = Person("customers", "id", "customer_id", "mode = 'live'")
_USER = Person(
    "merchant_users",
    "email",
    "email",
    "EXISTS (SELECT FROM merchants m WHERE m.id = merchant_id AND m.mode = 'live')",
)


def person(whose: Whose) -> Person:
    return _CUSTOMER if isinstance(whose, UUID) else _USER


async def of_customer(
    connection: Connection, mode: Mode, *, mobile: str | None, email: str | None, vpa: str | None
) -> Login | None:
    """The customer with this mobile number, email or VPA; a mobile number comes first.

    A merchant's own sandbox customer comes last, and can log in only in a demo.
    """
    row = await connection.fetchrow(
        "SELECT id, password_hash, password_first FROM customers "
        "WHERE mode = $1 AND (sandbox_of IS NULL OR password_hash IS NOT NULL) "
        "AND (mobile = $2 OR email = $3 OR vpa = $4) "
        "ORDER BY sandbox_of NULLS FIRST, mobile = $2 DESC NULLS LAST LIMIT 1",
        mode,
        mobile,
        email,
        vpa,
    )
    return None if row is None else Login(*row)


async def of_user(connection: Connection, email: str) -> Login | None:
    row = await connection.fetchrow(
        "SELECT email, password_hash, password_first FROM merchant_users WHERE email = $1", email
    )
    return None if row is None else Login(*row)


async def password_hash_of(connection: Connection, whose: Whose) -> str | None:
    table, key, *_ = person(whose)
    password_hash: str | None = await connection.fetchval(
        f"SELECT password_hash FROM {table} WHERE {key} = $1", whose
    )
    return password_hash


async def set_password(
    connection: Connection,
    whose: Whose,
    password_hash: str,
    *,
    verified: str | None = None,
    must_change: bool = False,
) -> int | None:
    """Sets a new password and ends all sessions of the old one; returns their number.

    None without such a person, or if `verified` is no longer the hash: of two changes one fails.
    """
    table, key, _, is_live = person(whose)
    async with connection.transaction():
        # A log-in with the old password locks the row too: its session is ended here or not opened.
        changed = await connection.fetchval(
            f"UPDATE {table} SET password_hash = $2, password_must_change = $4 AND {is_live}, "
            f"password_first = false WHERE {key} = $1 "
            "AND password_hash = coalesce($3, password_hash) RETURNING true",
            whose,
            password_hash,
            verified,
            must_change,
        )
        return None if changed is None else await end_all(connection, whose)


async def end_all(connection: Connection, whose: Whose) -> int:
    column = person(whose).column
    ended = await connection.fetch(
        f"DELETE FROM sessions WHERE {column} = $1 RETURNING true", whose
    )
    return len(ended)
