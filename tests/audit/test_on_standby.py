"""`laari audit` on a standby: the same proof, of all that the primary had when it began."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from laari.cli.main import run
from laari.errors import LaariError
from laari.store.audit import standby
from laari.store.audit.standby import caught_up
from laari.store.ledger.last_seal_file import KnownSeal, last_seal_file, note_seal
from laari.store.ledger.seals import last_seal
from laari.store.postgres.pool import connection_to
from tests.actors import OPERATOR
from tests.audit.books import MASTER_KEY, seal_all, write_books
from tests.making import make_customer
from tests.replication import Pair, copy_of, replicated

pytestmark = pytest.mark.ci

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
    monkeypatch.setenv("LAARI_MASTER_KEY", "00" * 32)
    monkeypatch.setenv("LAARI_DATA_DIR", str(tmp_path))

    def command(*arguments: str, url: str = pair.standby) -> tuple[int, str, str]:
        status = run(["audit", "--standby", url, *arguments])
        return (status, *capsys.readouterr())

    return command


async def a_customer(dsn: str, email: str) -> None:
    async with connection_to(dsn) as connection:
        await make_customer(
            connection,
            OPERATOR,
            name="Late",
            mode="live",
            tier="business",
            balance=100,
            password="x",
            email=email,
        )


def test_it_proves_the_same_books(audit: Audit) -> None:
    status, out, _ = audit("--json")
    report = json.loads(out)
    assert (status, report["ok"]) == (0, True)
    assert report["payments"] > 0
    assert report["last_seal"] is not None
    assert audit("--since-seal")[0] == 0


def test_a_seal_that_is_noted_before_the_standby_has_it_is_not_lost(
    audit: Audit, pair: Pair, tmp_path: Path
) -> None:
    """The audit waits for the standby to come as far as the primary was."""

    async def seal_ahead() -> None:
        await pair.pause_replay()
        await a_customer(pair.primary, "late@customers.example")
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
    monkeypatch.setattr(standby, "CATCH_UP_SECONDS", 1.0)
    asyncio.run(pair.pause_replay())
    asyncio.run(a_customer(pair.primary, "unseen@customers.example"))
    try:
        status, out, err = audit()
        assert (status, out) == (1, "")
        assert "laari: the standby is more than 1 seconds behind the primary" in err
    finally:
        asyncio.run(pair.ask_standby("SELECT pg_wal_replay_resume()"))


@pytest.mark.parametrize("named", ["primary", "another", "both", "nowhere"])
def test_a_server_that_is_no_standby_of_the_database_is_refused(
    audit: Audit, pair: Pair, tmp_path: Path, named: str
) -> None:
    if named == "another":
        with replicated(tmp_path / "another") as other:
            status, out, err = audit(url=other.standby)
        reason = "--standby names a server of another cluster"
    elif named == "primary":
        status, out, err = audit(url=pair.primary)
        reason = "--standby names a server that follows no primary"
    elif named == "both":
        status, out, err = audit(url=pair.both)
        reason = "--standby is not the URL of one server"
    else:
        status, out, err = audit(url=f"postgresql://x@/laari?host={tmp_path}")
        reason = "cannot be reached"
    assert (status, out) == (1, "")
    assert reason in err
    assert err.count("\n") == 1


def test_a_copy_that_went_its_own_way_is_refused(audit: Audit, pair: Pair, tmp_path: Path) -> None:
    """A staging system that was made of a backup has the same identifier."""
    with (
        copy_of(pair.primary, tmp_path / "copy", standby=False) as copy,
        copy_of(copy.standby, tmp_path / "of-copy") as staging,
    ):
        asyncio.run(a_customer(pair.primary, "ours@customers.example"))
        asyncio.run(seal_all(pair.primary))
        # Its log has come further than ours.
        asyncio.run(
            staging.execute("SELECT pg_logical_emit_message(true, 'x', repeat('x', 9999999))")
        )
        status, out, err = audit(url=staging.standby)
    assert (status, out) == (1, "")
    assert "--standby names a copy with another history" in err


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
    async with caught_up(pair.primary, pair.standby, 1) as connections:
        await connections[0].fetch("SELECT n, pg_sleep(1) FROM fleeting")
