"""The last use of OAuth clients: exact to a minute, without a write per request."""

import logging
from collections.abc import AsyncIterator
from datetime import datetime

import asyncpg
import pytest

from laari.store.counters import client_uses
from laari.store.counters.client_uses import ClientUses
from laari.store.postgres.pool import Pool, connection_to, open_pool
from tests import shops
from tests.actors import MASTER, OPERATOR
from tests.making import make_merchant


@pytest.fixture
async def connection(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    async with connection_to(dsn) as connection:
        yield connection


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[Pool]:
    pool = await open_pool(dsn)
    yield pool
    await pool.close()


async def make_client(connection: asyncpg.Connection) -> str:
    new = await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode="sandbox")
    return (await shops.create_client(connection, OPERATOR, MASTER, new.merchant.id, ""))[0].id


async def last_use(connection: asyncpg.Connection, client_id: str) -> datetime | None:
    return await connection.fetchval(
        "SELECT last_used_at FROM oauth_clients WHERE id = $1", client_id
    )


async def test_it_is_written_at_most_once_a_minute(connection: asyncpg.Connection) -> None:
    client, other = await make_client(connection), await make_client(connection)
    assert await last_use(connection, client) is None
    await client_uses.note_uses(connection, [client])
    first = await last_use(connection, client)
    assert first is not None
    await client_uses.note_uses(connection, [client])
    assert await last_use(connection, client) == first
    await connection.execute(
        "UPDATE oauth_clients SET last_used_at = now() - interval '61 seconds' WHERE id = $1",
        client,
    )
    await client_uses.note_uses(connection, [client])
    assert await last_use(connection, client) > first
    assert await last_use(connection, other) is None


async def test_a_process_does_not_even_try_for_each_request(
    connection: asyncpg.Connection, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[list[str]] = []

    async def note(_: asyncpg.Connection, client_ids: list[str]) -> None:
        tried.append(client_ids)

    monkeypatch.setattr(client_uses, "note_uses", note)
    uses = ClientUses(pool)
    for _ in range(100):
        uses.note("cl_one")
        uses.note("cl_two")
    await uses.close()
    assert [sorted(clients) for clients in tried] == [["cl_one", "cl_two"]]


async def test_a_use_reaches_the_database(connection: asyncpg.Connection, pool: Pool) -> None:
    client, uses = await make_client(connection), ClientUses(pool)
    uses.note(client)
    await uses.close()
    assert await last_use(connection, client) is not None


async def test_a_write_that_fails_fails_nothing_else(
    connection: asyncpg.Connection, pool: Pool, caplog: pytest.LogCaptureFixture
) -> None:
    client, uses = await make_client(connection), ClientUses(pool)
    await connection.execute("ALTER TABLE oauth_clients RENAME TO gone")
    with caplog.at_level(logging.INFO):
        uses.note(client)
        await uses.close()
    assert "was not written" in caplog.text


async def test_a_locked_client_is_not_waited_for(dsn: str, connection: asyncpg.Connection) -> None:
    client = await make_client(connection)
    async with connection.transaction():
        await shops.revoke_client(connection, OPERATOR, client)
        async with connection_to(dsn) as another:
            await another.execute("SET statement_timeout = '5s'")
            await client_uses.note_uses(another, [client])
    assert await last_use(connection, client) is None
