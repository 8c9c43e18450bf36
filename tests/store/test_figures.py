"""Daily figures are the sums of the ledger, whatever of it has been added up already."""

import asyncio
import os
import random
from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

import asyncpg
import pytest

from laari.rules import ids
from laari.store.counters import daily_figures
from laari.store.postgres.pool import connection_to
from laari.store.reads import figures
from laari.store.reads.figures import Figures, Span
from tests.actors import OPERATOR
from tests.making import make_merchant

MIDNIGHT = datetime(2026, 3, 31, 19, tzinfo=UTC)  # in the Maldives
FIRST = date(2026, 4, 1)
SPAN_DAYS = 5


@pytest.fixture
async def tenant(dsn: str) -> int:
    async with connection_to(dsn) as connection:
        made = await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode="live")
        found: int = await connection.fetchval(
            "SELECT id FROM tenants WHERE merchant_id = $1 AND mode = 'live'", made.merchant.id
        )
    return found


async def pay(
    connection: asyncpg.Connection,
    tenant: int,
    at: datetime,
    *,
    amount: int = 100,
    fee: int = 0,
    label: str | None = None,
    refunded_at: datetime | None = None,
) -> None:
    payment, tid = uuid4(), ids.new_tid(at, os.urandom)
    await connection.execute(
        "INSERT INTO payments (id, tenant_id, kind, token, reference, amount, terminal_label, "
        "metadata, created_at, status, fee, paid_at, payment_reference, payer_account) "
        "VALUES ($1, $2, 'hosted', $3, $3, $4, $5, '{}', $6, 'paid', $7, $6, $8, 1)",
        payment,
        tenant,
        payment.hex,
        amount,
        label,
        at,
        fee,
        tid,
    )
    moves = [("payment", amount, at), ("fee", fee, at)]
    if refunded_at is not None:
        moves.append(("refund", amount, refunded_at))
    for kind, moved, when in moves:
        if moved:
            await connection.execute(
                "INSERT INTO transfers (id, kind, debit_account, credit_account, amount, "
                "payment_id, tid, created_at) VALUES ($1, $2, 5, 6, $3, $4, $5, $6)",
                uuid4(),
                kind,
                moved,
                payment,
                tid,
                when,
            )


async def by_day(connection: asyncpg.Connection, tenant: int) -> dict[date, Figures]:
    last = FIRST + timedelta(days=SPAN_DAYS - 1)
    found: dict[date, Figures] = {}
    for day in await figures.of_days(connection, Span(tenant, FIRST, last)):
        found[day.day] = found.get(day.day, Figures()).plus(day.figures)
    return found


async def add_up(connection: asyncpg.Connection, step: int = daily_figures.STEP) -> None:
    more = True
    while more:
        async with connection.transaction():
            more = await daily_figures.add_up(connection, step)


async def test_a_movement_counts_on_its_day_in_the_maldives(dsn: str, tenant: int) -> None:
    async with connection_to(dsn) as connection:
        second = timedelta(seconds=1)
        await pay(connection, tenant, MIDNIGHT - second)
        await pay(connection, tenant, MIDNIGHT, amount=200, fee=7)
        day = timedelta(days=1)
        await pay(connection, tenant, MIDNIGHT + day - second, refunded_at=MIDNIGHT + 2 * day)
        expected = {
            FIRST: Figures(payments=2, gross=300, fees=7),
            FIRST + 2 * day: Figures(refunds=1, refunded=100),
        }
        assert await by_day(connection, tenant) == expected
        await add_up(connection)
        assert await by_day(connection, tenant) == expected
        assert await connection.fetchval("SELECT count(*) FROM daily_figures") == 3
    assert expected[FIRST].net == 293


async def test_what_is_added_up_and_what_is_newer_make_the_whole(dsn: str, tenant: int) -> None:
    chance = random.Random(7)
    async with connection_to(dsn) as connection:
        seen: list[dict[date, Figures]] = []
        for number in range(60):
            at = MIDNIGHT + timedelta(hours=chance.randrange(24 * SPAN_DAYS))
            label = chance.choice([None, "Till 1", "Till 2"])
            refunded_at = at + timedelta(hours=1) if chance.random() < 0.3 else None
            await pay(connection, tenant, at, fee=3, label=label, refunded_at=refunded_at)
            if number % 7 == 0:
                before = await by_day(connection, tenant)
                await add_up(connection, chance.choice([200, daily_figures.STEP]))
                assert await by_day(connection, tenant) == before
                seen.append(before)
        total = sum(day.payments for day in (await by_day(connection, tenant)).values())
        assert total == 60
        assert len(seen) == 9
        span = Span(tenant, FIRST, FIRST + timedelta(days=SPAN_DAYS))
        labels = {day.terminal_label for day in await figures.of_days(connection, span)}
        assert labels == {"", "Till 1", "Till 2"}


async def test_a_transaction_that_ends_late_is_not_lost(dsn: str, tenant: int) -> None:
    """It has a lower number than others that were added up before it was committed."""
    async with connection_to(dsn) as late, connection_to(dsn) as other:
        transaction = late.transaction()
        await transaction.start()
        await pay(late, tenant, MIDNIGHT, amount=5)
        await pay(other, tenant, MIDNIGHT, amount=7)
        await add_up(other)
        assert (await by_day(other, tenant))[FIRST].gross == 7
        await transaction.commit()
        assert (await by_day(other, tenant))[FIRST].gross == 12
        await add_up(other)
        assert (await by_day(other, tenant))[FIRST].gross == 12
        await pay(other, tenant, MIDNIGHT, amount=1)
        await add_up(other)
        assert (await by_day(other, tenant))[FIRST].gross == 13


async def test_two_processes_add_everything_once(dsn: str, tenant: int) -> None:
    async with connection_to(dsn) as connection:
        for _ in range(30):
            await pay(connection, tenant, MIDNIGHT, amount=1)

    async def work() -> None:
        async with connection_to(dsn) as connection:
            for _ in range(5):
                await add_up(connection, 50)

    await asyncio.gather(work(), work(), work())
    async with connection_to(dsn) as connection:
        assert (await by_day(connection, tenant))[FIRST].gross == 30


async def test_what_is_undone_counts_nothing(dsn: str, tenant: int) -> None:
    async with connection_to(dsn) as connection:
        await pay(connection, tenant, MIDNIGHT)
        transaction = connection.transaction()
        await transaction.start()
        await daily_figures.add_up(connection)
        await transaction.rollback()
        assert (await by_day(connection, tenant))[FIRST].payments == 1
        await add_up(connection)
        assert (await by_day(connection, tenant))[FIRST].payments == 1


async def test_another_merchant_sees_nothing_of_it(dsn: str, tenant: int) -> None:
    async with connection_to(dsn) as connection:
        await pay(connection, tenant, MIDNIGHT)
        other = await connection.fetchval(
            "SELECT id FROM tenants WHERE mode = 'sandbox' AND merchant_id = "
            "(SELECT merchant_id FROM tenants WHERE id = $1)",
            tenant,
        )
        assert await by_day(connection, other) == {}
        await add_up(connection)
        assert await by_day(connection, other) == {}
