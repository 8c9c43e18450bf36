"""Commands of a program on a database whose schema is of an older or newer version."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from laari.cli.main import run
from laari.engine.embedded import embedded_server
from laari.store.postgres import migrate
from laari.store.postgres.migrate import Migration, known_migrations
from laari.store.postgres.pool import connection_to
from laari.store.secrets import load_master_key
from tests.cli.installations import Commands, environment

pytestmark = pytest.mark.ci

KNOWN = known_migrations()
OLDER, NEWER = len(KNOWN), len(KNOWN) + 1
# Its statements name a column that the older schema lacks.
NEXT = Migration(NEWER, "next", "ALTER TABLE installation ADD COLUMN last_backup_at timestamptz")


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data directory of an older version; its server runs as it does under a service."""
    home = tmp_path_factory.mktemp("installation") / "data"
    load_master_key(home)
    with embedded_server(home, durable=False) as dsn:
        asyncio.run(migrate.migrate(dsn))
        with environment({"LAARI_DATA_DIR": str(home)}):
            assert run(["merchant", "create", "Kept", "--json"]) == 0
        asyncio.run(_execute(dsn, "ALTER TABLE installation DROP COLUMN last_backup_at"))
        yield home


async def _execute(dsn: str, statement: str) -> None:
    async with connection_to(dsn) as connection:
        await connection.execute(statement)


@pytest.fixture
def laari(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Commands:
    """The newer program."""
    monkeypatch.setattr(migrate, "known_migrations", lambda *_: [*KNOWN, NEXT])
    return Commands(capsys)


@pytest.fixture
def edited(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Commands:
    """A program whose first file was edited since it made the database."""
    first = KNOWN[0]._replace(sql=KNOWN[0].sql + "-- more")
    monkeypatch.setattr(migrate, "known_migrations", lambda *_: [first, *KNOWN[1:]])
    return Commands(capsys)


@pytest.mark.parametrize("command", ["audit", "health", "merchant list"])
def test_a_command_on_an_older_schema_says_what_to_do(
    laari: Commands, old: Path, command: str
) -> None:
    refused = laari(old, *command.split()).refusal
    assert refused.startswith(f"the database schema is at version {OLDER} and ")
    assert refused.endswith(f"needs {NEWER}: run `laari migrate`")


def test_a_changed_schema_of_the_same_version_is_one_line(
    capsys: pytest.CaptureFixture[str], old: Path
) -> None:
    refused = Commands(capsys)(old, "health").refusal
    assert refused.startswith("the schema is not that of this version of Laari: column ")
    assert "last_backup_at" in refused


def test_an_older_database_is_backed_up_restored_and_then_upgraded(
    laari: Commands, old: Path, tmp_path: Path
) -> None:
    made = laari(old, "backup", tmp_path / "b", "--with-key", "--json").json
    assert (made["verified"], made["schema_version"]) == (True, OLDER)

    new = tmp_path / "new"
    ended = laari(new, "restore", tmp_path / "b", "--json")
    assert ended.status == 0
    assert (json.loads(ended.out)["audited"], json.loads(ended.out)["ok"]) == (False, None)
    [line] = ended.error.splitlines()
    assert line.startswith("laari: restored, but not audited: the database schema is at version ")
    assert line.endswith("run `laari migrate`; then run `laari audit`")

    assert laari(new, "migrate", "--json").json == {"before": OLDER, "after": NEWER}
    assert [each["name"] for each in laari(new, "merchant", "list", "--json").json] == ["Kept"]
    assert laari(new, "audit", "--json").json["ok"]


@pytest.mark.parametrize("command", ["audit", "health", "merchant list", "migrate"])
def test_a_database_of_an_edited_schema_file_is_refused_in_one_line(
    edited: Commands, old: Path, command: str
) -> None:
    refused = edited(old, *command.split()).refusal
    assert refused.startswith("the database was made by an unreleased version of Laari: its ")


def test_a_database_of_an_edited_schema_file_is_backed_up(
    edited: Commands, old: Path, tmp_path: Path
) -> None:
    made = edited(old, "backup", tmp_path / "b", "--with-key", "--json").json
    assert (made["verified"], made["schema_version"]) == (True, OLDER)


def test_an_older_program_restores_a_newer_database_without_an_audit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, old: Path, tmp_path: Path
) -> None:
    monkeypatch.setattr(migrate, "known_migrations", lambda *_: KNOWN[:-1])
    older = Commands(capsys)
    assert older(old, "backup", tmp_path / "b", "--with-key", "--json").json["verified"]
    ended = older(tmp_path / "new", "restore", tmp_path / "b", "--json")
    assert json.loads(ended.out)["audited"] is False
    assert f"version {OLDER}, newer than" in ended.error
    assert "upgrade Laari" in ended.error
