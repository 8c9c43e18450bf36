"""Settings for some statements of a transaction that reads."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from asyncpg import Connection


@asynccontextmanager
async def local_settings(connection: Connection, **settings: str) -> AsyncIterator[None]:
    """Within it these settings hold, and what fails leaves the transaction to go on.

    The savepoint is rolled back in any case: settings would outlive it if it were released.
    """
    savepoint = connection.transaction()
    await savepoint.start()
    try:
        for name, value in settings.items():
            await connection.execute(f"SET LOCAL {name} = '{value}'")
        yield
    finally:
        await savepoint.rollback()
