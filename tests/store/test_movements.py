"""Movements of some days: each of them once, in order, and none of another merchant or day."""

import os
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

from msgspec.structs import replace

from laari.rules.calendar import MALDIVES, local_day
from laari.rules.records import Payment
from laari.rules.world import World
from laari.store.batch.save import save
from laari.store.postgres.pool import connection_to
from laari.store.reads import movements
from laari.store.reads.figures import Span
from laari.store.reads.movements import Movement, MovementPlace
from tests.store.test_listing import payment

MIDNIGHT = datetime(2026, 3, 2, tzinfo=MALDIVES)
DAY = date(2026, 3, 2)


def moved(tenant: int, number: int, paid_at: datetime, refunded_at: datetime | None) -> Payment:
    row = replace(payment(tenant, 7 * number, None), amount=100, fee=3, paid_at=paid_at)
    if refunded_at is None:
        return row
    return replace(row, status="refunded", refunded_at=refunded_at)


def rows_of_some_days() -> list[Payment]:
    """Many of one moment, some refunded at that very moment, and some at the edges of a day."""
    tick = timedelta(microseconds=1)
    rows = [moved(1, n, MIDNIGHT, MIDNIGHT if n % 3 == 0 else None) for n in range(12)]
    rows += [moved(1, 20, MIDNIGHT - tick, MIDNIGHT), moved(1, 21, MIDNIGHT, None)]
    rows += [moved(1, 22, MIDNIGHT - timedelta(days=1), MIDNIGHT + timedelta(days=1) - tick)]
    rows += [moved(1, 23, MIDNIGHT - timedelta(days=3), MIDNIGHT + timedelta(days=1))]
    rows += [moved(2, n, MIDNIGHT, MIDNIGHT) for n in range(30, 33)]
    return rows


async def test_pages_have_each_movement_of_the_days_once_and_newest_first(dsn: str) -> None:
    world = World(datetime.now(UTC), "", os.urandom)
    rows = rows_of_some_days()
    for row in rows:
        world.payments.add(row.id, row)
    span = Span(1, DAY, DAY)
    due = {
        (row.id, is_refund)
        for row in rows
        for is_refund, at in ((False, row.paid_at), (True, row.refunded_at))
        if row.tenant_id == 1 and at is not None and local_day(at) == DAY
    }
    async with connection_to(dsn) as connection:
        await save(connection, world)
        for limit in (1, 2, 5, 100):
            seen: list[Movement] = []
            after: MovementPlace | None = None
            while True:
                found = await movements.of_span(connection, span, limit, after)
                assert len(found.rows) <= limit
                seen += found.rows
                after = found.next
                if after is None:
                    break
            assert len(seen) == len(due)
            assert {(each.payment.id, each.is_refund) for each in seen} == due
            assert all(newer.place > older.place for newer, older in pairwise(seen))
    assert sum(each.effect for each in seen) == 97 * 13 - 100 * 6


async def test_movements_are_found_along_their_indexes(dsn: str) -> None:
    async with connection_to(dsn) as connection:
        await connection.execute("SET enable_seqscan = off; SET enable_sort = off")
        after = MovementPlace(MIDNIGHT, payment(1, 0, None).id, is_refund=True)
        for column in ("paid_at", "refunded_at"):
            walk = movements._walk(column, 50, after)
            values = (1, MIDNIGHT, MIDNIGHT + timedelta(days=1), after.at, after.id)
            plan = await connection.fetch(f"EXPLAIN {walk}", *values)
            told = "\n".join(row[0] for row in plan)
            assert f"payments_by_{column.removesuffix('_at')}" in told
            assert "Filter" not in told
            assert "Sort" not in told
