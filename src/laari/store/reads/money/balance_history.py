"""A merchant's ledger in pages: its movements, each with the balance after it.

The balance of a page is not summed up from the beginning: it is the present balance without the
days after the page, and without the newer movements of the page's first day.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from asyncpg import Connection

from laari.rules.calendar import local_day
from laari.store.reads import figures
from laari.store.reads.figures import Span
from laari.store.reads.listing import Position
from laari.store.reads.money import balances, movements
from laari.store.reads.money.balances import Balance
from laari.store.reads.money.movements import KINDS, Movement, MovementKind


class Line(NamedTuple):
    movement: Movement
    balance: int | None  # after the movement; None if some kinds are left out


class Ledger(NamedTuple):
    balance: Balance  # now
    lines: list[Line]
    next: Position | None
    left: int | None = None  # the balance before the oldest line, for the next page


async def of_span(
    connection: Connection,
    span: Span,
    limit: int,
    after: Position | None = None,
    kinds: Sequence[MovementKind] = KINDS,
    *,
    left: int | None = None,
) -> Ledger:
    """A page of the ledger, newest first; all of it from one snapshot.

    `left` is the balance that the page before this one has left. A file carries it from page to
    page: otherwise each page of a busy day would sum up that day again.
    """
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        found = await movements.of_span(connection, span, limit, after, kinds)
        now = await balances.of_tenant(connection, span.tenant_id)
        if not found.rows or set(kinds) != set(KINDS):
            return Ledger(now, [Line(row, None) for row in found.rows], found.next)
        if left is None:
            left = now.available - await _newer(connection, span.tenant_id, found.rows[0])
    lines = []
    for row in found.rows:
        lines.append(Line(row, left))
        left -= row.effect
    return Ledger(now, lines, found.next, left)


async def _newer(connection: Connection, tenant_id: int, first: Movement) -> int:
    """The sum of all movements that are newer than this one."""
    day = local_day(first.at)
    later = await figures.change_since(connection, tenant_id, day + timedelta(days=1))
    return later + await movements.sum_newer(connection, Span(tenant_id, day, day), first.place)
