"""A database, its key and its directory: made only when asked for, and kept together."""

import asyncio
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from laari.cli.main import run
from laari.engine.embedded import embedded_server, revive
from laari.engine.programs import EngineError
from laari.store.merchants.installation import prove_master_key
from laari.store.postgres.migrate import FOLDER, Migration, known_migrations
from laari.store.postgres.pool import connection_to
from laari.store.secrets import MasterKeyError
from tests.cli.commands import COMMANDS, arguments

pytestmark = pytest.mark.ci

LATEST = len(known_migrations())
RIGHT, WRONG = bytes(32), b"\x01" * 32


class Ended(NamedTuple):
    status: int
    out: str
    err: str


Laari = Callable[..., Ended]


@pytest.fixture
def laari(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Laari:
    for name in ("LAARI_DATABASE_URL", "LAARI_MASTER_KEY", "LAARI_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)

    def command(*arguments: str, **variables: object) -> Ended:
        for name, value in variables.items():
            monkeypatch.setenv(f"LAARI_{name}", str(value))
        status = run(arguments)
        return Ended(status, *capsys.readouterr())

    return command


def refused(ended: Ended, *said: str) -> None:
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith("laari: ")
    assert ended.err.count("\n") == 1
    for words in said:
        assert words in ended.err


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory that `laari init` has made; the tests put back what they change."""
    home = tmp_path_factory.mktemp("made") / "data"
    own = {name: value for name, value in os.environ.items() if not name.startswith("LAARI_")}
    ended = subprocess.run(
        [sys.executable, "-m", "laari", "init", "--json"],
        env={**own, "LAARI_DATA_DIR": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert json.loads(ended.stdout) == {"data_dir": str(home), "schema_version": LATEST}
    return home


def test_init_makes_a_private_installation_once(made: Path, laari: Laari) -> None:
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    key = (made / "master.key").read_bytes()
    assert not (made / "postgres" / "postmaster.pid").exists()  # nothing is left running
    shop = json.loads(laari("merchant", "create", "Shop", "--json", DATA_DIR=made).out)
    again = laari("init")
    assert again.status == 0
    assert str(made) in again.out
    assert (made / "master.key").read_bytes() == key
    listed = json.loads(laari("merchant", "list", "--json").out)
    assert [each["merchant_id"] for each in listed] == [shop["merchant_id"]]


@pytest.mark.parametrize(
    "command",
    # The last three speak to a service, wherever it is.
    sorted({*COMMANDS} - {"init", "backup", "restore", "webhook train", "listen", "trigger"}),
)
def test_a_mistyped_directory_is_not_made(command: str, laari: Laari, tmp_path: Path) -> None:
    mistyped = tmp_path / "no" / "such"
    ended = laari(*command.split(), *arguments(command), DATA_DIR=mistyped)
    refused(ended, f"no Laari database in {mistyped}", "laari init", "LAARI_DATA_DIR")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_whose_name_is_not_text_is_made_and_told(laari: Laari, tmp_path: Path) -> None:
    home = tmp_path / os.fsdecode(b"laari-\xff")
    ended = laari("init", "--json", DATA_DIR=home)
    assert (ended.status, ended.err) == (0, "")
    assert json.loads(ended.out)["data_dir"] == f"{tmp_path.resolve()}/laari-\\xff"
    assert not (home / "postgres" / "postmaster.pid").exists()  # its server was stopped


def test_an_empty_directory_stays_empty(laari: Laari, tmp_path: Path) -> None:
    refused(laari("merchant", "create", "Shop", DATA_DIR=tmp_path), "laari init")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_a_directory_that_others_may_write_is_refused(
    mode: int, made: Path, laari: Laari, tmp_path: Path
) -> None:
    made.chmod(mode)
    try:
        for command in ("merchant list", "serve --port 0", "init", "migrate"):
            refused(laari(*command.split(), DATA_DIR=made), f"chmod go-w {made}")
    finally:
        made.chmod(0o700)
    empty = tmp_path / "empty"
    empty.mkdir()
    empty.chmod(mode)
    refused(laari("init", DATA_DIR=empty), f"chmod go-w {empty}")
    assert list(empty.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_somebody_else_is_refused(laari: Laari, tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    refused(laari("init", DATA_DIR=tmp_path), "belongs to another user")


def test_a_key_that_others_may_read_is_refused(made: Path, laari: Laari) -> None:
    key = made / "master.key"
    key.chmod(0o644)
    try:
        refused(laari("merchant", "list", DATA_DIR=made), f"chmod 600 {key}")
    finally:
        key.chmod(0o600)


def test_a_key_of_another_installation_is_refused(made: Path, laari: Laari) -> None:
    key = made / "master.key"
    right = key.read_text()
    key.write_text(WRONG.hex())
    try:
        for command in ("merchant list", "serve --port 0", "init", "migrate", "audit"):
            ended = laari(*command.split(), DATA_DIR=made)
            refused(ended, f"{key} is not the master key that this database was made with")
            assert WRONG.hex() not in ended.err
    finally:
        key.write_text(right)
    assert laari("merchant", "list").status == 0


def test_init_fills_an_empty_server_of_ones_own(laari: Laari, empty_dsn: str) -> None:
    laari("--version", DATABASE_URL=empty_dsn, MASTER_KEY=RIGHT.hex())
    refused(laari("merchant", "list"), "laari migrate")
    for _ in range(2):
        ended = laari("init", "--json")
        assert json.loads(ended.out) == {"data_dir": None, "schema_version": LATEST}
    refused(laari("init", MASTER_KEY=WRONG.hex()), "LAARI_MASTER_KEY is not the master key")


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version of Laari that knows one migration more."""
    known = [*known_migrations(), Migration(LATEST + 1, "later", "SELECT")]
    monkeypatch.setattr(
        "laari.store.postgres.migrate.known_migrations", lambda folder=FOLDER: known
    )


def test_init_does_not_upgrade(laari: Laari, dsn: str, later: None) -> None:
    refused(laari("init", DATABASE_URL=dsn, MASTER_KEY=RIGHT.hex()), "laari migrate")


async def stored(dsn: str) -> list[bytes]:
    async with connection_to(dsn) as connection:
        rows = await connection.fetch("SELECT master_key_check FROM installation")
    return [row[0] for row in rows]


async def test_a_database_takes_its_first_key_and_no_other(dsn: str) -> None:
    await prove_master_key(dsn, RIGHT, "K")
    [check] = await stored(dsn)
    assert RIGHT not in check
    with pytest.raises(MasterKeyError, match="K is not the master key"):
        await prove_master_key(dsn, WRONG, "K")
    assert await stored(dsn) == [check]


def test_a_wrong_key_upgrades_nothing(laari: Laari, dsn: str, later: None) -> None:
    """It is most often the wrong database."""
    asyncio.run(prove_master_key(dsn, RIGHT, "K"))
    for command in ("migrate", "serve --port 0"):
        ended = laari(*command.split(), DATABASE_URL=dsn, MASTER_KEY=WRONG.hex())
        refused(ended, "LAARI_MASTER_KEY is not the master key")
    ended = laari("migrate", "--json", MASTER_KEY=RIGHT.hex())
    assert json.loads(ended.out) == {"before": LATEST, "after": LATEST + 1}
    refused(laari("merchant", "list", MASTER_KEY=WRONG.hex()), "LAARI_MASTER_KEY")


def test_of_two_first_keys_one_stays(dsn: str) -> None:
    def prove(key: bytes) -> bool:
        try:
            asyncio.run(prove_master_key(dsn, key, "K"))
        except MasterKeyError:
            return False
        return True

    keys = [bytes([number]) * 32 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(prove, keys)) == 1
    assert len(asyncio.run(stored(dsn))) == 1


def test_a_directory_that_vanishes_is_not_made_anew(tmp_path: Path) -> None:
    with embedded_server(tmp_path / "data", durable=False):
        pass
    shutil.rmtree(tmp_path / "data" / "postgres")
    with pytest.raises(EngineError, match="is not a PostgreSQL database"):
        revive(tmp_path / "data")
    assert not (tmp_path / "data" / "postgres").exists()
