"""Reading what a customer is asked to pay: whatever is overdue becomes expired by being read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias
from uuid import UUID

from laari.edge.backend import Backend
from laari.edge.merchant.lists import ListQuery, page_body, read_window
from laari.edge.merchant.operations import Context
from laari.http.messages import Reply
from laari.rules.command import Command
from laari.rules.lifecycle import Payable, is_overdue
from laari.rules.records import Tenant
from laari.rules.refusals import Refusal
from laari.rules.world import local_time
from laari.store.reads.listing import Found, Listing

Expire: TypeAlias = Callable[[Tenant, UUID], Command[Payable]]


async def as_it_is(context: Context, row: Payable, expire: Expire[Payable]) -> Payable:
    """The row, expired first where it is overdue."""
    tenant = context.tenant
    if not is_overdue(row, local_time(datetime.now(UTC), tenant)):
        return row
    outcome = await context.backend.spine.submit(expire(tenant, row.id))
    # Refused: somebody is changing it at this moment, and it is as it was read.
    return row if isinstance(outcome, Refusal) else outcome


async def list_expiring(
    context: Context,
    query: ListQuery,
    listing: str,
    listed: Callable[..., Listing[Payable]],
    expire: Expire[Payable],
    shown: Callable[[Payable, Backend], object],
) -> Reply | Refusal:
    tenant, backend = context.tenant, context.backend
    window = read_window(query, backend.cursors, listing, tenant.id)
    if isinstance(window, Refusal):
        return window
    now = local_time(datetime.now(UTC), tenant)
    found = await backend.page(
        listed(
            tenant.id,
            now,
            window,
            status=query.status,
            terminal_label=query.terminal_label,
            bill_number=query.bill_number,
        )
    )
    found = await _expire_overdue(context, found, expire, now, query.status)
    # Nothing below depends on the moment: a page with overdue rows has become this caller's own.
    if found.shown is None:
        shapes = (shown(row, backend) for row in found.rows)
        found.shown = page_body(shapes, found, window, backend.cursors, listing, tenant.id)
    return Reply(200, found.shown)


async def _expire_overdue(
    context: Context,
    found: Found[Payable],
    expire: Expire[Payable],
    now: datetime,
    status: str | None,
) -> Found[Payable]:
    """Marks what is overdue on a page expired, as reading it does."""
    overdue = [row.id for row in found.rows if is_overdue(row, now)]
    if not overdue:
        return found
    tenant, submit = context.tenant, context.backend.spine.submit
    outcomes = await asyncio.gather(*(submit(expire(tenant, row_id)) for row_id in overdue))
    current = {row.id: row for row in outcomes if not isinstance(row, Refusal)}
    rows = [current.get(row.id, row) for row in found.rows]
    # One that was paid or cancelled meanwhile no longer belongs to the status asked for.
    return Found([row for row in rows if status is None or row.status == status], found.next)
