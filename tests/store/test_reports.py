"""Reports take one processor only."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import asyncpg

from laari.store import reports
from laari.store.database import connection_to
from laari.store.reports import Span

NOW = datetime(2026, 5, 1, tzinfo=UTC)
SPAN = Span(1, NOW - timedelta(days=30), NOW)


async def test_what_a_report_sets_ends_with_it(dsn: str) -> None:
    async with connection_to(dsn) as connection:
        before = await _settings(connection)
        assert await reports.by_day(connection, SPAN) == []
        assert await _settings(connection) == before
        async with connection.transaction():
            await connection.execute(reports._ADDING_UP)
            assert await _settings(connection) == ["force_custom_plan", "0"]


async def _settings(connection: asyncpg.Connection) -> list[str]:
    names = ("plan_cache_mode", "max_parallel_workers_per_gather")
    return [await connection.fetchval("SELECT current_setting($1)", name) for name in names]
