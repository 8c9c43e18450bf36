"""Changes of a customer's mobile number or email address: requested, confirmed, then in effect.

The new contact proves itself by a code. The present contacts get a notice with a link that stops
the change before its moment.
"""

import hmac
import os
import secrets
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import UUID

import asyncpg
from asyncpg import Connection
from msgspec import Struct

from laari.errors import LaariError
from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.messages import ContactChangeContent, ContactCodeContent
from laari.rules.people.contacts import COUNTRY
from laari.rules.records import Channel, Language
from laari.store.people import logins, notices
from laari.store.people.acting import acting
from laari.store.people.customers import TAKEN
from laari.store.people.logins import CustomerId
from laari.store.people.notices import Reached
from laari.store.secrets import derive, digest, new_secret

Contact = Literal["mobile", "email"]

CODE_LIFE = timedelta(minutes=30)
CODE_DIGITS = 6
MOST_ATTEMPTS = 3  # wrong codes
NAMES: dict[Contact, str] = {"mobile": "mobile number", "email": "email address"}
CHANNELS: dict[Contact, Channel] = {"mobile": "sms", "email": "email"}

_SERVICE = Actor("service", "contact changes")


class ContactChange(Struct, frozen=True):
    id: UUID
    customer_id: UUID
    contact: Contact
    old_value: str | None
    new_value: str
    reason: str
    requested_at: datetime
    requested_by: str
    has_code: bool  # it was sent to the new contact
    status: str
    effective_at: datetime | None
    ended_at: datetime | None
    ended_by: str | None
    end_reason: str | None


class ContactError(LaariError):
    """A change of a contact that cannot be made."""


_COLUMNS = (
    "id, customer_id, contact, old_value, new_value, reason, requested_at, requested_by, "
    "code_digest IS NOT NULL, status, effective_at, ended_at, ended_by, end_reason"
)


class _Customer(Struct, frozen=True):
    mode: str
    mobile: str | None
    email: str | None
    language: Language


async def of_customer(connection: Connection, customer_id: UUID, most: int) -> list[ContactChange]:
    """The newest first."""
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM contact_changes WHERE customer_id = $1 ORDER BY id DESC LIMIT $2",
        *(customer_id, most),
    )
    return [ContactChange(*row) for row in rows]


async def request(
    connection: Connection,
    actor: Actor,
    master: bytes,
    customer_id: UUID,
    contact: Contact,
    value: str,
    reason: str,
    channels: frozenset[str],
) -> ContactChange:
    """Begins a change, and sends a code to the new contact if the service can reach it.

    It replaces a change whose code expired.
    """
    now = datetime.now(UTC)
    change_id = ids.new_id(now, os.urandom)
    async with acting(connection, actor, "contact_change.request", reason):
        customer = await _locked(connection, customer_id)
        old = customer.mobile if contact == "mobile" else customer.email
        if value == old:
            raise ContactError(f"the customer has this {NAMES[contact]} already")
        if await _is_taken(connection, customer, contact, value):
            raise ContactError(TAKEN[f"customers_{contact}"])
        await _end_expired(connection, actor, customer_id, contact, now)
        code = None
        if customer.mode == "live" and CHANNELS[contact] in channels:
            code = f"{secrets.randbelow(10**CODE_DIGITS):0{CODE_DIGITS}}"
        expires_at = None if code is None else now + CODE_LIFE
        try:
            row = await connection.fetchrow(
                "INSERT INTO contact_changes (id, customer_id, contact, old_value, new_value, "
                "reason, requested_at, requested_by, code_digest, code_expires_at) "
                f"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING {_COLUMNS}",
                *(change_id, customer_id, contact, old, value, reason, now, actor.name),
                *(None if code is None else _code_digest(master, change_id, code), expires_at),
            )
        except asyncpg.UniqueViolationError as error:
            raise ContactError(
                f"a change of this {NAMES[contact]} is open: cancel it first"
            ) from error
        change = ContactChange(*row)
        if code is not None and expires_at is not None:
            to = _address(customer, customer_id, contact, value)
            content = ContactCodeContent(code, expires_at)
            await notices.write(connection, to, "contact_code", content, now)
    return change


