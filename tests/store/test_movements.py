"""Movements of some days: each of them once, in order, and none of another merchant or day."""

import os
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from uuid import uuid4

import pytest
from msgspec.structs import replace

from laari.rules import ids
from laari.rules.calendar import MALDIVES, local_day
from laari.rules.records.ledger import Transfer
from laari.rules.records.payments import Payment, Refund
from laari.rules.world import World
from laari.store.batch.save import save
from laari.store.postgres.pool import connection_to
from laari.store.reads.figures import Span
from laari.store.reads.listing import Position
from laari.store.reads.money import movements
from laari.store.reads.money.movements import KINDS, SALES, Movement
from tests.store.test_listing import payment

MIDNIGHT = datetime(2026, 3, 2, tzinfo=MALDIVES)
DAY = date(2026, 3, 2)
TICK = timedelta(microseconds=1)


def paid(tenant: int, number: int, at: datetime) -> Payment:
    return replace(payment(tenant, 7 * number, None), amount=100, fee=3, paid_at=at)


def refund(of: Payment, at: datetime, amount: int = 40) -> Refund:
    tid = ids.new_tid(at, os.urandom)
    return Refund(uuid4(), of.tenant_id, of.id, amount, None, None, "person", "a", tid, at)


def hold(tenant: int, at: datetime, amount: int) -> Transfer:
    merchant, held = 1_000_000_000 + tenant, 2_000_000_000 + tenant
    sides = (merchant, held) if amount < 0 else (held, merchant)
    kind = "hold" if amount < 0 else "release"
    return Transfer(uuid4(), kind, *sides, abs(amount), None, uuid4().hex, at)


def some_days() -> World:
    """Many of one moment, some refunded at that very moment, and some at the edges of a day."""
    world = World(datetime.now(UTC), "", os.urandom)
    rows = [paid(1, n, MIDNIGHT) for n in range(12)]
    refunds = [refund(row, MIDNIGHT) for row in rows[::3] for _ in range(2)]
    rows += [paid(1, 20, MIDNIGHT - TICK), paid(1, 21, MIDNIGHT + timedelta(days=1) - TICK)]
    refunds += [refund(rows[-2], MIDNIGHT), refund(rows[-1], MIDNIGHT + timedelta(days=1))]
    rows += [paid(2, n, MIDNIGHT) for n in range(30, 33)]
    refunds += [refund(row, MIDNIGHT) for row in rows[-3:]]
    for row in rows:
        world.payments.add(row.id, row)
    world.refunds += refunds
    world.transfers += [
        hold(1, MIDNIGHT, -7),
        hold(1, MIDNIGHT, 2),
        hold(2, MIDNIGHT, -5),
        hold(1, MIDNIGHT - TICK, -1),
    ]
    return world


@pytest.mark.parametrize("kinds", [SALES, KINDS, ("refund",), ("hold", "release")])
async def test_pages_have_each_movement_of_the_days_once_and_newest_first(
    dsn: str, kinds: tuple[movements.MovementKind, ...]
) -> None:
    world = some_days()
    due = {
        (kind, id): effect
        for kind, tenant, id, at, effect in (
            *(
                ("payment", row.tenant_id, row.id, row.paid_at, 97)
                for row in world.payments.added.values()
            ),
            *(("refund", row.tenant_id, row.id, row.created_at, -40) for row in world.refunds),
            *(
                (
                    row.kind,
                    min(row.debit_account, row.credit_account) - 1_000_000_000,
                    row.id,
                    row.created_at,
                    -row.amount if row.kind == "hold" else row.amount,
                )
                for row in world.transfers
            ),
        )
        if tenant == 1 and kind in kinds and at is not None and local_day(at) == DAY
    }
    span = Span(1, DAY, DAY)
    async with connection_to(dsn) as connection:
        await save(connection, world)
        for limit in (1, 2, 5, 100):
            seen: list[Movement] = []
            after: Position | None = None
            while True:
                found = await movements.of_span(connection, span, limit, after, kinds)
                assert len(found.rows) <= limit
                seen += found.rows
                after = found.next
                if after is None:
                    break
            assert {(each.kind, each.id): each.effect for each in seen} == due
            assert len(seen) == len(due)
            assert all(newer.place > older.place for newer, older in pairwise(seen))
    for each in seen:
        assert (each.payment is not None) == (each.kind in SALES)
        assert (each.refund is not None) == (each.kind == "refund")
        if each.refund is not None and each.payment is not None:
            assert each.refund.payment_id == each.payment.id


@pytest.mark.parametrize("is_first", [True, False])
async def test_movements_are_found_along_their_indexes(dsn: str, is_first: bool) -> None:
    async with connection_to(dsn) as connection:
        await connection.execute("SET enable_seqscan = off; SET enable_sort = off")
        after = None if is_first else Position(MIDNIGHT, uuid4())
        values = (1, MIDNIGHT, MIDNIGHT + timedelta(days=1), *(after or ()))
        indexes = ("payments_by_paid", "refunds_by_time", "transfers_of_merchants")
        for walk, index in zip(movements.walks(KINDS, 50, after), indexes, strict=True):
            plan = await connection.fetch(f"EXPLAIN {walk}", *values)
            told = "\n".join(row[0] for row in plan)
            assert index in told
            assert "Filter" not in told.replace("Filter: (kind = ANY", "")
            assert "Sort" not in told
