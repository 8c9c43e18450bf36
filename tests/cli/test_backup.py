"""`laari backup` and `laari restore` on an embedded database."""

import asyncio
import fcntl
import functools
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from laari.cli.main import run
from laari.engine.backup_files import INFO, read_info, write_info
from laari.engine.embedded import embedded_server
from laari.store.postgres.migrate import migrate
from laari.store.secrets import load_master_key
from tests.cli.installations import Commands, environment
from tests.engine.engines import ask

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data directory with a merchant in it; its server runs as it does under a service."""
    home = tmp_path_factory.mktemp("installation") / "data"
    load_master_key(home)
    with embedded_server(home, durable=False) as dsn:
        asyncio.run(migrate(dsn))
        with environment({"LAARI_DATA_DIR": str(home)}):
            assert run(["merchant", "create", "Kept", "--json"]) == 0
        yield home


@pytest.fixture(scope="module")
def saved(data: Path) -> Path:
    """A backup that no test changes."""
    folder = data.parent / "saved"
    with environment({"LAARI_DATA_DIR": str(data)}):
        assert run(["backup", str(folder), "--with-key", "--json"]) == 0
    return folder


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    """A backup to be tampered with."""
    return Path(shutil.copytree(saved, tmp_path / "copy"))


@pytest.fixture
def laari(capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(capsys)


def names(laari: Commands, data_dir: Path) -> list[str]:
    return [merchant["name"] for merchant in laari(data_dir, "merchant", "list", "--json").json]


def test_what_was_saved_comes_back(laari: Commands, data: Path, tmp_path: Path) -> None:
    made = laari(data, "backup", tmp_path / "b", "--json").json
    assert made["path"] == str(tmp_path / "b")
    assert made["verified"] is True
    assert made["wal"]["timeline"] == 1
    assert made["wal"]["start"] < made["wal"]["end"]
    files = [path for path in (tmp_path / "b").rglob("*") if path.is_file()]
    assert made["files"] == len(files) - 1  # what says so is not counted
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o700
    assert not (tmp_path / "b.partial").exists()

    key = ["--key-file", data / "master.key"]
    back = laari(tmp_path / "new", "restore", tmp_path / "b", *key, "--json").json
    assert back["audited"] is back["ok"] is True
    assert back["differences"] == []
    assert back["path"] == str(tmp_path / "new")
    assert back["timeline"] == 2
    assert names(laari, tmp_path / "new") == ["Kept"]
    assert laari(tmp_path / "new", "audit", "--json").json["ok"] is True
    assert (tmp_path / "new" / "master.key").read_bytes() == (data / "master.key").read_bytes()
    assert stat.S_IMODE((tmp_path / "new" / "master.key").stat().st_mode) == 0o600
    # Nothing serves that one: the command starts its server, and stops it again.
    assert laari(tmp_path / "new", "backup", tmp_path / "b2", "--json").json["wal"]["timeline"] == 2


def test_the_key_is_in_no_file_of_a_backup_unless_asked_for(
    laari: Commands, data: Path, saved: Path, tmp_path: Path
) -> None:
    laari(data, "backup", tmp_path / "b")
    text = (data / "master.key").read_text().strip()
    for secret in (text.encode(), bytes.fromhex(text)):
        for path in (tmp_path / "b").rglob("*"):
            assert not path.is_file() or secret not in path.read_bytes(), path
    assert (saved / "master.key").read_text().strip() == text
    assert stat.S_IMODE((saved / "master.key").stat().st_mode) == 0o600
    assert "set LAARI_MASTER_KEY or name its file" in (
        laari(tmp_path / "new", "restore", tmp_path / "b").refusal
    )


def test_another_key_is_refused(laari: Commands, saved: Path, tmp_path: Path) -> None:
    refused = laari(tmp_path / "new", "restore", saved, LAARI_MASTER_KEY="11" * 32).refusal
    assert "not the one of the backup" in refused
    assert not (tmp_path / "new").exists()


def test_a_key_from_the_setting_is_not_written_down(
    laari: Commands, data: Path, saved: Path, tmp_path: Path
) -> None:
    key = (data / "master.key").read_text().strip()
    laari(tmp_path / "new", "restore", saved, "--json", LAARI_MASTER_KEY=key).json  # noqa: B018
    assert not (tmp_path / "new" / "master.key").exists()


def flip(path: Path, place: int = -1) -> None:
    content = bytearray(path.read_bytes())
    content[place if place >= 0 else len(content) // 2] ^= 1
    path.chmod(0o600)
    path.write_bytes(content)


def a_table(folder: Path) -> Path:
    return max((folder / "cluster/base").rglob("*"), key=lambda path: path.stat().st_size)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a table": lambda folder: flip(a_table(folder)),
    "the control file": lambda folder: flip(folder / "cluster/global/pg_control"),
    "the end of the log": lambda folder: flip(
        next((folder / "cluster/pg_wal").glob("0*")), 2**24 - 1
    ),
    "the manifest": lambda folder: flip(folder / "cluster/backup_manifest"),
    "the settings": lambda folder: flip(folder / "cluster/postgresql.auto.conf"),
    "the key": lambda folder: flip(folder / "master.key", 3),
    "a file less": lambda folder: a_table(folder).unlink(),
    "a file shorter": lambda folder: os.truncate(a_table(folder), 8192),
    "a file more": lambda folder: (folder / "cluster/recovery.signal").touch(),
    "a file more beside": lambda folder: (folder / "more").touch(),
    "a link": lambda folder: (folder / "cluster/pg_tblspc/1").symlink_to("/etc"),
    "no manifest": lambda folder: (folder / "cluster/backup_manifest").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_one_byte_that_differs_is_found(
    laari: Commands, copy: Path, tmp_path: Path, damage: str
) -> None:
    DAMAGE[damage](copy)
    refused = laari(tmp_path / "new", "restore", copy).refusal
    assert "is damaged" in refused or "is a link" in refused or "master key" in refused
    assert not (tmp_path / "new").exists()


def test_every_byte_of_what_describes_it_counts(
    laari: Commands, copy: Path, tmp_path: Path
) -> None:
    info = copy / "laari-backup.json"
    whole = info.read_bytes()
    for place in range(0, len(whole), 7):
        if whole[place : place + 1].isspace():
            continue  # between the members
        flip(info, place)
        laari(tmp_path / "new", "restore", copy).refusal  # noqa: B018
        info.write_bytes(whole)


def test_places_where_no_backup_goes(laari: Commands, data: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "inside").symlink_to(data)
    (tmp_path / "taken.partial").mkdir()
    (tmp_path / "taken.partial" / "thesis.txt").touch()
    refusals = {
        data / "backup": "is within",
        data: "is there already",
        tmp_path / "inside" / "backup": "is within",
        data / "postgres" / "base" / "backup": "is within",
        tmp_path / "full": "is there already",
        tmp_path / "file": "is there already",
        tmp_path / "link": "not a link",
        tmp_path / "missing" / "backup": "cannot be used",
        tmp_path / "taken": "is in the way",
    }
    before = sorted(tmp_path.rglob("*"))
    for place, reason in refusals.items():
        assert reason in laari(data, "backup", place).refusal, place
    assert sorted(tmp_path.rglob("*")) == before
    assert not list(data.glob("*.partial"))


def test_an_empty_directory_may_be_filled(laari: Commands, data: Path, tmp_path: Path) -> None:
    (tmp_path / "mounted").mkdir()
    assert laari(data, "backup", tmp_path / "mounted", "--json").json["verified"] is True


def test_no_database_is_made_to_be_saved(laari: Commands, tmp_path: Path) -> None:
    assert "there is no database" in laari(tmp_path / "data", "backup", tmp_path / "b").refusal
    assert not (tmp_path / "data").exists()


def test_two_backups_to_one_place(laari: Commands, data: Path, tmp_path: Path) -> None:
    partial = tmp_path / "b.partial"
    partial.mkdir()
    (partial / "cluster").mkdir()
    (partial / "cluster" / "left").touch()
    held = os.open(partial, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    assert "another backup is being written" in laari(data, "backup", tmp_path / "b").refusal
    assert (partial / "cluster" / "left").exists()
    os.close(held)  # and what the other left behind is taken away
    assert laari(data, "backup", tmp_path / "b", "--json").json["verified"] is True
    assert not (tmp_path / "b" / "cluster" / "left").exists()
    assert not partial.exists()


def started(data: Path, *arguments: object) -> subprocess.Popen[str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("LAARI_")}
    return subprocess.Popen(
        [sys.executable, "-m", "laari", *map(str, arguments)],
        env={**own, "LAARI_DATA_DIR": str(data)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_backup_does_not_look_whole(
    laari: Commands, data: Path, tmp_path: Path, number: signal.Signals
) -> None:
    process = started(data, "backup", tmp_path / "b")
    wait_for(tmp_path / "b.partial" / "cluster")
    process.send_signal(number)
    out, error = process.communicate(timeout=60)
    assert out == ""
    assert "Traceback" not in error
    assert process.returncode == (-9 if number is signal.SIGKILL else 130)
    assert not (tmp_path / "b").exists()
    assert (tmp_path / "b.partial").exists() == (number is signal.SIGKILL)
    if number is signal.SIGKILL:
        assert "not a backup" in laari(tmp_path / "new", "restore", tmp_path / "b.partial").refusal


def test_two_backups_at_once(data: Path, tmp_path: Path) -> None:
    both = [started(data, "backup", tmp_path / name, "--json") for name in ("one", "two")]
    for process in both:
        _, error = process.communicate(timeout=120)
        assert process.returncode == 0, error


@functools.cache
def can_mount() -> bool:
    command = ["unshare", "--user", "--map-root-user", "--mount", "true"]
    found = shutil.which("unshare") is not None
    return found and subprocess.run(command, check=False).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="a small file system cannot be mounted here")
@pytest.mark.parametrize("size", ["4m", "40m"])  # the disk is full at once, or near the end
def test_a_full_disk_is_said_and_nothing_stays(data: Path, tmp_path: Path, size: str) -> None:
    (tmp_path / "disk").mkdir()
    script = (
        f'mount -t tmpfs -o size={size} none "$1" && {sys.executable} -m laari backup "$1/b"; '
        'status=$?; ls -A "$1"; exit $status'
    )
    own = {name: value for name, value in os.environ.items() if not name.startswith("LAARI_")}
    done = subprocess.run(
        [
            "unshare",
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            script,
            "sh",
            tmp_path / "disk",
        ],
        env={**own, "LAARI_DATA_DIR": str(data)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr


def test_directories_that_are_not_restored_into(
    laari: Commands, data: Path, saved: Path, tmp_path: Path
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    before = sorted(path.name for path in data.iterdir())
    assert "is not empty" in laari(data, "restore", saved).refusal  # its server runs
    assert sorted(path.name for path in data.iterdir()) == before
    assert "is not empty" in laari(tmp_path / "full", "restore", saved).refusal
    assert "must be apart" in laari(saved / "cluster" / "new", "restore", saved).refusal
    assert "not a backup" in laari(tmp_path / "new", "restore", tmp_path / "full").refusal
    assert "not a backup" in laari(tmp_path / "new", "restore", tmp_path / "none").refusal
    assert not (tmp_path / "new").exists()


def test_a_directory_that_others_may_write_gets_no_database(
    laari: Commands, saved: Path, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o770)
    assert "can be written by others" in laari(shared, "restore", saved).refusal
    assert list(shared.iterdir()) == []


def test_an_unfinished_restore_is_not_served(laari: Commands, saved: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    process = started(new, "restore", saved)
    wait_for(new / "postgres.restoring")
    process.kill()
    process.communicate(timeout=30)
    assert (new / "postgres.restoring").exists()
    assert "did not finish" in laari(new, "init").refusal
    assert "is not empty" in laari(new, "restore", saved).refusal
    assert not (new / "postgres").exists()


def test_an_interrupted_restore_leaves_an_empty_directory(
    laari: Commands, saved: Path, tmp_path: Path
) -> None:
    new = tmp_path / "new"
    process = started(new, "restore", saved)
    wait_for(new / "postgres.restoring")
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert not (new / "postgres.restoring").exists()
    assert not (new / "master.key").exists()
    assert laari(new, "restore", saved, "--json").json["ok"] is True


def test_a_restore_interrupted_at_its_last_step_leaves_nothing_either(
    laari: Commands, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database without its key would be neither nothing nor whole."""
    home = tmp_path / "new"

    def interrupted(folder: Path) -> None:
        assert (folder / "postgres").exists()
        raise KeyboardInterrupt

    monkeypatch.setattr("laari.engine.restore.sync_folder", interrupted)
    assert laari(home, "restore", saved).status == 130
    assert not (home / "postgres").exists()
    assert not (home / "master.key").exists()


