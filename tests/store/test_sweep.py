from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from laari.store.database import open_pool
from laari.store.sweep import forget_saved_responses

NOW = datetime(2027, 7, 1, 12, tzinfo=UTC)
LIVE, SANDBOX = 1, 2


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[asyncpg.Pool]:
    pool = await open_pool(dsn, 2)
    await pool.execute(
        "INSERT INTO merchants"
        " (id, name, mode, secret_digest, secret_encrypted, fee_bps, fee_fixed, sandbox_account)"
        " VALUES ('m1', 'Shop', 'live', decode(repeat('00', 32), 'hex'), '', 0, 0, 1)"
    )
    await pool.execute(
        "INSERT INTO tenants (id, merchant_id, mode) OVERRIDING SYSTEM VALUE"
        f" VALUES ({LIVE}, 'm1', 'live'), ({SANDBOX}, 'm1', 'sandbox')"
    )
    yield pool
    await pool.close()


async def save(pool: asyncpg.Pool, tenant: int, key: str, completed_at: datetime) -> None:
    await pool.execute(
        "INSERT INTO saved_responses (tenant_id, operation, key, fingerprint, status, body,"
        " completed_at) VALUES ($1, 'payments', $2, $3, 201, '', $4)",
        *(tenant, key, bytes(32), completed_at),
    )


async def left(pool: asyncpg.Pool) -> set[str]:
    return {row["key"] for row in await pool.fetch("SELECT key FROM saved_responses")}


async def test_responses_are_kept_for_24_hours_after_completion(pool: asyncpg.Pool) -> None:
    await save(pool, LIVE, "old", NOW - timedelta(hours=24, seconds=1))
    await save(pool, LIVE, "kept", NOW - timedelta(hours=24))
    assert await forget_saved_responses(pool, NOW) == 1
    assert await left(pool) == {"kept"}


@pytest.mark.parametrize("offset", [timedelta(days=90), timedelta(days=-90)])
async def test_a_sandbox_counts_by_its_own_clock(pool: asyncpg.Pool, offset: timedelta) -> None:
    await pool.execute(
        "UPDATE tenants SET clock_offset_seconds = $1 WHERE id = $2",
        *(int(offset.total_seconds()), SANDBOX),
    )
    own_now = NOW + offset
    await save(pool, SANDBOX, "old", own_now - timedelta(hours=24, seconds=1))
    await save(pool, SANDBOX, "kept", own_now - timedelta(hours=23))
    await save(pool, LIVE, "live", NOW - timedelta(hours=23))
    assert await forget_saved_responses(pool, NOW) == 1
    assert await left(pool) == {"kept", "live"}


async def test_it_works_in_chunks_and_passes_by_what_is_being_written(
    pool: asyncpg.Pool,
) -> None:
    for number in range(7):
        await save(pool, LIVE, f"old{number}", NOW - timedelta(days=2))
    async with pool.acquire() as other, other.transaction():
        await other.execute("UPDATE saved_responses SET status = 200 WHERE key = 'old3'")
        assert await forget_saved_responses(pool, NOW, chunk=3) == 6
    assert await left(pool) == {"old3"}
