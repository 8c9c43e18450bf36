"""Whoever sends webhooks is told of a commit soon after it, and not in it."""

import asyncio
from statistics import median
from time import monotonic

import asyncpg

from laari.rules.payments.payments import CancelPayment, CreatePayment, PaymentDraft
from laari.rules.records.payments import Payment
from laari.store.batch import announce
from laari.store.batch.announce import Announcer
from laari.store.batch.runner import BatchRunner
from laari.store.outbox.deliveries import CHANNEL
from laari.store.postgres.pool import open_pool
from laari.store.reads import tenants
from laari.workers.webhooks.sender import Sender
from laari.workers.webhooks.windows import WindowLimits
from tests.actors import OPERATOR, change
from tests.webhooks.receivers import Receiver
from tests.webhooks.shops import at, delivering, open_shop, until


async def test_a_payment_is_told_of_within_100_ms_of_its_commit(
    dsn: str, connection: asyncpg.Connection, open_sender: Sender, plain: Receiver
) -> None:
    shop = await open_shop(connection, at(plain))
    tenant = (await tenants.by_id(connection, [shop.tenant_id]))[shop.tenant_id]
    pool = await open_pool(dsn)
    announcer = Announcer(pool)
    runner = BatchRunner(dsn, "http://laari.test", announce=announcer)
    waits = []
    async with delivering(dsn, open_sender, limits=WindowLimits(poll_seconds=60)):
        await asyncio.sleep(0.2)
        for number in range(1, 8):
            await runner.run([CreatePayment(tenant, PaymentDraft(f"A-{number}", 100))], 1)
            committed = monotonic()
            await until(lambda count=number: len(plain.received) == count)
            waits.append(plain.received[-1].at - committed)
            await asyncio.sleep(0.05)
    await runner.close()
    await announcer.close()
    await pool.close()
    assert median(waits) < 0.1


async def test_many_commits_are_told_of_by_few_announcements(
    dsn: str, connection: asyncpg.Connection
) -> None:
    told: list[str] = []
    await connection.add_listener(CHANNEL, lambda *heard: told.append(heard[2]))
    pool = await open_pool(dsn)
    announcer = Announcer(pool)
    for _ in range(200):
        announcer()
        await asyncio.sleep(0)
    await announcer.close()
    await connection.execute("SELECT 1")
    assert 1 <= len(told) <= 20
    await pool.close()


async def test_the_commit_itself_notifies_nobody(
    dsn: str, connection: asyncpg.Connection, plain: Receiver
) -> None:
    """The lock that NOTIFY takes at commit is held through the sync, by one at a time."""
    shop = await open_shop(connection, at(plain))
    tenant = (await tenants.by_id(connection, [shop.tenant_id]))[shop.tenant_id]
    told: list[str] = []
    await connection.add_listener(CHANNEL, lambda *heard: told.append(heard[2]))
    announced: list[int] = []
    runner = BatchRunner(dsn, "http://laari.test", announce=lambda: announced.append(1))
    [payment] = await runner.run([CreatePayment(tenant, PaymentDraft("B-1", 100))], 1)
    assert isinstance(payment, Payment)
    await runner.run([CancelPayment(tenant, payment.id, OPERATOR)], 1)  # one that takes locks
    await connection.execute("SELECT 1")
    assert (told, announced) == ([], [1, 1])
    await change(connection, "UPDATE merchants SET webhooks_enabled = false")
    await runner.run([CreatePayment(tenant, PaymentDraft("B-2", 100))], 1)
    assert announced == [1, 1]  # nothing was to be sent
    await runner.close()


async def test_an_announcer_without_a_database_gives_up_quietly(dsn: str) -> None:
    pool = await open_pool(dsn)
    await pool.close()

    async def fail(query: object) -> None:
        raise announce.UnavailableError("away")

    pool.write_each = fail  # type: ignore[assignment]
    announcer = Announcer(pool)
    announcer()
    await announcer.close()