def test_a_database_whose_books_are_wrong_is_told_of(
    laari: Commands, data: Path, tmp_path: Path
) -> None:
    with embedded_server(data, durable=False) as dsn:
        ask(dsn, "UPDATE wallets SET balance = balance + 1")
        try:
            laari(data, "backup", tmp_path / "b", "--with-key")
        finally:
            ask(dsn, "UPDATE wallets SET balance = balance - 1")
    restored = laari(tmp_path / "new", "restore", tmp_path / "b", "--json")
    assert restored.status == 1
    assert "the books do not balance" in restored.error
    assert '"ok":false' in restored.out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--until", "yesterday"], "must be a time"),
        (["--until", "2026-01-01T00:00:00Z"], "--until needs --wal"),
        (["--wal", "/nonexistent"], "is not a directory"),
        (["--key-file", "/nonexistent"], "cannot be used"),
    ],
)
def test_wrong_options_of_restore(
    laari: Commands, saved: Path, tmp_path: Path, arguments: list[str], reason: str
) -> None:
    assert reason in laari(tmp_path / "new", "restore", saved, *arguments).refusal
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_a_server_of_ones_own_is_for_other_programs(
    laari: Commands, tmp_path: Path, command: str
) -> None:
    own = {"LAARI_DATABASE_URL": "postgresql://db/laari", "LAARI_MASTER_KEY": "00" * 32}
    refused = laari(tmp_path / "data", command, tmp_path / "b", **own).refusal
    assert "pgBackRest, WAL-G or Barman" in refused
    assert list(tmp_path.iterdir()) == []


def test_a_backup_of_another_postgresql_is_refused(
    laari: Commands, copy: Path, tmp_path: Path
) -> None:
    made = read_info(copy)
    (copy / INFO).unlink()
    write_info(copy, replace(made, server_version=170_004))
    refused = laari(tmp_path / "new", "restore", copy).refusal
    assert "was made by PostgreSQL 17" in refused
    assert not (tmp_path / "new").exists()


def test_a_terminal_shows_progress(data: Path, tmp_path: Path) -> None:
    """On standard error, so that what is printed is still one value."""
    leader, follower = os.openpty()
    own = {name: value for name, value in os.environ.items() if not name.startswith("LAARI_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "laari", "backup", str(tmp_path / "b"), "--json"],
        env={**own, "LAARI_DATA_DIR": str(data), "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=follower,
        text=True,
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            shown += os.read(leader, 65536)
        except OSError:  # its end
            break
    os.close(leader)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0, shown
    assert json.loads(out)["verified"] is True
    assert b"Copying" in shown
    assert b"MiB" in shown