async def _end_expired(
    connection: Connection, actor: Actor, customer_id: UUID, contact: Contact, now: datetime
) -> None:
    async with acting(connection, actor, "contact_change.expire"):
        await connection.execute(
            "UPDATE contact_changes SET status = 'cancelled', ended_at = $3, ended_by = $4, "
            "end_reason = 'the code expired' WHERE customer_id = $1 AND contact = $2 "
            "AND status = 'waiting' AND code_expires_at <= $3",
            *(customer_id, contact, now, actor.name),
        )


async def confirm(
    connection: Connection,
    actor: Actor,
    master: bytes,
    change_id: UUID,
    *,
    code: str | None,
    reason: str | None,
    delay: timedelta,
    channels: frozenset[str],
    origin: str,
) -> ContactChange | None:
    """Confirms a change by its code, or by a reason if no code could be sent.

    None for a wrong code: its attempt counts, so the caller's transaction has to be committed.
    """
    now = datetime.now(UTC)
    async with acting(connection, actor, "contact_change.confirm", reason):
        # The customer first, as in a request, which may end this change.
        customer_id = await connection.fetchval(
            "SELECT customer_id FROM contact_changes WHERE id = $1", change_id
        )
        customer = None if customer_id is None else await _locked(connection, customer_id)
        row = await connection.fetchrow(
            "SELECT code_digest, code_expires_at, attempts "
            "FROM contact_changes WHERE id = $1 AND status = 'waiting' FOR UPDATE",
            change_id,
        )
        if row is None or customer is None:
            raise ContactError("this change does not wait for a confirmation")
        if row["code_digest"] is None:
            if reason is None:
                raise ContactError("a confirmation without a code needs a reason")
        elif code is None:
            raise ContactError("this change needs the code that was sent to the new contact")
        elif row["attempts"] >= MOST_ATTEMPTS or row["code_expires_at"] <= now:
            raise ContactError("the code no longer works: cancel the change and request it again")
        elif not hmac.compare_digest(row["code_digest"], _code_digest(master, change_id, code)):
            await connection.execute(
                "UPDATE contact_changes SET attempts = attempts + 1 WHERE id = $1", change_id
            )
            return None
        token = new_secret("")
        changed = await connection.fetchrow(
            "UPDATE contact_changes SET status = 'confirmed', confirmed_at = $2, "
            "confirmed_by = $3, effective_at = $4, stop_digest = $5 WHERE id = $1 "
            f"RETURNING {_COLUMNS}",
            *(change_id, now, actor.name, now + delay, digest(token)),
        )
        change = ContactChange(*changed)
        link = f"{origin}/app/contact/{token}"
        await _notify(connection, customer, change, link, channels, now)
    return change


async def _notify(
    connection: Connection,
    customer: _Customer,
    change: ContactChange,
    link: str,
    channels: frozenset[str],
    now: datetime,
) -> None:
    """A notice to every present contact that the service can reach: one of them may be lost."""
    if customer.mode != "live" or change.effective_at is None:
        return
    content = ContactChangeContent(_masked(change.new_value), change.effective_at, link)
    contacts: dict[Contact, str | None] = {"mobile": customer.mobile, "email": customer.email}
    for contact, value in contacts.items():
        if value is not None and CHANNELS[contact] in channels:
            to = _address(customer, change.customer_id, contact, value)
            await notices.write(connection, to, "contact_change", content, now)


async def cancel(
    connection: Connection, actor: Actor, change_id: UUID, reason: str
) -> ContactChange:
    """Ends a change that has no effect yet, by the operator."""
    async with acting(connection, actor, "contact_change.cancel", reason):
        row = await connection.fetchrow(
            "UPDATE contact_changes SET status = 'cancelled', ended_at = now(), ended_by = $2, "
            "end_reason = $3 WHERE id = $1 AND status IN ('waiting', 'confirmed') "
            f"RETURNING {_COLUMNS}",
            *(change_id, actor.name, reason),
        )
        if row is None:
            raise ContactError("this change has ended already")
    return ContactChange(*row)


async def open_of(
    connection: Connection, customer_id: UUID, contact: Contact
) -> ContactChange | None:
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS} FROM contact_changes WHERE customer_id = $1 AND contact = $2 "
        "AND status IN ('waiting', 'confirmed')",
        *(customer_id, contact),
    )
    return None if row is None else ContactChange(*row)


