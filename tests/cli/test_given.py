"""Secrets come from standard input, a prompt or a file, and passwords keep the pages' rule."""

import asyncio
import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from laari.cli.main import cli, run
from laari.store.people.passwords import password_fits
from laari.store.postgres.pool import connection_to

pytestmark = pytest.mark.ci

GOOD = "three grey herons"


class Ended(NamedTuple):
    status: int
    out: str
    err: str


Laari = Callable[..., Ended]


@pytest.fixture
def laari(dsn: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Laari:
    monkeypatch.setenv("LAARI_DATABASE_URL", dsn)
    monkeypatch.setenv("LAARI_MASTER_KEY", "00" * 32)

    def command(*arguments: str, given: str | bytes = "", errors: str = "strict") -> Ended:
        data = given.encode() if isinstance(given, str) else given
        stdin = io.TextIOWrapper(io.BytesIO(data), "utf-8", errors)
        monkeypatch.setattr("sys.stdin", stdin)
        status = run(arguments)
        return Ended(status, *capsys.readouterr())

    return command


def is_the_password(dsn: str) -> bool:
    async def kept() -> str:
        async with connection_to(dsn) as connection:
            return str(await connection.fetchval("SELECT password_hash FROM customers LIMIT 1"))

    return password_fits(GOOD, asyncio.run(kept()))


def password_of(ended: Ended) -> str | None:
    assert ended.status == 0, ended.err
    return json.loads(ended.out)["password"]  # type: ignore[no-any-return]


def refused(ended: Ended, words: str) -> None:
    assert (ended.status, ended.out) == (1, ""), ended
    assert ended.err.count("\n") == 1
    assert words in ended.err


CREATE = ("customer", "create", "Aishath Ibrahim", "--mode", "live", "--json")


@pytest.mark.parametrize("given", [f"{GOOD}\n", GOOD, f"{GOOD}\r\n", f"{GOOD}\nmore\n"])
def test_a_dash_reads_one_line_of_standard_input_and_prints_nothing_of_it(
    laari: Laari, dsn: str, given: str
) -> None:
    assert password_of(laari(*CREATE, "--password", "-", given=given)) is None
    assert is_the_password(dsn)
    people = laari(*CREATE[:-1], "--password", "-", given=given)
    assert (people.status, GOOD in people.out + people.err) == (0, False)


@pytest.mark.parametrize("given", ["", "\n"])
def test_nothing_on_standard_input_is_an_error(laari: Laari, given: str) -> None:
    refused(laari(*CREATE, "--password", "-", given=given), "--password")


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])  # by the locale
def test_bytes_that_are_not_text_are_an_error(laari: Laari, errors: str) -> None:
    given = b"three\xff grey herons\n"
    refused(laari(*CREATE, "--password", "-", given=given, errors=errors), "--password")


def test_a_file_gives_it(laari: Laari, dsn: str, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(f"{GOOD}\n")
    assert password_of(laari(*CREATE, "--password-file", str(file))) is None
    assert is_the_password(dsn)
    both = (*CREATE, "--password-file", str(file), "--password", GOOD)
    refused(laari(*both), "not both")
    refused(laari(*CREATE, "--password-file", str(tmp_path / "none")), "cannot be read")
    file.write_text("two\nlines of it\n")
    refused(laari(*CREATE, "--password-file", str(file)), "printable")
    file.write_bytes(b"\xff" * 20)
    refused(laari(*CREATE, "--password-file", str(file)), "UTF-8")


def test_an_argument_still_works(laari: Laari) -> None:
    assert password_of(laari(*CREATE, "--password", GOOD)) == GOOD
    assert len(password_of(laari(*CREATE)) or "") >= 16


def on_a_terminal(answers: list[bytes], *arguments: str, env: dict[str, str]) -> tuple[int, str]:
    """Runs a command whose standard input is a terminal; returns what that terminal showed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "laari", *arguments],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, **env},
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    for number, answer in enumerate(answers, 1):
        while shown.count(b": ") < number:
            shown += os.read(ours, 4096)
        os.write(ours, answer)
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    return process.returncode, f"{shown.decode()}\0{out.decode()}"


def test_a_dash_on_a_terminal_asks_twice_and_shows_nothing(dsn: str) -> None:
    env = {"LAARI_DATABASE_URL": dsn, "LAARI_MASTER_KEY": "00" * 32}
    answers = [f"{GOOD}\n".encode()] * 2
    status, told = on_a_terminal(answers, *CREATE, "--password", "-", env=env)
    shown, _, out = told.partition("\0")
    assert status == 0
    assert json.loads(out)["password"] is None
    assert is_the_password(dsn)
    assert GOOD not in shown


@pytest.mark.parametrize("password", ["short", "password123", "1234567890"])
def test_a_live_customer_gets_no_weak_password(laari: Laari, password: str) -> None:
    ended = laari(*CREATE, "--password", password)
    refused(ended, "--password")
    assert f"'{password}'" not in ended.err
    assert json.loads(laari("audit", "--json").out)["ok"]
    sandbox = laari(*CREATE, "--mode", "sandbox", "--password", password)
    assert password_of(sandbox) == password


def test_the_trainers_secret_comes_the_same_ways(laari: Laari, tmp_path: Path) -> None:
    train = ("webhook", "train", "http://127.0.0.1:9/hook")
    refused(laari(*train), "--secret-file")
    refused(laari(*train, "--secret", ""), "--secret")
    refused(laari(*train, "--secret", "-"), "standard input is empty")
    (tmp_path / "secret").write_text("sk_x\n")
    for words, given in (
        (("--secret", "-"), "sk_x\n"),
        (("--secret-file", f"{tmp_path}/secret"), ""),
    ):
        ended = laari(*train, *words, given=given)
        assert "is it running?" in ended.err  # the secret was taken


def test_every_secret_can_be_kept_out_of_the_arguments() -> None:
    """An option that is named like a secret has a twin that reads a file."""

    def walk(command: click.Command) -> None:
        if isinstance(command, click.Group):
            for inner in command.commands.values():
                walk(inner)
            return
        names = {name for each in command.params for name in each.opts}
        for word in ("password", "secret", "token", "key"):
            if f"--{word}" in names:
                assert f"--{word}-file" in names, command.name

    walk(cli)


def test_identity_data_comes_from_a_file_or_standard_input(laari: Laari, tmp_path: Path) -> None:
    customer = json.loads(laari(*CREATE).out)["customer_id"]
    identity = {"document": "passport", "number": "A1", "born": "1990-01-01", "address": "Malé"}
    written = json.dumps(identity, ensure_ascii=False)
    file = tmp_path / "identity.json"
    file.write_text(f"{written}\n")
    enter = ("customer", "set-identity", customer, "--reason", "New", "--json")
    view = ("customer", "view-identity", customer, "--reason", "The bank asks", "--json")
    for form, given in (
        (("--identity-file", str(file)), ""),
        (("--identity", "-"), f"{written}\n"),
    ):
        done = laari(*enter, *form, given=given)
        assert (done.status, "A1" in done.out + done.err) == (0, False), done
        assert json.loads(laari(*view).out) == identity
        remove = ("customer", "remove-identity", customer, "--reason", "Again")
        assert laari(*remove).status == 0
    file.write_text("[1]\n")
    refused(laari(*enter, "--identity-file", str(file)), "must be a JSON object of texts")
