"""Reads that may lag: on a real standby while it is fit, and never on one that would mislead."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest

from laari.store import standby
from laari.store.database import Pool
from laari.store.last_seal_file import KnownSeal
from laari.store.standby import NOT_YET, LaggingReads, Mark, State, obstacle
from tests.replication import Pair, copy_of, replicated

AT = datetime(2026, 11, 15, 12, tzinfo=UTC)
SEAL = KnownSeal(7, bytes(32))
OLD_SEAL = KnownSeal(6, bytes(32))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with replicated(tmp_path_factory.mktemp("pair")) as pair:
        yield pair


class Reads:
    """Reads on a standby, with looks when the test takes them, and where each was done."""

    def __init__(self, lagging: LaggingReads, done: list[bool]) -> None:
        self.lagging = lagging
        self.done = done

    async def on_standby(self) -> bool:
        """Where a read is done now, as counted and as the server itself says."""
        found = await self.lagging.read(asyncpg.Connection.fetchval, "SELECT pg_is_in_recovery()")
        assert found == self.done[-1]
        return found

    async def fit(self) -> None:
        """Looks until the standby is used."""
        async with asyncio.timeout(10):
            while not self.lagging.is_fit:
                await self.lagging.look()
                await asyncio.sleep(0.1)


@asynccontextmanager
async def reading(primary: str, standby: str) -> AsyncIterator[Reads]:
    pool, done = Pool(primary), list[bool]()
    lagging = LaggingReads(standby, pool, done.append)
    try:
        yield Reads(lagging, done)
    finally:
        await lagging.close()
        await pool.close()


def mark(seconds: float, seal: KnownSeal | None = SEAL) -> Mark:
    """The primary, so many seconds after it was noon."""
    return Mark(1, 2, seal, AT + timedelta(seconds=seconds), 100.0 + seconds)


def state(seconds: float, **other: object) -> State:
    replayed = AT + timedelta(seconds=seconds)
    return State(True, replayed, 1, 2, frozenset({SEAL, OLD_SEAL}))._replace(**other)


@pytest.mark.parametrize(
    ("found", "now", "reason"),
    [
        (state(4), 4, None),
        (state(2), 17, None),
        (state(2), 17.1, "more than 15 seconds behind"),
        (state(-1), 17, "more than 15 seconds behind"),
        (state(-1), 4, NOT_YET),
        (state(0, replayed_at=None), 4, NOT_YET),
        (state(0, replayed_at=None), 16, "more than 15 seconds behind"),
        (state(4, in_recovery=False), 4, "no standby"),
        (state(4, cluster=9), 4, "another database"),
        (state(4, database=9), 4, "another database"),
        (state(4, seals=frozenset()), 4, "history is another one"),
        (state(4, seals=frozenset({KnownSeal(7, b"x" * 32)})), 4, "history is another one"),
        # What was sealed after the moment that it has reached it need not have.
        (state(1, seals=frozenset({OLD_SEAL})), 4, None),
    ],
)
def test_what_a_standby_has_to_show(found: State, now: float, reason: str | None) -> None:
    marks = [mark(0, OLD_SEAL), mark(2), mark(4)]
    result = obstacle(found, marks, 100.0 + now)
    assert result is None if reason is None else reason in str(result)


def test_a_standby_is_not_used_before_the_primary_was_heard() -> None:
    assert "not been heard" in str(obstacle(state(4), [], 104.0))


async def test_reads_are_done_on_the_standby(pair: Pair) -> None:
    async with reading(pair.primary, pair.standby) as reads:
        assert not await reads.on_standby()  # nobody has looked yet
        await reads.fit()
        assert await reads.on_standby()


async def test_a_standby_of_a_primary_with_nothing_to_do_stays_fit(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last transaction would be old, if the looks did not make new ones."""
    monkeypatch.setattr(standby, "LAG_SECONDS", 1.0)
    async with reading(pair.primary, pair.standby) as reads:
        await reads.fit()
        for _ in range(8):
            await asyncio.sleep(0.4)
            await reads.lagging.look()
        assert await reads.on_standby()


