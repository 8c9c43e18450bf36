"""Connections are lent to one query at a time, kept, and replaced where they were lost."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from laari.store.postgres.pool import Pool, connection_to, open_pool

MOST = 2


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[Pool]:
    pool = await open_pool(dsn, MOST)
    yield pool
    await pool.close()


async def process(connection: asyncpg.Connection) -> int:
    return await connection.fetchval("SELECT pg_backend_pid()")


async def process_after(connection: asyncpg.Connection, seconds: float) -> int:
    return await connection.fetchval("SELECT pg_backend_pid() FROM pg_sleep($1)", seconds)


async def end(dsn: str, *processes: int) -> None:
    async with connection_to(dsn) as other:
        for number in processes:
            await other.execute("SELECT pg_terminate_backend($1, 5000)", number)


async def test_one_connection_serves_queries_that_follow_each_other(pool: Pool) -> None:
    assert len({await pool.read(process) for _ in range(5)}) == 1
    assert (pool.size, pool.idle) == (1, 1)


async def test_no_more_than_so_many_are_open_and_the_others_wait(pool: Pool) -> None:
    running = [asyncio.create_task(pool.read(process_after, 0.1)) for _ in range(5)]
    await asyncio.sleep(0.05)
    assert (pool.size, pool.idle) == (MOST, 0)
    assert len(set(await asyncio.gather(*running))) == MOST
    assert (pool.size, pool.idle) == (MOST, MOST)


async def test_an_error_keeps_the_connection(pool: Pool) -> None:
    before = await pool.read(process)
    with pytest.raises(asyncpg.DivisionByZeroError):
        await pool.read(asyncpg.Connection.execute, "SELECT 1 / 0")
    assert await pool.read(process) == before


async def test_all_are_replaced_after_a_restart_of_the_database(dsn: str, pool: Pool) -> None:
    both = await asyncio.gather(pool.read(process_after, 0.1), pool.read(process_after, 0.1))
    await end(dsn, *both)
    after = await asyncio.gather(pool.read(process_after, 0.1), pool.read(process_after, 0.1))
    assert len({*both, *after}) == 2 * MOST


async def test_one_lost_in_the_middle_of_a_query_is_asked_again(dsn: str, pool: Pool) -> None:
    before = await pool.read(process)
    running = asyncio.create_task(pool.read(process_after, 0.3))
    await asyncio.sleep(0.1)
    await end(dsn, before)
    assert await running != before


async def test_whoever_gives_up_in_a_transaction_leaves_nothing_open(pool: Pool) -> None:
    async def stay(connection: asyncpg.Connection) -> None:
        await connection.execute("BEGIN")
        await connection.execute("SELECT pg_sleep(60)")

    before = await pool.read(process)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await pool.read(stay)
    assert await pool.read(process) != before
    assert (pool.size, pool.idle) == (1, 1)


async def test_closing_waits_for_what_is_under_way(dsn: str) -> None:
    pool = await open_pool(dsn, MOST)
    running = asyncio.create_task(pool.read(process_after, 0.1))
    await asyncio.sleep(0.01)
    await pool.close()
    assert running.done()
    assert pool.size == 0


async def test_a_database_that_cannot_be_reached_does_not_answer(pool: Pool) -> None:
    assert await pool.is_writable()
    assert not await Pool("postgresql:///laari?host=/nowhere", MOST).is_writable()
