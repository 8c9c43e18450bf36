"""Archived log: a database as it was at any moment after its backup."""

import asyncio
import gzip
import re
import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from laari.cli.main import run
from laari.engine.embedded import embedded_server
from laari.store.postgres.migrate import migrate
from laari.store.secrets import load_master_key
from tests.cli.installations import Commands, environment
from tests.engine.engines import ask

pytestmark = pytest.mark.ci


class History(NamedTuple):
    data: Path
    archive: Path
    saved: Path
    between: datetime  # after the second merchant was made, before the third
    end: datetime


def create(name: str) -> None:
    assert run(["merchant", "create", name, "--json"]) == 0


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """A database with one merchant in its backup, and two more in the log since."""
    place = tmp_path_factory.mktemp("history")
    data, archive, saved = place / "data", place / "it's the archive", place / "saved"
    load_master_key(data)
    with environment({"LAARI_DATA_DIR": str(data)}):
        with embedded_server(data, durable=False, wal_archive=str(archive)) as dsn:
            asyncio.run(migrate(dsn))
            create("first")
            assert run(["backup", str(saved), "--with-key"]) == 0
        # The server starts without the setting, and archives all the same.
        with embedded_server(data) as dsn:
            assert ask(dsn, "SHOW archive_mode") == "on"
            create("second")
            ask(dsn, "SELECT pg_switch_wal()")
            time.sleep(0.05)
            between = datetime.now(UTC)
            time.sleep(0.05)
            create("third")
    return History(data, archive, saved, between, datetime.now(UTC))