async def test_a_standby_that_falls_behind_is_not_used_until_it_has_caught_up(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(standby, "LAG_SECONDS", 1.0)
    async with reading(pair.primary, pair.standby) as reads:
        await reads.fit()
        await pair.ask_standby("SELECT pg_wal_replay_pause()")
        try:
            await asyncio.sleep(1.2)
            assert not await reads.on_standby()  # found at the read, before any look
            await reads.lagging.look()
            assert not reads.lagging.is_fit
        finally:
            await pair.ask_standby("SELECT pg_wal_replay_resume()")
        await reads.fit()
        assert await reads.on_standby()
    warnings = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == [
        "the standby for reads is not used, the primary is: it is more than 1 seconds behind",
        "the standby for reads is used again",
    ]


async def test_a_read_that_meets_a_conflict_is_done_on_the_primary(pair: Pair) -> None:
    await pair.execute(
        "CREATE TABLE IF NOT EXISTS fleeting AS SELECT generate_series(1, 1000) AS n",
    )
    await pair.replayed()
    await pair.configure_standby("max_standby_streaming_delay", "0")

    async def clean_up() -> None:
        await asyncio.sleep(0.3)
        await pair.execute("DELETE FROM fleeting", "VACUUM fleeting")

    slowly = "SELECT (SELECT pg_is_in_recovery()), count(*), pg_sleep(1) FROM fleeting"
    async with reading(pair.primary, pair.standby) as reads:
        await reads.fit()
        cleaning = asyncio.create_task(clean_up())
        on_standby, *_ = await reads.lagging.read(asyncpg.Connection.fetchrow, slowly)
        await cleaning
        assert not on_standby
        assert reads.done == [False]
        assert await reads.on_standby()  # nothing is wrong with it


async def test_what_is_wrong_with_the_statement_is_said_by_the_primary(pair: Pair) -> None:
    async with reading(pair.primary, pair.standby) as reads:
        await reads.fit()
        with pytest.raises(asyncpg.UndefinedTableError):
            await reads.lagging.read(asyncpg.Connection.fetchval, "SELECT FROM nowhere")
        assert await reads.on_standby()


async def test_the_standby_cannot_be_made_to_write(pair: Pair) -> None:
    async with reading(pair.primary, pair.standby) as reads:
        await reads.fit()
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
            await reads.lagging.read(asyncpg.Connection.execute, "DELETE FROM seals")


async def test_a_standby_that_falls_silent_delays_one_read_a_little(pair: Pair) -> None:
    async with reading(pair.primary, pair.standby) as reads:
        await reads.fit()
        with pair.frozen_standby():
            began = time.monotonic()
            assert not await reads.on_standby()
            assert time.monotonic() - began < 4
            began = time.monotonic()
            assert not await reads.on_standby()  # it is known now
            assert time.monotonic() - began < 1
            await reads.lagging.look()
            assert not reads.lagging.is_fit
        await reads.fit()


async def test_a_host_that_accepts_and_never_answers_is_never_used(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        async with reading(pair.primary, f"postgresql://x@127.0.0.1:{port}/laari") as reads:
            for _ in range(2):
                await reads.lagging.look()
                began = time.monotonic()
                assert not await reads.on_standby()
                assert time.monotonic() - began < 1
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1  # however often it is looked at


async def test_a_url_that_leads_to_the_primary_is_no_standby(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    async with reading(pair.primary, pair.primary) as reads:
        await reads.lagging.look()
        assert not reads.lagging.is_fit
    assert "it is no standby" in caplog.text


async def test_of_several_hosts_the_standby_is_taken(pair: Pair) -> None:
    async with reading(pair.primary, pair.both) as reads:
        await reads.fit()
        assert await reads.on_standby()


async def test_the_standby_of_another_cluster_is_not_used(
    tmp_path: Path, pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    with replicated(tmp_path) as other:
        async with reading(pair.primary, other.standby) as reads:
            await reads.lagging.look()
            assert not reads.lagging.is_fit
    assert "belongs to another database" in caplog.text


async def test_a_standby_of_a_copy_that_went_its_own_way_is_not_used(
    tmp_path: Path, pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    """Such as a staging system made of a backup: the same identifier, and commits of its own."""
    with (
        copy_of(pair.primary, tmp_path / "staging", standby=False) as staging,
        copy_of(staging.standby, tmp_path / "followed") as followed,
    ):
        await pair.execute(
            "INSERT INTO seals VALUES (1, 'events', 0, NULL, 1, NULL, 0, 0, "
            "decode(repeat('00', 32), 'hex'), now(), decode(repeat('ab', 32), 'hex'))"
        )
        async with reading(pair.primary, followed.standby) as reads:
            await reads.lagging.look()
            await followed.execute("SELECT pg_logical_emit_message(true, 'laari', '')")
            await followed.replayed()
            await reads.lagging.look()
            assert not reads.lagging.is_fit
    assert "its history is another one" in caplog.text


async def test_a_standby_that_is_promoted_or_ends_is_left(
    tmp_path: Path, pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    with copy_of(pair.primary, tmp_path / "second") as second:
        async with reading(pair.primary, second.standby) as reads:
            await reads.fit()
            assert await reads.on_standby()
            await asyncio.to_thread(second.promote)
            assert not await reads.on_standby()
            assert reads.done[-1] is False
            second.stop_standby()
            await reads.lagging.look()
            assert not reads.lagging.is_fit
            assert not await reads.on_standby()
    assert "it is no standby" in caplog.text
