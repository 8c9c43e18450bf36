"""Log-ins of customers and of people (of merchants and of the operator)."""

from typing import NamedTuple

from asyncpg import Connection

from laari.rules.actors import Actor
from laari.rules.people_records import CustomerId, PersonId, Whose, show_whose
from laari.rules.records import Mode
from laari.store.people.acting import acting, note


class Login(NamedTuple):
    whose: Whose
    password_hash: str | None
    first_password: bool = False  # it came with the account


class LoginTable(NamedTuple):
    name: str
    object_type: str  # in the journal
    column: str  # of the table `sessions`
    is_real: str  # whether a real person logs in with it, as SQL


_CUSTOMERS = LoginTable("customers", "customer", "customer_id", "mode = 'live'")
_PERSONS = LoginTable("persons", "person", "person_id", "true")


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
    return None if row is None else Login(CustomerId(row[0]), *row[1:])


async def of_person(connection: Connection, email: str) -> Login | None:
    row = await connection.fetchrow(
        "SELECT id, password_hash, password_first FROM persons WHERE email = $1", email
    )
    return None if row is None else Login(PersonId(row[0]), *row[1:])


async def password_hash_of(connection: Connection, whose: Whose) -> str | None:
    password_hash: str | None = await connection.fetchval(
        f"SELECT password_hash FROM {table_of(whose).name} WHERE id = $1", whose.id
    )
    return password_hash


async def set_password(
    connection: Connection,
    actor: Actor,
    whose: Whose,
    password_hash: str,
    *,
    verified: str | None = None,
    must_change: bool = False,
) -> int | None:
    """Sets a new password and ends all sessions of the old one; returns their number.

    None without such a person, or if `verified` is no longer the hash: of two changes one fails.
    """
    table, object_type, _, is_real = table_of(whose)
    async with acting(connection, actor, f"{object_type}.set_password"):
        # A log-in with the old password locks the row too: its session is ended here or not opened.
        changed = await connection.fetchval(
            f"UPDATE {table} SET password_hash = $2, password_must_change = $4 AND {is_real}, "
            "password_first = false WHERE id = $1 "
            "AND password_hash = coalesce($3, password_hash) RETURNING true",
            whose.id,
            password_hash,
            verified,
            must_change,
        )
        if changed is None:
            return None
        # A link to set the old password again would outlive it.
        await connection.execute(
            f"DELETE FROM password_links WHERE {table_of(whose).column} = $1", whose.id
        )
        return await end_all(connection, whose)


async def end_all(connection: Connection, whose: Whose) -> int:
    ended = await connection.fetch(
        f"DELETE FROM sessions WHERE {table_of(whose).column} = $1 RETURNING true", whose.id
    )
    return len(ended)


async def end_of_other(connection: Connection, actor: Actor, whose: Whose) -> int:
    """As `end_all`, by the operator: so it is in the journal, if a session was open."""
    async with connection.transaction():
        ended = await end_all(connection, whose)
        if ended:
            await note(
                connection,
                actor,
                "sessions.end",
                "sessions",
                show_whose(whose),
                after={"ended": ended},
            )
    return ended
