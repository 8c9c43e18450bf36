"""`laari audit` as the shell runs it: its options, its output and its exit status."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from laari.cli.main import run
from laari.store.ledger.last_seal_file import KnownSeal, last_seal_file, note_seal
from laari.store.ledger.sealed_rows import SUBJECTS
from laari.store.postgres.pool import connection_to
from tests.audit.books import MASTER_KEY, seal_all, write_books

pytestmark = pytest.mark.ci

Audit = Callable[..., tuple[int, str, str]]


@pytest.fixture
def audit(
    dsn: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Audit:
    """Runs the command on books that are sealed, with the last seal in its file."""
    asyncio.run(write_books(dsn))
    asyncio.run(seal_all(dsn))
    note_seal(last_seal_file(tmp_path, MASTER_KEY), _last_seal(dsn))
    monkeypatch.setenv("LAARI_DATABASE_URL", dsn)
    monkeypatch.setenv("LAARI_MASTER_KEY", "00" * 32)
    monkeypatch.setenv("LAARI_DATA_DIR", str(tmp_path))

    def command(*arguments: str) -> tuple[int, str, str]:
        status = run(["audit", *arguments])
        return (status, *capsys.readouterr())

    return command


def _execute(dsn: str, statement: str) -> Any:
    async def execute() -> Any:
        async with connection_to(dsn) as connection:
            return await connection.fetchrow(statement)

    return asyncio.run(execute())


def _last_seal(dsn: str) -> KnownSeal:
    return KnownSeal(*_execute(dsn, "SELECT number, mac FROM seals ORDER BY number DESC LIMIT 1"))


def test_the_report_says_how_far_it_is_sealed(audit: Audit, dsn: str) -> None:
    status, out, err = audit("--json")
    report = json.loads(out)
    assert (status, err) == (0, "")
    assert (report["ok"], report["differences"], report["counts"]) == (True, [], {})
    assert (report["payments"], report["transfers"]) == (13, 23)
    number, mac = _execute(dsn, "SELECT number, mac FROM seals ORDER BY number DESC LIMIT 1")
    assert report["last_seal"]["number"] == number
    assert report["last_seal"]["mac"] == mac.hex()
    assert report["unsealed"] == dict.fromkeys(SUBJECTS, 0)
    status, out, _ = audit()
    assert status == 0
    assert f"Sealed up to {number}:{mac.hex()}\n" in out
    assert out.endswith("The books balance.\n")


def test_since_the_seal(audit: Audit) -> None:
    status, out, _ = audit("--since-seal", "--json")
    report = json.loads(out)
    assert (status, report["ok"], report["payments"], report["transfers"]) == (0, True, 0, 0)


def test_a_seal_that_was_kept_has_to_be_there(audit: Audit, dsn: str, tmp_path: Path) -> None:
    number, mac = kept = _last_seal(dsn)
    assert audit("--kept-seal", str(kept))[0] == 0
    assert audit()[0] == 0
    status, out, err = audit("--kept-seal", str(KnownSeal(number + 1, mac)))
    assert status == 1
    assert f"seal {number + 1}" in out
    assert err == "laari: the books do not balance: seal_lost 1\n"
    note_seal(last_seal_file(tmp_path, MASTER_KEY), KnownSeal(number, bytes(32)))
    assert audit()[2] == "laari: the books do not balance: seal_lost 1\n"


@pytest.mark.parametrize("text", ["", "12", "12:abc", "x:" + "0" * 64])
def test_what_is_no_seal_is_refused_in_one_line(audit: Audit, text: str) -> None:
    status, out, err = audit("--kept-seal", text)
    assert (status, out) == (1, "")
    assert err.count("\n") == 1
    assert "64 hexadecimal digits" in err


def test_an_end_that_nothing_proves_is_warned_of(audit: Audit, dsn: str, tmp_path: Path) -> None:
    """Without a seal from elsewhere nobody can tell that the newest ones were removed."""
    kept = str(_last_seal(dsn))
    _, out, err = audit("--json")
    assert (json.loads(out)["kept_seals"], err) == ([kept], "")
    last_seal_file(tmp_path, MASTER_KEY).unlink()
    status, out, err = audit("--json")
    assert (status, json.loads(out)["kept_seals"]) == (0, [])
    assert err.startswith("laari: this audit had no seal from outside the database")
    assert "--kept-seal" in err
    assert audit("--kept-seal", kept)[2] == ""


def test_a_file_that_cannot_be_read_is_an_error(audit: Audit, tmp_path: Path) -> None:
    path = last_seal_file(tmp_path, MASTER_KEY)
    path.write_text("gibberish")
    status, _, err = audit()
    assert status == 1
    assert err == f"laari: {path} does not hold a seal\n"


def test_a_terminal_sees_progress(audit: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    status, out, _ = audit("--json")
    assert status == 0
    assert json.loads(out)["ok"] is True  # standard output stays one value


def test_a_column_that_the_checks_need_and_somebody_renamed_is_one_line(
    audit: Audit, dsn: str
) -> None:
    _execute(dsn, "ALTER TABLE transfers RENAME COLUMN amount TO laari")
    status, out, err = audit("--json")
    assert (status, out) == (1, "")
    assert err.startswith("laari: the schema is not that of this version of Laari: column ")
    assert err.count("\n") == 1
