"""`laari audit` on a standby: the same proof, of all that the primary had when it began."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from laari.cli.main import run
from laari.errors import LaariError
from laari.store import caught_up as catching_up
from laari.store import customers
from laari.store.caught_up import caught_up
from laari.store.database import connection_to
from laari.store.last_seal_file import KnownSeal, last_seal_file, note_seal
from laari.store.seals import last_seal
from tests.audit.books import MASTER_KEY, seal_all, write_books
from tests.replication import Pair, replicated

Audit = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with replicated(tmp_path_factory.mktemp("pair")) as pair:
        asyncio.run(write_books(pair.primary))
        asyncio.run(seal_all(pair.primary))
        yield pair


@pytest.fixture
def audit(
    pair: Pair,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Audit:
    monkeypatch.setenv("LAARI_DATABASE_URL", pair.primary)
    monkeypatch.setenv("LAARI_DATABASE_READ_URL", pair.standby)
    monkeypatch.setenv("LAARI_MASTER_KEY", "00" * 32)
    monkeypatch.setenv("LAARI_DATA_DIR", str(tmp_path))

    def command(*arguments: str) -> tuple[int, str, str]:
        status = run(["audit", *arguments])
        return (status, *capsys.readouterr())

    return command


def test_it_says_up_to_when_it_has_seen(audit: Audit) -> None:
    began = datetime.now(UTC)
    status, out, _ = audit("--json")
    report = json.loads(out)
    assert (status, report["ok"]) == (0, True)
    assert report["payments"] > 0
    assert report["last_seal"] is not None
    assert datetime.fromisoformat(report["standby_upto"]) >= began
    status, out, _ = audit()
    assert re.search(r"^Read on a standby that had everything up to 20", out, re.M)
    status, out, _ = audit("--primary", "--json")
    assert (status, json.loads(out)["standby_upto"]) == (0, None)
    assert audit("--since-seal")[0] == 0


def test_a_seal_that_is_noted_before_the_standby_has_it_is_not_lost(
    audit: Audit, pair: Pair, tmp_path: Path
) -> None:
    """The audit waits for the standby to come as far as the primary was."""

    async def seal_ahead() -> None:
        await pair.ask_standby("SELECT pg_wal_replay_pause()")
        async with connection_to(pair.primary) as connection:
            await customers.create(
                connection,
                name="Late",
                mode="live",
                tier="business",
                balance=100,
                password="x",
                email="late@customers.example",
            )
        await seal_all(pair.primary)
        async with connection_to(pair.primary) as connection:
            seal = await last_seal(connection)
            assert seal is not None
        note_seal(last_seal_file(tmp_path, MASTER_KEY), KnownSeal(seal.number, seal.mac))

    async def resume_later() -> None:
        await asyncio.sleep(1)
        await pair.ask_standby("SELECT pg_wal_replay_resume()")

    asyncio.run(seal_ahead())
    loop = asyncio.new_event_loop()
    resuming = loop.run_in_executor(None, lambda: asyncio.run(resume_later()))
    status, out, err = audit()
    loop.run_until_complete(resuming)
    loop.close()
    assert (status, "seal_lost" in out + err) == (0, False), out + err


def test_a_standby_that_does_not_catch_up_is_an_error(
    audit: Audit, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catching_up, "CATCH_UP_SECONDS", 1.0)
    asyncio.run(pair.ask_standby("SELECT pg_wal_replay_pause()"))
    try:
        status, out, err = audit()
        assert (status, out) == (1, "")
        assert "laari: the standby is more than 1 seconds behind the primary" in err
        assert audit("--primary")[0] == 0
    finally:
        asyncio.run(pair.ask_standby("SELECT pg_wal_replay_resume()"))


@pytest.mark.parametrize("away", ["primary", "another", "nowhere"])
def test_what_is_no_standby_of_the_database_is_an_error(
    audit: Audit, pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, away: str
) -> None:
    if away == "another":
        with replicated(tmp_path / "another") as other:
            monkeypatch.setenv("LAARI_DATABASE_READ_URL", other.standby)
            status, out, err = audit()
        reason = "LAARI_DATABASE_READ_URL: it belongs to another database: its identifier differs"
    elif away == "primary":
        monkeypatch.setenv("LAARI_DATABASE_READ_URL", pair.primary)
        status, out, err = audit()
        reason = "it is no standby"
    else:
        monkeypatch.setenv("LAARI_DATABASE_READ_URL", f"postgresql://x@/laari?host={tmp_path}")
        status, out, err = audit()
        reason = "cannot be reached"
    assert (status, out) == (1, "")
    assert reason in err
    assert err.count("\n") == 1


def test_damage_is_found_on_the_standby_too(audit: Audit, pair: Pair) -> None:
    damage = (
        "UPDATE wallets SET balance = balance + 1 "
        "WHERE account = (SELECT min(account) FROM wallets)"
    )
    asyncio.run(pair.execute(damage))
    try:
        status, out, _ = audit("--json")
        assert (status, json.loads(out)["ok"]) == (1, False)
    finally:
        asyncio.run(pair.execute(damage.replace("+ 1", "- 1")))


async def test_a_conflict_with_what_is_replayed_says_what_to_do(pair: Pair) -> None:
    await pair.execute("CREATE TABLE fleeting AS SELECT generate_series(1, 1000) AS n")

    async def clean_up() -> None:
        await asyncio.sleep(1)
        await pair.execute("DELETE FROM fleeting", "VACUUM fleeting")

    await pair.configure_standby("max_standby_streaming_delay", "0")
    cleaning = asyncio.create_task(clean_up())
    with pytest.raises(LaariError, match="hot_standby_feedback"):
        await _read_slowly(pair)
    await cleaning
    await pair.execute("DROP TABLE fleeting")


async def _read_slowly(pair: Pair) -> None:
    async with caught_up(pair.primary, pair.standby) as (connections, _):
        await connections[0].fetch("SELECT n, pg_sleep(1) FROM fleeting")