@pytest.fixture
def laari(capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(capsys)


def names(laari: Commands, data_dir: Path) -> set[str]:
    return {merchant["name"] for merchant in laari(data_dir, "merchant", "list", "--json").json}


def test_a_moment_comes_back(laari: Commands, history: History, tmp_path: Path) -> None:
    wal = ["--wal", history.archive]
    until = ["--until", history.between.isoformat()]
    back = laari(tmp_path / "new", "restore", history.saved, *wal, *until, "--json").json
    assert back["ok"] is True
    assert datetime.fromisoformat(back["last_transaction_at"]) < history.between
    assert names(laari, tmp_path / "new") == {"first", "second"}
    assert laari(tmp_path / "new", "audit", "--json").json["ok"] is True


def test_a_moment_without_offset_is_in_male(
    laari: Commands, history: History, tmp_path: Path
) -> None:
    local = (history.between + timedelta(hours=5)).replace(tzinfo=None).isoformat()
    wal = ["--wal", history.archive]
    laari(tmp_path / "new", "restore", history.saved, *wal, "--until", local)
    assert names(laari, tmp_path / "new") == {"first", "second"}


def test_all_of_the_log_is_replayed_and_the_copy_archives_elsewhere(
    laari: Commands, history: History, tmp_path: Path
) -> None:
    """What the copy writes can be restored as well; the first archive is left as it was."""
    before = {path.name: path.read_bytes() for path in history.archive.iterdir()}
    own = {"LAARI_WAL_ARCHIVE": str(tmp_path / "own")}
    wal = ["--wal", history.archive]
    assert laari(tmp_path / "new", "restore", history.saved, *wal, "--json", **own).json["ok"]
    assert names(laari, tmp_path / "new") == {"first", "second", "third"}
    laari(tmp_path / "new", "merchant", "create", "fourth")
    assert {path.name: path.read_bytes() for path in history.archive.iterdir()} == before

    both = [*wal, "--wal", tmp_path / "own"]
    assert laari(tmp_path / "again", "restore", history.saved, *both, "--json").json["ok"]
    assert names(laari, tmp_path / "again") == {"first", "second", "third", "fourth"}


def test_log_that_was_not_archived_yet_is_of_use(
    laari: Commands, history: History, tmp_path: Path
) -> None:
    """Segments as they lie in the `pg_wal` of a database that was lost."""
    part = Path(shutil.copytree(history.archive, tmp_path / "part"))
    (tmp_path / "pg_wal").mkdir()
    for segment in segments_of(part)[-2:]:
        plain = tmp_path / "pg_wal" / segment.name.removesuffix(".gz")
        plain.write_bytes(gzip.decompress(segment.read_bytes()))
        segment.unlink()
    laari(tmp_path / "short", "restore", history.saved, "--wal", part)
    assert "third" not in names(laari, tmp_path / "short")
    both = ["--wal", part, "--wal", tmp_path / "pg_wal"]
    laari(tmp_path / "new", "restore", history.saved, *both)
    assert names(laari, tmp_path / "new") == {"first", "second", "third"}


def segments_of(archive: Path) -> list[Path]:
    return sorted(path for path in archive.iterdir() if re.fullmatch(r"[0-9A-F]{24}.gz", path.name))


def test_moments_that_are_not_there(laari: Commands, history: History, tmp_path: Path) -> None:
    def refusal(moment: datetime) -> str:
        options = ["--wal", history.archive, "--until", moment.isoformat()]
        return laari(tmp_path / "new", "restore", history.saved, *options).refusal

    assert "choose an earlier backup" in refusal(history.between - timedelta(days=1))
    assert not (tmp_path / "new").exists()
    late = refusal(history.end + timedelta(days=1))
    assert "the archived log ends before" in late
    assert "its last transaction is of" in late
    # The directory is as good as new.
    assert laari(tmp_path / "new", "restore", history.saved, "--json").json["ok"] is True


def test_an_archive_with_a_gap_or_damage_is_refused(
    laari: Commands, history: History, tmp_path: Path
) -> None:
    segments = [path.name for path in segments_of(history.archive)]
    assert len(segments) >= 4
    damaged = Path(shutil.copytree(history.archive, tmp_path / "damaged"))
    content = (damaged / segments[-1]).read_bytes()
    (damaged / segments[-1]).write_bytes(content[:-20])
    refused = laari(tmp_path / "new", "restore", history.saved, "--wal", damaged).refusal
    assert "the archived log cannot be read" in refused

    (damaged / segments[-2]).unlink()
    refused = laari(tmp_path / "new", "restore", history.saved, "--wal", damaged).refusal
    assert "has a gap" in refused
    assert segments[-2].removesuffix(".gz") in refused
    assert not (tmp_path / "new" / "postgres").exists()


def test_an_archive_belongs_to_one_database(
    laari: Commands, history: History, tmp_path: Path
) -> None:
    taken = {"LAARI_WAL_ARCHIVE": str(history.archive)}
    for data_dir, command in ((tmp_path / "new", "restore"), (history.data, "backup")):
        place = history.saved if command == "restore" else history.archive / "inside"
        assert laari(data_dir, command, place, **taken).status == 1
    assert not (history.archive / "inside").exists()
    refused = laari(tmp_path / "new", "restore", history.saved, **taken).refusal
    assert "name an empty directory" in refused
    assert not (tmp_path / "new" / "postgres.restoring").exists()


def test_archiving_is_switched_only_while_nobody_else_is_there(
    laari: Commands, history: History, tmp_path: Path
) -> None:
    laari(tmp_path / "new", "restore", history.saved)
    archive = {"LAARI_WAL_ARCHIVE": str(tmp_path / "archive")}
    with embedded_server(tmp_path / "new"):
        refused = laari(tmp_path / "new", "merchant", "list", **archive).refusal
        assert "end all other laari processes" in refused
    assert laari(tmp_path / "new", "merchant", "list", **archive).status == 0
    with embedded_server(tmp_path / "new") as dsn:
        assert ask(dsn, "SHOW archive_mode") == "on"
    assert laari(tmp_path / "new", "merchant", "list", LAARI_WAL_ARCHIVE="off").status == 0
    with embedded_server(tmp_path / "new") as dsn:
        assert ask(dsn, "SHOW archive_mode") == "off"
    # What was not archived meanwhile is a gap: another archive has to begin.
    refused = laari(tmp_path / "new", "merchant", "list", **archive).refusal
    assert "name an empty directory" in refused


@pytest.mark.parametrize("name", ["data/inside", "missing/archive", "file"])
def test_places_where_no_archive_can_be(laari: Commands, tmp_path: Path, name: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "file").touch()
    refused = laari(tmp_path / "data", "init", LAARI_WAL_ARCHIVE=str(tmp_path / name)).refusal
    assert "LAARI_WAL_ARCHIVE" in refused
    assert not (tmp_path / "data" / "postgres").exists()


def test_payments_go_on_while_the_archive_is_away(
    laari: Commands, history: History, tmp_path: Path
) -> None:
    """Its disk is not mounted: the log waits, and nothing is written to the bare directory."""
    archive = tmp_path / "archive"
    setting = {"LAARI_WAL_ARCHIVE": str(archive)}
    laari(tmp_path / "new", "restore", history.saved, **setting)
    archive.rename(tmp_path / "away")
    archive.mkdir()
    assert laari(tmp_path / "new", "merchant", "create", "fourth", **setting).status == 0
    assert list(archive.iterdir()) == []
    assert "is not there" in (tmp_path / "new" / "postgres.log").read_text()
    archive.rmdir()
    (tmp_path / "away").rename(archive)
    before = len(segments_of(archive))
    assert laari(tmp_path / "new", "merchant", "list", **setting).status == 0
    assert len(segments_of(archive)) > before


def test_the_setting_is_for_the_embedded_database(laari: Commands, tmp_path: Path) -> None:
    refused = laari(
        tmp_path,
        "audit",
        LAARI_WAL_ARCHIVE=str(tmp_path),
        LAARI_DATABASE_URL="postgresql://x",
        LAARI_MASTER_KEY="00" * 32,
    ).refusal
    assert "LAARI_WAL_ARCHIVE is only for the embedded database" in refused
