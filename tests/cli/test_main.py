import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from laari import __version__
from laari.cli.main import cli, run
from laari.settings import VARIABLES
from laari.store.postgres.migrate import known_migrations
from tests.cli.commands import COMMANDS, NOBODY, arguments
from tests.sampling import some_of

LATEST = len(known_migrations())


@pytest.fixture
def own_server(empty_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAARI_DATABASE_URL", empty_dsn)
    monkeypatch.setenv("LAARI_MASTER_KEY", "00" * 32)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["nonsense"], 2),
        (["serve", "--nonsense"], 2),
        (["serve", "--port", "many"], 1),
        (["serve", "--workers", "0"], 1),
        (["serve", "--port"], 1),
    ],
)
def test_a_wrong_call_is_one_line(
    words: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("laari: ")
    assert err.count("\n") == 1


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"laari {__version__}\n"


def test_the_help_of_serve_lists_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--help"]) == 0
    shown = capsys.readouterr().out.split()
    assert all(variable.name in shown for variable in VARIABLES)


def helps(command: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from helps(inner, *path, name)


@pytest.mark.parametrize("path", list(helps(cli)), ids=" ".join)
def test_help_is_whole(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """No sentence is cut short, and every option says what it is for."""
    assert run([*path, "--help"]) == 0
    shown = capsys.readouterr().out
    assert not re.search(r"\w\.\.\.$", shown, re.MULTILINE)
    command: click.Command = cli
    for name in path:
        assert isinstance(command, click.Group)
        command = command.commands[name]
    silent = [o.name for o in command.params if isinstance(o, click.Option) and not o.help]
    assert silent == []


@pytest.mark.usefixtures("own_server")
def test_migrate_tells_the_versions(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["migrate", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"before": 0, "after": LATEST}
    assert run(["migrate", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"before": LATEST, "after": LATEST}
    assert run(["migrate"]) == 0
    assert f"already at version {LATEST}" in capsys.readouterr().out


def test_a_bad_setting_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LAARI_MAX_BATCH", "lots")
    assert run(["migrate"]) == 1
    assert capsys.readouterr().err.startswith("laari: LAARI_MAX_BATCH must be")


def test_a_reader_that_goes_away_is_no_error_to_speak_of() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [sys.executable, "-m", "laari", "serve", "--help"],
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=20,
        check=False,
    )
    os.close(writer)
    assert ended.stderr == b""


NOT_TEXT = os.fsdecode(b"\xff")


@pytest.mark.parametrize("name", some_of(COMMANDS))
def test_an_argument_that_is_not_text_is_one_line(
    name: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither the database nor JSON could take it."""
    monkeypatch.chdir(tmp_path)
    wanted = [NOT_TEXT if word in NOBODY.values() else word for word in arguments(name)]
    if NOT_TEXT not in wanted:
        wanted.append(NOT_TEXT)
    assert run([*name.split(), *wanted, "--json"]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "UTF-8" in err
