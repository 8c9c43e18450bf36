"""What a merchant's days came to, and what the database keeps about one payment."""

from __future__ import annotations

from datetime import date, datetime
from typing import NamedTuple
from uuid import UUID

import asyncpg

from laari.rules.records import Payment, SavedResponse, Transfer
from laari.store.tables import SAVED_RESPONSES, TRANSFERS

MOST_SAVED_RESPONSES = 50  # of one payment


class Day(NamedTuple):
    """The payments created on one Maldivian day: all of them, those paid, and their amount.

    A refunded payment was paid; its amount is in `volume` and in `refunded`.
    """

    day: date
    created: int
    paid: int
    volume: int
    refunded: int


class Span(NamedTuple):
    """A merchant's days, in one mode."""

    tenant_id: int
    since: datetime
    until: datetime


# A few rows are best found by the index, a few million by reading everything: unlike for look-ups,
# the plan depends on what is asked for. One report does not take several processors.
_ADDING_UP = """
SET LOCAL plan_cache_mode = force_custom_plan;
SET LOCAL max_parallel_workers_per_gather = 0
"""


async def by_day(connection: asyncpg.Connection, span: Span) -> list[Day]:
    """Days on which something was created, oldest first."""
    async with connection.transaction(readonly=True):
        await connection.execute(_ADDING_UP)
        rows = await connection.fetch(
            "SELECT (created_at AT TIME ZONE interval '5 hours')::date, count(*), count(paid_at), "
            "coalesce(sum(amount) FILTER (WHERE paid_at IS NOT NULL), 0), "
            "coalesce(sum(amount) FILTER (WHERE refunded_at IS NOT NULL), 0) "
            "FROM payments WHERE tenant_id = $1 AND created_at >= $2 AND created_at < $3 "
            "GROUP BY 1 ORDER BY 1",
            *span,
        )
    return [Day(day, *map(int, numbers)) for day, *numbers in rows]


async def transfers_of(connection: asyncpg.Connection, payment_id: UUID) -> list[Transfer]:
    rows = await connection.fetch(
        f"{TRANSFERS.select} WHERE payment_id = $1 ORDER BY created_at, kind = 'fee'", payment_id
    )
    return [TRANSFERS.read(row) for row in rows]


async def saved_responses_of(
    connection: asyncpg.Connection, payment: Payment
) -> list[SavedResponse]:
    """The responses that show this payment and are kept under idempotency keys, oldest first.

    More than one where the merchant asked for the same reference again under another key.
    """
    rows = await connection.fetch(
        f"{SAVED_RESPONSES.select} WHERE resource_id = $1 AND tenant_id = $2 "
        f"ORDER BY completed_at LIMIT {MOST_SAVED_RESPONSES}",
        payment.id,
        payment.tenant_id,
    )
    return [SAVED_RESPONSES.read(row) for row in rows]
