"""Reading what a customer is asked to pay: whatever is overdue becomes expired by being read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias
from uuid import UUID

from laari.edge.backend import Backend
from laari.edge.http import Reply
from laari.edge.merchant.lists import page_reply, read_window
from laari.edge.merchant.operations import Call
from laari.rules.command import Command
from laari.rules.payments import Asked, is_overdue
from laari.rules.records import Tenant
from laari.rules.refusals import Refusal
from laari.rules.world import local_time
from laari.store.listing import Found, Listing

Expire: TypeAlias = Callable[[Tenant, UUID], Command[Asked]]


async def as_it_is(call: Call, row: Asked, expire: Expire[Asked]) -> Asked:
    """The row, expired first where it is overdue."""
    tenant = call.caller.tenant
    if not is_overdue(row, local_time(datetime.now(UTC), tenant)):
        return row
    outcome = await call.backend.spine.submit(expire(tenant, row.id))
    # Refused: somebody is changing it at this moment, and it is as it was read.
    return row if isinstance(outcome, Refusal) else outcome


async def list_asked(
    call: Call,
    filters: dict[str, Any],
    listing: str,
    listed: Callable[..., Listing[Asked]],
    expire: Expire[Asked],
    shown: Callable[[Asked, Backend], Any],
) -> Reply | Refusal:
    tenant, backend = call.caller.tenant, call.backend
    window = read_window(filters, backend.cursors, listing, tenant.id)
    if isinstance(window, Refusal):
        return window
    now = local_time(datetime.now(UTC), tenant)
    status = filters.get("status")
    found = await backend.page(
        listed(
            tenant.id,
            now,
            window,
            status=status,
            terminal_label=filters.get("terminal_label"),
            bill_number=filters.get("bill_number"),
        )
    )
    found = await _expire_overdue(call, found, expire, now, status)
    shapes = (shown(row, backend) for row in found.rows)
    return page_reply(shapes, found, window, backend.cursors, listing, tenant.id)


async def _expire_overdue(
    call: Call,
    found: Found[Asked],
    expire: Expire[Asked],
    now: datetime,
    status: str | None,
) -> Found[Asked]:
    """Marks what is overdue on a page expired, as reading it does."""
    overdue = [row.id for row in found.rows if is_overdue(row, now)]
    if not overdue:
        return found
    tenant, submit = call.caller.tenant, call.backend.spine.submit
    outcomes = await asyncio.gather(*(submit(expire(tenant, row_id)) for row_id in overdue))
    current = {row.id: row for row in outcomes if not isinstance(row, Refusal)}
    rows = [current.get(row.id, row) for row in found.rows]
    # One that was paid or cancelled meanwhile no longer belongs to the status asked for.
    return Found([row for row in rows if status is None or row.status == status], found.next)
