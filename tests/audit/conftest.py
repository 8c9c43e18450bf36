"""Books that have grown old."""

import pytest

from laari.store.postgres.pool import connection_to
from tests.audit.aging import (
    try_in_sandbox,
)
from tests.audit.books import seal_all, write_books, write_more


@pytest.fixture
async def books(dsn: str) -> str:
    """Something of everything, sealed, with deliveries that ended long ago."""
    await write_books(dsn)
    await write_more(dsn)
    await try_in_sandbox(dsn)
    async with connection_to(dsn) as connection:
        await connection.execute(
            "UPDATE deliveries SET next_attempt_at = now() - interval '2 hours' "
            "WHERE status <> 'pending'"
        )
    await seal_all(dsn)
    return dsn
