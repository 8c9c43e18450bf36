"""Applications of merchants to go live, and the operator's decision.

A merchant goes live only by an approval, which makes the live tenant. Its own people choose the
mode of the credentials then.
"""

import os
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

import asyncpg
from asyncpg import Connection
from msgspec import Struct
from msgspec.structs import astuple

from laari.errors import LaariError
from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.banking.bank_accounts import AddBankAccount, not_valid
from laari.rules.merchants.payout_terms import ChangePayoutTerms, NewTerms
from laari.rules.merchants.settings import Changes, UpdateMerchant
from laari.rules.records import BankDetails
from laari.rules.refusals import Refusal
from laari.store.batch.inside import decide_inside
from laari.store.people.acting import acting
from laari.store.reads.tenants import has_live_side

ApplicationStatus = Literal["submitted", "approved", "refused", "withdrawn"]


class ApplicationFields(Struct, frozen=True):
    """The answers of the shop; the names are columns."""

    legal_name: str
    registration_number: str
    tax_number: str | None
    address: str
    bank_name: str
    bank_holder: str
    bank_account: str
    monthly_volume: int
    contact: str


class Profile(Struct, frozen=True):
    """The business behind a merchant, for documents."""

    legal_name: str | None = None
    tax_number: str | None = None
    address: str | None = None


class Application(Struct, frozen=True):
    id: UUID
    merchant_id: str
    merchant_name: str
    submitted_at: datetime
    submitted_by: str
    fields: ApplicationFields
    status: ApplicationStatus
    decided_at: datetime | None
    decided_by: str | None
    reason: str | None


class LiveTerms(Struct, frozen=True):
    """What the operator sets with an approval; fees that are None stay as they are."""

    minimum: int = 1  # of a payout, in laari
    hold: str | None = None  # the reason why payouts wait; the merchant reads it
    max_payment: int | None = None
    fee_bps: int | None = None
    fee_fixed: int | None = None


NO_TERMS = LiveTerms()


class ApplicationError(LaariError):
    """The state of the merchant or its application does not allow this."""


_NAMES = ApplicationFields.__struct_fields__
_FIELDS = ", ".join(_NAMES)
_SELECT = (
    "SELECT a.id, a.merchant_id, m.name, a.submitted_at, a.submitted_by, a.status, a.decided_at, "
    f"a.decided_by, a.reason, {', '.join(f'a.{name}' for name in _NAMES)} "
    "FROM applications a JOIN merchants m ON m.id = a.merchant_id"
)


def _read(row: asyncpg.Record) -> Application:
    values = [*row[:5], ApplicationFields(*row[9:]), *row[5:9]]
    return Application(*values)


async def submit(
    connection: Connection, actor: Actor, merchant_id: str, answers: ApplicationFields
) -> Application:
    """Opens an application; it replaces one that is open."""
    refusal = not_valid(BankDetails(answers.bank_holder, answers.bank_name, answers.bank_account))
    if refusal is not None:
        raise ApplicationError(refusal.message)
    application_id = ids.new_id(datetime.now(UTC), os.urandom)
    async with acting(connection, actor, "application.submit"):
        await _refuse_live(connection, merchant_id)
        await connection.execute(
            "UPDATE applications SET status = 'withdrawn', decided_at = now(), decided_by = $2 "
            "WHERE merchant_id = $1 AND status = 'submitted'",
            merchant_id,
            actor.name,
        )
        places = ", ".join(f"${n}" for n in range(4, 4 + len(_NAMES)))
        await connection.execute(
            f"INSERT INTO applications (id, merchant_id, submitted_at, submitted_by, {_FIELDS}) "
            f"VALUES ($1, $2, now(), $3, {places})",
            application_id,
            merchant_id,
            actor.name,
            *astuple(answers),
        )
    return await find(connection, application_id)


async def withdraw(connection: Connection, actor: Actor, merchant_id: str) -> bool:
    """The merchant takes its open application back; False if it has none."""
    async with acting(connection, actor, "application.withdraw"):
        ended = await connection.fetchval(
            "UPDATE applications SET status = 'withdrawn', decided_at = now(), decided_by = $2 "
            "WHERE merchant_id = $1 AND status = 'submitted' RETURNING id",
            merchant_id,
            actor.name,
        )
    return ended is not None


async def _refuse_live(connection: Connection, merchant_id: str) -> None:
    """Raises an error if the merchant is approved; the lock keeps the answer true.

    A second statement sees the tenant of an approval that held the lock.
    """
    lock = "SELECT true FROM merchants WHERE id = $1 FOR NO KEY UPDATE"
    if await connection.fetchval(lock, merchant_id) is None:
        raise LaariError(f"no merchant has the id {merchant_id}")
    if await connection.fetchval(f"SELECT {has_live_side('$1')}", merchant_id):
        raise ApplicationError("this merchant is approved for live mode already")


