"""Counting the wallet interface's requests, straight on the database."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from uuid import uuid4

import asyncpg
import pytest

from laari.store.counters.wallet_windows import KeyUse, count_use
from laari.store.postgres.pool import connection_to
from tests.actors import change


@pytest.fixture
async def connection(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    async with connection_to(dsn) as connection:
        yield connection


def key(number: int) -> bytes:
    return number.to_bytes(32, "big")


async def open_wallet(connection: asyncpg.Connection, *keys: bytes) -> int:
    customer = uuid4()
    await change(
        connection,
        "INSERT INTO customers (id, name, mode) VALUES ($1, 'Aishath', 'live')",
        customer,
    )
    await change(
        connection,
        "INSERT INTO wallets (customer_id, mode, tier) VALUES ($1, 'live', 'basic')",
        customer,
    )
    account: int = await connection.fetchval("SELECT max(account) FROM wallets")
    for one in keys:
        await change(
            connection,
            "INSERT INTO wallet_keys (digest, account, name) VALUES ($1, $2, 'test')",
            one,
            account,
        )
    return account


async def numbers(connection: asyncpg.Connection, *keys: bytes) -> list[int | None]:
    return [found and found.number for found in await count_use(connection, list(keys))]


async def test_requests_are_numbered_in_the_order_they_came(
    connection: asyncpg.Connection,
) -> None:
    mine = await open_wallet(connection, key(1), key(9))
    other = await open_wallet(connection, key(2))
    first = await count_use(connection, [key(9), key(2), key(1), key(5), key(9)])
    assert first == [
        KeyUse(mine, 1, 60),
        KeyUse(other, 1, 60),
        KeyUse(mine, 2, 60),
        None,  # nobody's
        KeyUse(mine, 3, 60),
    ]
    assert await numbers(connection, key(2), key(1), key(2)) == [2, 4, 3]


async def test_unknown_and_revoked_keys_are_not_counted(connection: asyncpg.Connection) -> None:
    await open_wallet(connection, key(1), key(2))
    await change(connection, "UPDATE wallet_keys SET revoked_at = now() WHERE digest = $1", key(1))
    assert await numbers(connection, key(1), key(3)) == [None, None]
    assert await connection.fetchval("SELECT count(*) FROM wallet_windows") == 0
    assert await numbers(connection, key(1), key(2), key(1)) == [None, 1, None]


@pytest.mark.parametrize(
    ("age", "number", "seconds_left"),
    [("59.5 seconds", 8, 1), ("30.5 seconds", 8, 30), ("60 seconds", 1, 60), ("1 day", 1, 60)],
)
async def test_a_window_lasts_60_seconds_from_its_first_request(
    connection: asyncpg.Connection, age: str, number: int, seconds_left: int
) -> None:
    account = await open_wallet(connection, key(1))
    assert await numbers(connection, *[key(1)] * 7) == [1, 2, 3, 4, 5, 6, 7]
    async with connection.transaction():  # at one moment: the age is exact
        await connection.execute(f"UPDATE wallet_windows SET opened_at = now() - interval '{age}'")
        assert await count_use(connection, [key(1)]) == [KeyUse(account, number, seconds_left)]


async def test_no_number_is_given_twice_and_nobody_deadlocks(
    dsn: str, connection: asyncpg.Connection
) -> None:
    """Sixteen connections, each asking for four wallets in an order of its own."""
    keys = [key(number) for number in range(4)]
    accounts = [await open_wallet(connection, one) for one in keys]
    given: dict[int, Counter[int]] = {account: Counter() for account in accounts}

    async def ask(turn: int) -> None:
        ordered = keys[turn % 4 :] + keys[: turn % 4]
        async with connection_to(dsn) as own:
            for _ in range(20):
                for found in await count_use(own, ordered * 2):
                    assert found is not None
                    given[found.account][found.number] += 1

    await asyncio.gather(*map(ask, range(16)))
    for counted in given.values():
        assert counted == Counter(range(1, 16 * 20 * 2 + 1))
