"""Settings for some statements of a transaction that reads."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from asyncpg import Connection


@asynccontextmanager
async def local_settings(connection: Connection, **settings: str) -> AsyncIterator[None]:
    """Settings for the block; an error in it leaves the transaction usable.

    The savepoint is always rolled back: settings would outlive its release.
    """
    savepoint = connection.transaction()
    await savepoint.start()
    try:
        for name, value in settings.items():
            await connection.execute(f"SET LOCAL {name} = '{value}'")
        yield
    finally:
        await savepoint.rollback()