async def approve(
    connection: Connection,
    actor: Actor,
    merchant_id: str,
    reason: str | None = None,
    terms: LiveTerms = NO_TERMS,
    *,
    application_id: UUID | None = None,
) -> None:
    """Makes the merchant's live side with its terms, and ends an open application as approved.

    Payouts go to the bank account of the application. The owners entered it themselves, so they get
    a welcome (`laari.store.movement_messages`) and not the alarm about a changed account.
    `application_id` names the one on the operator's screen: the merchant may have replaced it.
    """
    async with acting(connection, actor, "merchant.approve", reason):
        await _refuse_live(connection, merchant_id)
        tenant_id = await connection.fetchval(
            "INSERT INTO tenants (merchant_id, mode, max_payment) VALUES ($1, 'live', $2) "
            "RETURNING id",
            merchant_id,
            terms.max_payment,
        )
        if (terms.minimum, terms.hold) != (NO_TERMS.minimum, NO_TERMS.hold):
            new = NewTerms(minimum=terms.minimum, paused_reason=terms.hold)
            changed = await decide_inside(connection, ChangePayoutTerms(actor, tenant_id, new))
            if isinstance(changed, Refusal):
                raise ApplicationError(changed.message)
        fees = Changes(fee_bps=terms.fee_bps, fee_fixed=terms.fee_fixed)
        if fees.given():
            agreed = await decide_inside(connection, UpdateMerchant(actor, merchant_id, fees))
            if isinstance(agreed, Refusal):
                raise ApplicationError(agreed.message)
        async with acting(connection, actor, "application.approve", reason):
            bank = await connection.fetchrow(
                "UPDATE applications SET status = 'approved', decided_at = now(), "
                "decided_by = $2, reason = $3 WHERE merchant_id = $1 AND status = 'submitted' "
                "RETURNING id, bank_holder, bank_name, bank_account",
                merchant_id,
                actor.name,
                reason,
            )
        if application_id is not None and (bank is None or bank["id"] != application_id):
            raise ApplicationError("the merchant has changed its application: read it again")
        if bank is not None:
            _, holder, name, number = bank
            added = await decide_inside(
                connection,
                AddBankAccount(
                    actor, tenant_id, BankDetails(holder, name, number), announced=False
                ),
            )
            if isinstance(added, Refusal):
                raise ApplicationError(added.message)


async def refuse(
    connection: Connection, actor: Actor, application_id: UUID, reason: str
) -> Application:
    """Ends an open application; the merchant reads the reason and can apply again."""
    async with acting(connection, actor, "application.refuse", reason):
        refused = await connection.fetchval(
            "UPDATE applications SET status = 'refused', decided_at = now(), decided_by = $2, "
            "reason = $3 WHERE id = $1 AND status = 'submitted' RETURNING merchant_id",
            application_id,
            actor.name,
            reason,
        )
    found = await find(connection, application_id)
    if refused is None:
        raise ApplicationError(f"the application is {found.status} already")
    return found


async def find(connection: Connection, application_id: UUID) -> Application:
    row = await connection.fetchrow(f"{_SELECT} WHERE a.id = $1", application_id)
    if row is None:
        shown = ids.show_id(ids.APPLICATION, application_id)
        raise LaariError(f"no application has the id {shown}")
    return _read(row)


async def latest_of(connection: Connection, merchant_id: str) -> Application | None:
    row = await connection.fetchrow(
        f"{_SELECT} WHERE a.merchant_id = $1 ORDER BY a.submitted_at DESC, a.id DESC LIMIT 1",
        merchant_id,
    )
    return None if row is None else _read(row)


async def profile_of(connection: Connection, merchant_id: str) -> Profile:
    """From the approved application; empty if the merchant came without one."""
    row = await connection.fetchrow(
        "SELECT legal_name, tax_number, address FROM applications "
        "WHERE merchant_id = $1 AND status = 'approved' "
        "ORDER BY submitted_at DESC, id DESC LIMIT 1",
        merchant_id,
    )
    return Profile() if row is None else Profile(*row)


async def with_status(
    connection: Connection, status: ApplicationStatus, most: int
) -> list[Application]:
    """The oldest first that wait, the newest first of the others."""
    order = "a.id" if status == "submitted" else "a.id DESC"
    rows = await connection.fetch(
        f"{_SELECT} WHERE a.status = $1 ORDER BY {order} LIMIT $2", status, most
    )
    return [_read(row) for row in rows]
