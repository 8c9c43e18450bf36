"""Log-ins of customers and of people (of merchants and of the operator)."""

from typing import NamedTuple

import asyncpg
from asyncpg import Connection

from laari.rules.records.people import CustomerId, PersonId, Whose
from laari.rules.records.tenants import Mode


class Login(NamedTuple):
    whose: Whose
    password_hash: str | None
    first_password: bool = False  # it came with the account


class LoginTable(NamedTuple):
    name: str
    object_type: str  # in the journal
    column: str  # of the table `sessions`


_CUSTOMERS = LoginTable("customers", "customer", "customer_id")
_PERSONS = LoginTable("persons", "person", "person_id")


def table_of(whose: Whose) -> LoginTable:
    return _CUSTOMERS if isinstance(whose, CustomerId) else _PERSONS


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
    return None if row is None else _login(CustomerId(row["id"]), row)


async def of_person(connection: Connection, email: str) -> Login | None:
    row = await connection.fetchrow(
        "SELECT id, password_hash, password_first FROM persons WHERE email = $1", email
    )
    return None if row is None else _login(PersonId(row["id"]), row)


def _login(whose: Whose, row: asyncpg.Record) -> Login:
    return Login(whose, row["password_hash"], row["password_first"])


async def password_hash_of(connection: Connection, whose: Whose) -> str | None:
    password_hash: str | None = await connection.fetchval(
        f"SELECT password_hash FROM {table_of(whose).name} WHERE id = $1", whose.id
    )
    return password_hash
