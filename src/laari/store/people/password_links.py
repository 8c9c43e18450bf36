"""Links and codes that set a forgotten password: one at a time for each customer and person.

A link is its own secret. A code has eight digits, so it counts only together with the secret of the
request that asked for it, and only a few times.
"""

import hmac
import secrets
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from asyncpg import Connection

from laari.rules import terms
from laari.rules.actors import Actor
from laari.rules.messages import CodeContent, LinkContent
from laari.rules.people_records import CustomerId, PersonId, Whose, show_whose
from laari.store.people import logins, notices, persons
from laari.store.people.acting import acting, note
from laari.store.people.logins import table_of
from laari.store.secrets import bind, derive, is_bound, new_secret


class HandedOver(NamedTuple):
    """A link that an operator asked for: sent to this address, or to be forwarded."""

    sent_to: str | None
    link: str | None
    expires_at: datetime


_ISSUE = """
INSERT INTO password_links (digest, binding, {column}, code_digest, expires_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT ({column}) DO UPDATE SET digest = excluded.digest, binding = excluded.binding,
    code_digest = excluded.code_digest, attempts = 0, expires_at = excluded.expires_at
"""


def link_to(origin: str, whose: Whose, token: str) -> str:
    area = "app" if isinstance(whose, CustomerId) else "dashboard"
    return f"{origin}/{area}/forgotten/{token}"


async def _issue_link(connection: Connection, master: bytes, whose: Whose, now: datetime) -> str:
    """A new link's token; the link or code before it no longer works."""
    token = new_secret("")
    await _issue(connection, master, whose, _of_link(master, token), None, now)
    return token


async def send(
    connection: Connection,
    master: bytes,
    whose: Whose,
    handle: str,
    now: datetime,
    channels: frozenset[str],
    origin: str,
) -> None:
    """Sends a link by email, or a code by SMS, if the service can reach the person.

    `handle` is the secret of the request, which the code needs. Requests of strangers have no entry
    in the journal: their messages have a log.
    """
    async with connection.transaction():
        to = await notices.reached(connection, whose, channels)
        if to is None:
            return
        if to.channel == "email":
            link = link_to(origin, whose, await _issue_link(connection, master, whose, now))
            content = LinkContent(link, now + terms.PASSWORD_LINK_LIFE)
            await notices.write(connection, master, to, "password_link", content, now)
            return
        code = f"{secrets.randbelow(10**terms.PASSWORD_CODE_DIGITS):0{terms.PASSWORD_CODE_DIGITS}}"
        held = _code_digest(master, handle, code)
        await _issue(connection, master, whose, _of_request(master, handle), held, now)
        digits = CodeContent(code, now + terms.PASSWORD_LINK_LIFE)
        await notices.write(connection, master, to, "password_code", digits, now)


async def hand_over(
    connection: Connection,
    actor: Actor,
    master: bytes,
    whose: Whose,
    now: datetime,
    channels: frozenset[str],
    origin: str,
) -> HandedOver:
    """A link for somebody who asked the operator: sent by a message, or else shown to be forwarded.

    If it is sent, nobody at the operator sees it.
    """
    async with connection.transaction():
        link = link_to(origin, whose, await _issue_link(connection, master, whose, now))
        to = await notices.reached(connection, whose, channels)
        if to is not None:
            content = LinkContent(link, now + terms.PASSWORD_LINK_LIFE)
            await notices.write(connection, master, to, "password_link", content, now)
        sent_to = None if to is None else to.recipient
        after: dict[str, object] = {
            "sent_to": sent_to,
            "expires_at": now + terms.PASSWORD_LINK_LIFE,
        }
        await _note(connection, actor, "issue", whose, after)
    return HandedOver(sent_to, link if to is None else None, now + terms.PASSWORD_LINK_LIFE)


async def _issue(
    connection: Connection,
    master: bytes,
    whose: Whose,
    held: bytes,
    code_digest: bytes | None,
    now: datetime,
) -> None:
    statement = _ISSUE.format(column=table_of(whose).column)
    binding = bind(master, held, show_whose(whose))
    await connection.execute(
        statement, held, binding, whose.id, code_digest, now + terms.PASSWORD_LINK_LIFE
    )


