"""A copy of rows that is given up leaves nothing behind that waits for ever."""

import asyncio

import asyncpg
import pytest

from laari.store.audit import report
from laari.store.audit.difference import Difference
from laari.store.ledger import sealed_rows
from laari.store.ledger.copy_digest import CopyDigest


async def test_a_copy_that_is_cancelled_after_its_last_row_ends(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL has answered already, so it does not answer a request to cancel."""
    monkeypatch.setattr(sealed_rows, "PAUSE_SECONDS", 60)
    connection = await asyncpg.connect(dsn)

    async def work() -> None:
        async with connection.transaction():
            await sealed_rows.copy(connection, CopyDigest(), "SELECT 1")

    working = asyncio.create_task(work())
    await asyncio.sleep(0.3)  # until its only piece has come
    working.cancel()
    done, _ = await asyncio.wait([working], timeout=10)
    connection.terminate()
    assert done


async def test_the_error_that_ends_an_audit_is_the_one_it_tells(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy on the audit's own connection is given up because a check beside it fails."""
    monkeypatch.setattr(sealed_rows, "PAUSE_SECONDS", 60)
    connection, beside = await asyncpg.connect(dsn), await asyncpg.connect(dsn)

    async def copies(own: asyncpg.Connection) -> list[Difference]:
        await sealed_rows.copy(own, CopyDigest(), "SELECT 1")
        return []

    async def fails(own: asyncpg.Connection) -> list[Difference]:
        await asyncio.sleep(0.3)  # until the only piece of the copy has come
        await own.execute("SELECT nothing")
        return []

    steps = [("copies", copies), ("fails", fails)]
    with pytest.raises(asyncpg.UndefinedColumnError):
        async with report.one_snapshot(connection):
            await report._run(connection, [beside], steps, False, lambda *_: None)
    await beside.close()
