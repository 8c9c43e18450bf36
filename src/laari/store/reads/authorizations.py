"""Reading authorizations and their payments."""

from datetime import datetime
from uuid import UUID

from laari.rules.records.authorizations import Authorization
from laari.rules.records.payments import Payment
from laari.store.reads.listing import Listing, Walk, Window
from laari.store.tables import AUTHORIZATIONS, PAYMENTS

# The deadline that makes an authorization expired, by its stored status; others never expire.
_DEADLINES = {"pending": "approval_expires_at", "active": "expires_at", "suspended": "expires_at"}


by_id = AUTHORIZATIONS.finder("id")
by_token = AUTHORIZATIONS.finder("token")


def of_tenant(
    tenant_id: int, now: datetime, window: Window, status: str | None = None
) -> Listing[Authorization]:
    return Listing(AUTHORIZATIONS, _walks(tenant_id, status, now), window)


def of_account(account: int, window: Window) -> Listing[Authorization]:
    return Listing(AUTHORIZATIONS, [Walk({"account": account})], window)


def _walks(tenant_id: int, status: str | None, now: datetime) -> list[Walk]:
    """An authorization past its deadline counts as expired."""
    if status is None:
        return [Walk({"tenant_id": tenant_id})]
    if status == "expired":
        return [
            Walk({"tenant_id": tenant_id, "status": stored}, f"{deadline} <= {{now}}", {"now": now})
            for stored, deadline in _DEADLINES.items()
        ]
    equal = {"tenant_id": tenant_id, "status": status}
    if status not in _DEADLINES:
        return [Walk(equal)]
    return [Walk(equal, f"({_DEADLINES[status]} <= {{now}}) IS NOT TRUE", {"now": now})]


def payments_of(
    authorization_id: UUID,
    window: Window,
    *,
    status: str | None = None,
    bill_number: str | None = None,
) -> Listing[Payment]:
    wanted = {"status": status, "bill_number": bill_number}
    values: dict[str, object] = {name: value for name, value in wanted.items() if value is not None}
    keep = " AND ".join(f"{name} = {{{name}}}" for name in values)
    walk = Walk({"authorization_id": authorization_id}, keep or None, values)
    return Listing(PAYMENTS, [walk], window)
