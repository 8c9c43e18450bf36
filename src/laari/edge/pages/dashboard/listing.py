"""Lists of the dashboard: the interface's own filters and cursors, from an ordinary form."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from laari.edge.merchant.lists import Query, read_window
from laari.edge.pages.dashboard.desk import Desk
from laari.rules.payments import is_overdue
from laari.rules.records import Payment, PaymentRequest
from laari.rules.refusals import Refusal
from laari.store.listing import Found, Window


class Asked(NamedTuple):
    """What a list was asked for: as written in the form, as checked, and which part of it."""

    written: dict[str, str]
    filters: dict[str, Any]
    window: Window


def read_list(desk: Desk, query: Query, listing: str) -> Asked | Refusal:
    """A form sends its empty fields too; here they mean that nothing was asked."""
    written = {name: value for name, value in desk.visit.query.items() if value.strip()}
    filters = query.read(urlencode(written).encode())
    if isinstance(filters, Refusal):
        return filters
    window = read_window(filters, desk.backend.cursors, listing, desk.tenant.id)
    if isinstance(window, Refusal):
        return window
    return Asked(written, filters, window)


def older(desk: Desk, asked: Asked, listing: str, found: Found[Any]) -> str | None:
    """The query of the next page; None on the last one."""
    if found.next is None:
        return None
    cursor = desk.backend.cursors.make(listing, desk.tenant.id, *found.next)
    return urlencode({**asked.written, "after": cursor})


def state_of(asked: Payment | PaymentRequest, now: datetime) -> str:
    """The status as people see it: what is overdue has expired, and what is being paid says so."""
    if is_overdue(asked, now):
        return "expired"
    return "processing" if asked.reserved_at is not None else asked.status
