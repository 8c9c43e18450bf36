"""What somebody with the database's password does to it, the audit names."""

import asyncio
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import pytest
import pytest_asyncio

from laari.store.audit import CHECKS, Report, audit
from laari.store.audit.coverage import columns_of
from laari.store.audit.covered import TABLES
from laari.store.ledger.last_seal_file import KnownSeal
from laari.store.ledger.sealed_rows import SUBJECTS
from laari.store.postgres.pool import connection_to
from tests.audit.books import KEY
from tests.audit.whole_books import write_whole

pytestmark = pytest.mark.ci

CATALOGUE = tomllib.loads(Path(__file__).with_name("catalogue.toml").read_text())["tampering"]


class Sealed(NamedTuple):
    dsn: str
    last: KnownSeal


@pytest.fixture(scope="module")
def sealed(engine: Any) -> Sealed:
    """A database with something of everything in it, all sealed."""

    dsn = engine.migrated("tampered")
    return Sealed(dsn, asyncio.run(write_whole(dsn)))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def connected(sealed: Sealed) -> AsyncIterator[asyncpg.Connection]:
    """One for all tests: each new one reads the whole schema for its first audit."""
    async with connection_to(sealed.dsn, seconds=3600) as own:
        yield own


@pytest_asyncio.fixture(loop_scope="module")
async def connection(connected: asyncpg.Connection) -> AsyncIterator[asyncpg.Connection]:
    """Within a transaction that is undone."""
    transaction = connected.transaction(isolation="repeatable_read")
    await transaction.start()
    yield connected
    await transaction.rollback()
    await connected.reload_schema_state()  # no statement was prepared before the tampering


async def look_at(connection: asyncpg.Connection, sealed: Sealed) -> Report:
    return await audit(connection, KEY, known=[sealed.last])


async def test_honest_books_are_not_accused(sealed: Sealed) -> None:
    async with connection_to(sealed.dsn) as own, connection_to(sealed.dsn) as other:
        report = await audit(own, KEY, known=[sealed.last], beside=[other])
    assert report.differences == []
    assert report.ok
    assert report.unsealed == dict.fromkeys(SUBJECTS, 0)
    assert report.last_seal is not None
    assert report.last_seal.number == sealed.last.number > 10


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("tampering", CATALOGUE, ids=[each["what"] for each in CATALOGUE])
async def test_tampering_is_named(
    connection: asyncpg.Connection, sealed: Sealed, tampering: dict[str, Any]
) -> None:
    await connection.execute(f"SET LOCAL session_replication_role = replica; {tampering['sql']}")
    report = await look_at(connection, sealed)
    kinds = {difference.kind for difference in report.differences}
    assert not report.ok
    assert set(tampering["named"]) <= kinds
    assert not kinds & set(tampering.get("unnamed", ()))


def test_every_check_is_tried(damage_kinds: set[str]) -> None:
    tried = {kind for tampering in CATALOGUE for kind in tampering["named"]} | damage_kinds
    # Those are tried for each column (tests/audit/test_coverage.py).
    for table in TABLES.values():
        tried.update(kind for column in columns_of(table) for kind in column.by.split())
    assert {check.kind for check in CHECKS if check.scope != "part"} <= tried


@pytest.fixture
def damage_kinds() -> set[str]:
    from tests.audit.test_damage import DAMAGE

    return set().union(*(kinds for _, kinds in DAMAGE))


@pytest.mark.asyncio(loop_scope="module")
async def test_the_place_is_named(connection: asyncpg.Connection, sealed: Sealed) -> None:
    await connection.execute(
        "SET LOCAL session_replication_role = replica; "
        "UPDATE transactions SET details = 'Gift' WHERE status = 'failed'"
    )
    xid, seal = await connection.fetchrow(
        "SELECT t.xid, s.number FROM transactions t JOIN seals s ON s.subject = 'transactions' "
        "AND s.from_xid < t.xid AND t.xid <= s.upto_xid WHERE t.status = 'failed'"
    )
    [difference] = (await look_at(connection, sealed)).differences
    assert (difference.kind, difference.id) == ("sealed_rows", f"seal {seal}")
    words = difference.expected.split()
    first, last = (
        int(words[words.index("transactions", 2) + 1]),
        int(words[words.index("to") + 1].rstrip(",")),
    )
    assert first <= xid <= last


async def test_another_master_key_accepts_no_seal(sealed: Sealed) -> None:
    async with connection_to(sealed.dsn) as own:
        report = await audit(own, bytes(range(32)))
    assert set(report.counts) == {"seal_mac"}
    assert report.counts["seal_mac"] == sealed.last.number
