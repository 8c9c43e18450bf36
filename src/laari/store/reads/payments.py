"""Reading payments."""

from datetime import datetime
from typing import get_args
from uuid import UUID

from asyncpg import Connection

from laari.rules.records import Payment, PaymentStatus
from laari.store.reads.listing import Listing, Walk, Window
from laari.store.tables import PAYMENTS

# As `rules.lifecycle.state_of` has it: listed as expired before it is marked so.
_OVERDUE = "status = 'pending' AND expires_at <= {now} AND reserved_at IS NULL"
_NOT_OVERDUE = f"NOT coalesce({_OVERDUE}, false)"

_STATUSES = get_args(PaymentStatus)


async def by_id(connection: Connection, payment_ids: list[UUID]) -> dict[UUID, Payment]:
    rows = await connection.fetch(f"{PAYMENTS.select} WHERE id = ANY($1)", payment_ids)
    return {row["id"]: PAYMENTS.read(row) for row in rows}


async def refund_reason(connection: Connection, payment_id: UUID) -> str | None:
    """Why it was refunded, if the operator said so."""
    reason: str | None = await connection.fetchval(
        "SELECT reason FROM refund_reasons WHERE payment_id = $1", payment_id
    )
    return reason


async def by_token(connection: Connection, tokens: list[str]) -> dict[str, Payment]:
    rows = await connection.fetch(f"{PAYMENTS.select} WHERE token = ANY($1)", tokens)
    return {row["token"]: PAYMENTS.read(row) for row in rows}


def of_tenant(
    tenant_id: int, now: datetime, window: Window, **filters: str | None
) -> Listing[Payment]:
    return Listing(PAYMENTS, walks(tenant_id, now, **filters), window)


def walks(
    tenant_id: int,
    now: datetime,
    *,
    status: str | None = None,
    terminal_label: str | None = None,
    bill_number: str | None = None,
) -> list[Walk]:
    """How a tenant's payments or payment requests are looked for."""
    if bill_number:  # narrows more than anything else: the rest is checked on the way
        equal: dict[str, object] = {"tenant_id": tenant_id, "bill_number": bill_number}
        if terminal_label:
            equal["terminal_label"] = terminal_label
        return [_checked(equal, status, now)]
    if terminal_label:  # its index goes on with the status
        labelled: dict[str, object] = {"tenant_id": tenant_id, "terminal_label": terminal_label}
        if status is None:
            return [Walk({**labelled, "status": each}) for each in _STATUSES]
        return _by_status(labelled, status, now)
    if status is None:
        return [Walk({"tenant_id": tenant_id})]
    return _by_status({"tenant_id": tenant_id}, status, now)


def _by_status(equal: dict[str, object], status: str, now: datetime) -> list[Walk]:
    """How a status is looked for along an index, where overdue pending rows count as expired."""
    if status == "expired":
        return [
            Walk({**equal, "status": "expired"}),
            Walk({**equal, "status": "pending"}, _OVERDUE, {"now": now}),
        ]
    if status == "pending":
        return [Walk({**equal, "status": status}, _NOT_OVERDUE, {"now": now})]
    return [Walk({**equal, "status": status})]


def _checked(equal: dict[str, object], status: str | None, now: datetime) -> Walk:
    """The same where the index knows no status."""
    if status is None:
        return Walk(equal)
    if status == "expired":
        return Walk(equal, f"status = 'expired' OR ({_OVERDUE})", {"now": now})
    if status == "pending":
        return Walk(equal, f"status = 'pending' AND {_NOT_OVERDUE}", {"now": now})
    return Walk(equal, "status = {status}", {"status": status})
