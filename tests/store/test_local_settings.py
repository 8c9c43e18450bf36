"""Settings for some statements end with these, whether they succeed or fail."""

import asyncpg
import pytest

from laari.store.postgres.connect import local_settings
from laari.store.postgres.pool import connection_to

SHOWN = "SELECT current_setting('work_mem'), current_setting('enable_sort')"


async def test_settings_end_with_what_they_are_for(dsn: str) -> None:
    async with connection_to(dsn) as connection, connection.transaction(readonly=True):
        await connection.execute("SET LOCAL work_mem = '128MB'")
        async with local_settings(connection, work_mem="4MB", enable_sort="off"):
            assert tuple(await connection.fetchrow(SHOWN)) == ("4MB", "off")
        assert tuple(await connection.fetchrow(SHOWN)) == ("128MB", "on")


async def test_what_fails_leaves_the_transaction_to_go_on(dsn: str) -> None:
    async with connection_to(dsn) as connection, connection.transaction(readonly=True):
        with pytest.raises(asyncpg.DivisionByZeroError):
            async with local_settings(connection, enable_sort="off"):
                await connection.fetchval("SELECT 1 / 0")
        assert (await connection.fetchrow(SHOWN))[1] == "on"
