"""Saved responses are purged on their tenant's own clock."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from laari.store.counters.purge import purge_saved_responses
from laari.store.postgres.pool import connection_to
from tests.actors import change

NOW = datetime(2027, 7, 1, 12, tzinfo=UTC)
LIVE, SANDBOX = 1, 2


@pytest.fixture
async def connection(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    async with connection_to(dsn) as connection:
        await change(
            connection,
            "INSERT INTO merchants"
            " (id, name, mode, secret_digest, secret_encrypted, fee_bps, fee_fixed,"
            " sandbox_account)"
            " VALUES ('m1', 'Shop', 'live', decode(repeat('00', 32), 'hex'), '', 0, 0, 1)",
        )
        await change(
            connection,
            "INSERT INTO tenants (id, merchant_id, mode) OVERRIDING SYSTEM VALUE"
            f" VALUES ({LIVE}, 'm1', 'live'), ({SANDBOX}, 'm1', 'sandbox')",
        )
        yield connection


async def save(
    connection: asyncpg.Connection, tenant: int, key: str, completed_at: datetime
) -> None:
    await connection.execute(
        "INSERT INTO saved_responses (tenant_id, operation, key, fingerprint, status, code, body,"
        " completed_at) VALUES ($1, 'payments', $2, $3, 201, '', '', $4)",
        tenant,
        key,
        bytes(32),
        completed_at,
    )


async def left(connection: asyncpg.Connection) -> set[str]:
    return {row["key"] for row in await connection.fetch("SELECT key FROM saved_responses")}


async def test_responses_are_kept_for_24_hours_after_completion(
    connection: asyncpg.Connection,
) -> None:
    await save(connection, LIVE, "old", NOW - timedelta(hours=24, seconds=1))
    await save(connection, LIVE, "kept", NOW - timedelta(hours=24))
    assert await purge_saved_responses(connection, NOW) == 1
    assert await left(connection) == {"kept"}


@pytest.mark.parametrize("offset", [timedelta(days=90), timedelta(days=-90)])
async def test_a_sandbox_counts_by_its_own_clock(
    connection: asyncpg.Connection, offset: timedelta
) -> None:
    await connection.execute(
        "UPDATE tenants SET clock_offset_seconds = $1 WHERE id = $2",
        int(offset.total_seconds()),
        SANDBOX,
    )
    own_now = NOW + offset
    await save(connection, SANDBOX, "old", own_now - timedelta(hours=24, seconds=1))
    await save(connection, SANDBOX, "kept", own_now - timedelta(hours=23))
    await save(connection, LIVE, "live", NOW - timedelta(hours=23))
    assert await purge_saved_responses(connection, NOW) == 1
    assert await left(connection) == {"kept", "live"}


async def test_it_works_in_chunks_and_passes_by_what_is_being_written(
    dsn: str, connection: asyncpg.Connection
) -> None:
    for number in range(7):
        await save(connection, LIVE, f"old{number}", NOW - timedelta(days=2))
    async with connection_to(dsn) as other, other.transaction():
        await other.execute("UPDATE saved_responses SET status = 200 WHERE key = 'old3'")
        assert await purge_saved_responses(connection, NOW, most=3) == 6
    assert await left(connection) == {"old3"}


async def test_nothing_is_read_that_is_not_removed(connection: asyncpg.Connection) -> None:
    """Clocks that were moved back leave rows of the future behind, and they stay where they are."""
    await connection.execute(
        "UPDATE tenants SET clock_offset_seconds = -86400 * 90 WHERE id = $1", SANDBOX
    )
    await connection.execute(
        "INSERT INTO saved_responses (tenant_id, operation, key, fingerprint, status, code, body,"
        " completed_at) SELECT $1, 'payments', n::text, $2, 201, '', '', $3 "
        "FROM generate_series(1, 20000) n",
        SANDBOX,
        bytes(32),
        NOW - timedelta(days=2),
    )
    await save(connection, LIVE, "old", NOW - timedelta(days=2))
    await connection.execute("ANALYZE saved_responses")
    before = await blocks_read(connection)
    assert await purge_saved_responses(connection, NOW) == 1
    assert await blocks_read(connection) - before < 40


async def blocks_read(connection: asyncpg.Connection) -> int:
    await connection.execute("SELECT pg_stat_force_next_flush()")
    return await connection.fetchval(
        "SELECT heap_blks_read + heap_blks_hit FROM pg_statio_user_tables "
        "WHERE relname = 'saved_responses'"
    )