async def by_link(connection: Connection, token: str) -> ContactChange | None:
    """The change that this link can stop."""
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS} FROM contact_changes WHERE stop_digest = $1 AND status = 'confirmed'",
        digest(token),
    )
    return None if row is None else ContactChange(*row)


async def stop(connection: Connection, token: str, address: str | None) -> bool:
    """Ends a change by the link in the notice, once."""
    found = await by_link(connection, token)
    if found is None:
        return False
    actor = Actor("customer", ids.show_id(ids.CUSTOMER, found.customer_id), address=address)
    async with acting(connection, actor, "contact_change.stop"):
        stopped = await connection.fetchval(
            "UPDATE contact_changes SET status = 'stopped', ended_at = now(), "
            "ended_by = 'the customer' WHERE id = $1 AND status = 'confirmed' RETURNING true",
            found.id,
        )
    return stopped is not None


async def apply_due(connection: Connection) -> bool:
    """Makes the earliest change whose moment has come; whether there was any.

    The sessions and password links of the customer end, because the old contact may be in other
    hands. The change fails if another customer has the contact by now.
    """
    async with connection.transaction():
        row = await connection.fetchrow(
            f"SELECT {_COLUMNS} FROM contact_changes WHERE status = 'confirmed' "
            "AND effective_at <= now() ORDER BY effective_at LIMIT 1 FOR UPDATE SKIP LOCKED"
        )
        if row is None:
            return False
        change = ContactChange(*row)
        problem = await _apply(connection, change)
        verb, status = ("apply", "done") if problem is None else ("fail", "failed")
        async with acting(connection, _SERVICE, f"contact_change.{verb}", problem):
            await connection.execute(
                "UPDATE contact_changes SET status = $2, ended_at = now(), ended_by = $3, "
                "end_reason = $4 WHERE id = $1",
                *(change.id, status, _SERVICE.name, problem),
            )
    return True


async def _apply(connection: Connection, change: ContactChange) -> str | None:
    """Changes the customer; returns why this is not possible."""
    column, whose = change.contact, CustomerId(change.customer_id)
    try:
        async with acting(connection, _SERVICE, "customer.set_contact", change.reason):
            changed = await connection.fetchval(
                f"UPDATE customers SET {column} = $2 WHERE id = $1 "
                f"AND {column} IS NOT DISTINCT FROM $3 RETURNING true",
                *(change.customer_id, change.new_value, change.old_value),
            )
            if changed is None:
                return f"the {NAMES[column]} was changed meanwhile"
            await connection.execute(
                "DELETE FROM password_links WHERE customer_id = $1", change.customer_id
            )
            await logins.end_all(connection, whose)
    except asyncpg.UniqueViolationError as error:
        return TAKEN[error.constraint_name]
    return None


async def _locked(connection: Connection, customer_id: UUID) -> _Customer:
    row = await connection.fetchrow(
        "SELECT mode, mobile, email, language FROM customers "
        "WHERE id = $1 AND sandbox_of IS NULL FOR NO KEY UPDATE",
        customer_id,
    )
    if row is None:
        shown = ids.show_id(ids.CUSTOMER, customer_id)
        raise ContactError(f"no customer with a login has the id {shown}")
    return _Customer(*row)


async def _is_taken(
    connection: Connection, customer: _Customer, contact: Contact, value: str
) -> bool:
    found: bool = await connection.fetchval(
        f"SELECT EXISTS (SELECT FROM customers WHERE mode = $1 AND {contact} = $2 "
        "AND sandbox_of IS NULL)",
        *(customer.mode, value),
    )
    return found


def _address(customer: _Customer, customer_id: UUID, contact: Contact, value: str) -> Reached:
    recipient = f"+{COUNTRY}{value}" if contact == "mobile" else value
    return Reached(CHANNELS[contact], recipient, customer.language, customer_id, True)


def _masked(value: str) -> str:
    """Enough for the customer to know it again: a finder of an old phone learns no address."""
    name, at, host = value.partition("@")
    return f"{name[:1]}…@{host}" if at else f"…{value[-3:]}"


def _code_digest(master: bytes, change_id: UUID, code: str) -> bytes:
    return derive(master, "contact-code", f"{change_id} {code}")