async def exchange_code(
    connection: Connection, master: bytes, handle: str, code: str, now: datetime
) -> str | None:
    """The token of a link in exchange for the right code, once. None for any other."""
    async with connection.transaction():
        held = _of_request(master, handle)
        row = await connection.fetchrow(
            "SELECT customer_id, person_id, binding, code_digest, attempts FROM password_links "
            "WHERE digest = $1 AND code_digest IS NOT NULL AND expires_at > $2 FOR UPDATE",
            held,
            now,
        )
        if row is None or row["attempts"] >= terms.PASSWORD_CODE_ATTEMPTS:
            return None
        whose = _whose(master, held, *row[:3])
        if whose is None:
            return None
        if not hmac.compare_digest(row["code_digest"], _code_digest(master, handle, code)):
            await connection.execute(
                "UPDATE password_links SET attempts = attempts + 1 WHERE digest = $1", held
            )
            return None
        token = new_secret("")
        link = _of_link(master, token)
        await connection.execute(
            "UPDATE password_links SET digest = $2, binding = $3, code_digest = NULL "
            "WHERE digest = $1",
            held,
            link,
            bind(master, link, show_whose(whose)),
        )
        return token


async def find(connection: Connection, master: bytes, token: str, now: datetime) -> Whose | None:
    """Whose password the link sets; None if it is unknown, used or expired."""
    held = _of_link(master, token)
    row = await connection.fetchrow(
        "SELECT customer_id, person_id, binding FROM password_links "
        "WHERE digest = $1 AND code_digest IS NULL AND expires_at > $2",
        held,
        now,
    )
    return None if row is None else _whose(master, held, *row)


async def use(
    connection: Connection,
    master: bytes,
    token: str,
    password_hash: str,
    now: datetime,
    address: str | None = None,
) -> bool:
    """Sets the password and ends all sessions, once. False if the link no longer works.

    The second factor stays, unless nobody had proved the address before. So does its wait after
    wrong codes: otherwise each link would give somebody who reads the person's emails a guess.
    """
    async with connection.transaction():
        held = _of_link(master, token)
        row = await connection.fetchrow(
            "DELETE FROM password_links WHERE digest = $1 AND code_digest IS NULL "
            "AND expires_at > $2 RETURNING customer_id, person_id, binding",
            held,
            now,
        )
        whose = None if row is None else _whose(master, held, *row)
        if whose is None:
            return False
        actor = await _actor(connection, whose, address)
        await _note(connection, actor, "use", whose, {"used_at": now})
        await logins.set_password(connection, actor, whose, password_hash)
        if isinstance(whose, PersonId):
            # The link came to the address, or an operator has forwarded it.
            async with acting(connection, actor, "person.prove_address"):
                await persons.prove(connection, whose)
        return True


async def _note(
    connection: Connection, actor: Actor, verb: str, whose: Whose, after: dict[str, object]
) -> None:
    shown, action = show_whose(whose), f"password_link.{verb}"
    await note(connection, actor, action, "password_link", shown, after=after)


async def _actor(connection: Connection, whose: Whose, address: str | None) -> Actor:
    """The person who has the link, as far as the service knows."""
    if isinstance(whose, CustomerId):
        return Actor("customer", show_whose(whose), address=address)
    email = await connection.fetchval("SELECT email FROM persons WHERE id = $1", whose.id)
    return Actor("person", email, address=address)


def _whose(
    master: bytes, held: bytes, customer_id: UUID | None, person_id: UUID | None, binding: bytes
) -> Whose | None:
    """None if somebody gave the row to another person in the database."""
    whose: Whose
    if customer_id is not None:
        whose = CustomerId(customer_id)
    else:
        assert person_id is not None
        whose = PersonId(person_id)
    return whose if is_bound(master, binding, held, show_whose(whose)) else None


def _of_link(master: bytes, token: str) -> bytes:
    return derive(master, "password-link", token)


def _of_request(master: bytes, handle: str) -> bytes:
    """Not that of a link: without its code, a request is good for nothing."""
    return derive(master, "password-request", handle)


def _code_digest(master: bytes, handle: str, code: str) -> bytes:
    return derive(master, "password-code", f"{handle} {code}")
