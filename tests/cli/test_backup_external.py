"""Backups of a server that is not the embedded one: only its URL is known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from laari.store import pg_tools
from laari.store.pg_tools import Target, ToolError, target_of, tools_for
from laari.store.postgres import run
from tests.cli.installations import Commands
from tests.conftest import Engine
from tests.store.engines import ask

KEY = {"LAARI_MASTER_KEY": "00" * 32}


@pytest.fixture
def laari(capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(capsys)


def test_a_server_of_ones_own_is_saved_and_comes_back(
    laari: Commands, engine: Engine, tmp_path: Path
) -> None:
    saved = engine.migrated("saved_whole")
    url = f"{saved}&statement_timeout=30s"  # which libpq would refuse
    own = {**KEY, "LAARI_DATABASE_URL": url}
    made = laari(tmp_path / "data", "backup", tmp_path / "b", "--json", **own).json
    assert made["verified"] is made["wal_verified"] is True
    assert not (tmp_path / "data" / "postgres").exists()

    assert "with --cluster" in laari(tmp_path / "new", "restore", tmp_path / "b", **KEY).refusal
    assert "with --cluster" in laari(tmp_path / "new", "restore", tmp_path / "b", **own).refusal
    cluster = tmp_path / "cluster"
    (tmp_path / "wal").mkdir()  # of a server that archived nothing yet
    wal = ["--wal", tmp_path / "wal"]
    command = ["restore", tmp_path / "b", "--cluster", cluster, *wal, "--json"]
    assert laari(None, *command).json["path"] == str(cluster)
    assert "is not empty" in laari(None, *command).refusal

    (tmp_path / "s").mkdir(mode=0o700)
    options = f"-c unix_socket_directories={tmp_path / 's'}"
    started = run(
        *("pg_ctl", "start", "-w", "-D", str(cluster), "-l", str(tmp_path / "log")),
        *("-o", options),
    )
    assert started.returncode == 0, (tmp_path / "log").read_text()
    try:
        dsn = f"{saved.partition('?')[0]}?host={tmp_path / 's'}&port=5432"
        deadline = time.monotonic() + 30
        while ask(dsn, "SELECT pg_is_in_recovery()"):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        audit = laari(None, "audit", "--json", **{**KEY, "LAARI_DATABASE_URL": dsn}).json
        assert audit["ok"] is True
        assert "wal_archive.py fetch" in str(ask(dsn, "SHOW restore_command"))
        assert str(ask(dsn, "SELECT pg_walfile_name(pg_current_wal_lsn())")).startswith("00000002")
    finally:
        run("pg_ctl", "stop", "-m", "immediate", "-D", str(cluster))


def test_a_role_that_may_not_copy_is_told_what_it_needs(
    laari: Commands, engine: Engine, tmp_path: Path
) -> None:
    url = engine.migrated("not_for_copies")
    ask(engine.dsn, "CREATE ROLE clerk LOGIN")
    ask(url, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO clerk")
    own = {**KEY, "LAARI_DATABASE_URL": url.replace("laari@", "clerk@")}
    refused = laari(tmp_path / "data", "backup", tmp_path / "b", **own).refusal
    assert "give it REPLICATION and a line for replication in pg_hba.conf" in refused
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there(laari: Commands, tmp_path: Path) -> None:
    own = {**KEY, "LAARI_DATABASE_URL": f"postgresql://x@/x?host={tmp_path}"}
    assert "cannot be reached" in laari(tmp_path, "backup", tmp_path / "b", **own).refusal


def test_tablespaces_are_refused(laari: Commands, engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "space").mkdir(mode=0o700)
    ask(engine.dsn, f"CREATE TABLESPACE elsewhere LOCATION '{tmp_path / 'space'}'")
    try:
        own = {**KEY, "LAARI_DATABASE_URL": engine.dsn}
        refused = laari(tmp_path / "data", "backup", tmp_path / "b", **own).refusal
        assert "tablespaces" in refused
    finally:
        ask(engine.dsn, "DROP TABLESPACE elsewhere")


def test_passwords_are_not_seen_in_the_list_of_processes() -> None:
    target = target_of(
        "postgresql://u:p%40ss@a:1,b:2/db?sslmode=require&application_name=x&jit=off"
    )
    bounds = "target_session_attrs=primary&connect_timeout=5"
    assert target.url == f"postgresql://u@a:1,b:2/db?sslmode=require&{bounds}"
    assert target.environment["PGPASSWORD"] == "p@ss"
    assert target.needs_tls
    target = target_of("postgresql:///db?host=/run&user=u&password=secret")
    assert "secret" not in target.url
    assert target.environment["PGPASSWORD"] == "secret"
    assert not target.needs_tls


def a_program(folder: Path, major: int) -> None:
    folder.mkdir(parents=True)
    program = folder / "pg_basebackup"
    program.write_text(f"#!/bin/sh\necho 'pg_basebackup (PostgreSQL) {major}.1'\n")
    program.chmod(0o755)


def test_programs_that_fit_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_program(tmp_path / "17" / "bin", 17)
    a_program(tmp_path / "19" / "bin", 19)
    monkeypatch.setattr(pg_tools, "_FOLDERS", (f"{tmp_path}/{{}}/bin",))
    monkeypatch.setenv("PATH", str(tmp_path))
    plain, tls = Target("", {}, needs_tls=False), Target("", {}, needs_tls=True)
    assert [tools_for(server, plain).major for server in (15, 17, 18, 19)] == [17, 17, 18, 19]
    assert [tools_for(server, tls).major for server in (15, 18)] == [17, 19]  # ours knows no TLS
    with pytest.raises(ToolError, match="postgresql-client-20"):
        tools_for(20, plain)


def test_a_terminal_shows_progress(engine: Engine, tmp_path: Path) -> None:
    """On standard error, so that what is printed is still one value."""
    leader, follower = os.openpty()
    own = {name: value for name, value in os.environ.items() if not name.startswith("LAARI_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "laari", "backup", str(tmp_path / "b"), "--json"],
        env={
            **own,
            **KEY,
            "LAARI_DATABASE_URL": engine.migrated("watched"),
            "TERM": "xterm",
        },
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
