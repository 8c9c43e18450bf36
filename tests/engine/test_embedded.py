import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from laari.engine import cluster, programs
from laari.engine.embedded import embedded_server, revive
from laari.engine.programs import EngineError
from tests.engine.engines import another_process, ask, is_running, kill_and_wait, postmaster

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with its cluster made; no server runs between the tests."""
    home = tmp_path_factory.mktemp("home") / "data"
    with embedded_server(home, durable=False):
        pass
    return home


def test_the_server_is_private_checked_and_stops_with_its_last_user(home: Path) -> None:
    with embedded_server(home, durable=False) as dsn:
        assert ask(dsn, "SHOW listen_addresses") == ""
        assert ask(dsn, "SHOW data_checksums") == "on"
        assert ask(dsn, "SHOW server_encoding") == "UTF8"
        assert str(ask(dsn, "SHOW server_version")).startswith("18.")
        for folder in (home, home / "postgres", home / "sockets"):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        with embedded_server(home, durable=False) as again:
            assert again == dsn
        assert ask(dsn, "SELECT 1") == 1
    assert not is_running(home)


def test_commits_are_durable_unless_a_test_asks_otherwise(home: Path) -> None:
    with embedded_server(home) as dsn:
        assert ask(dsn, "SHOW fsync") == "on"
        assert ask(dsn, "SHOW synchronous_commit") == "on"
        assert ask(dsn, "SHOW full_page_writes") == "on"


@pytest.mark.parametrize(
    ("release", "expected"), [("6.1.0-18-amd64", "syncfs"), ("5.8", "syncfs"), ("5.4.0", "fsync")]
)
def test_after_a_crash_everything_is_flushed_at_once_where_the_kernel_tells_of_failures(
    home: Path, monkeypatch: pytest.MonkeyPatch, release: str, expected: str
) -> None:
    monkeypatch.setattr("platform.release", lambda: release)
    with embedded_server(home, durable=False) as dsn:
        assert ask(dsn, "SHOW recovery_init_sync_method") == expected


def test_processes_share_it_and_the_last_one_stops_it(home: Path) -> None:
    with another_process(home):
        first = postmaster(home)
        with another_process(home), embedded_server(home, durable=False):
            assert postmaster(home) == first
        assert postmaster(home) == first
    assert not is_running(home)


def test_ctrl_c_in_the_terminal_does_not_reach_it(home: Path) -> None:
    with embedded_server(home, durable=False) as dsn:
        assert os.getsid(postmaster(home)) != os.getsid(0)
        assert ask(dsn, "SELECT 1") == 1


def test_it_inherits_no_open_file_of_ours(home: Path, tmp_path: Path) -> None:
    with (tmp_path / "mine").open("w") as mine:
        os.set_inheritable(mine.fileno(), True)
        with embedded_server(home, durable=False):
            held = Path(f"/proc/{postmaster(home)}/fd").iterdir()
            assert mine.name not in [os.readlink(fd) for fd in held]


def test_a_server_left_behind_by_a_kill_is_used_again(home: Path) -> None:
    with another_process(home) as user:
        left_behind = postmaster(home)
        user.kill()
    assert postmaster(home) == left_behind
    with embedded_server(home, durable=False) as dsn:
        assert postmaster(home) == left_behind
        assert ask(dsn, "SELECT 1") == 1
    assert not is_running(home)


def test_a_killed_server_recovers_with_what_was_committed(home: Path) -> None:
    with embedded_server(home) as dsn:
        ask(dsn, "CREATE TABLE kept AS SELECT 42 AS answer")
        kill_and_wait(postmaster(home))
        revive(home)
        assert ask(dsn, "SELECT answer FROM kept") == 42
        alive = postmaster(home)
        revive(home)
        assert postmaster(home) == alive
    with embedded_server(home) as dsn:
        assert ask(dsn, "SELECT answer FROM kept") == 42


def test_a_stale_pid_file_that_names_a_stranger_is_no_obstacle(home: Path) -> None:
    # As after a restart of a container: the number now belongs to another living process.
    (home / "postgres" / "postmaster.pid").write_text(f"{os.getpid()}\n{home / 'postgres'}\n")
    with embedded_server(home, durable=False) as dsn:
        assert ask(dsn, "SELECT 1") == 1


def test_threads_that_start_together_start_one_server(home: Path) -> None:
    def use(_: int) -> int:
        with embedded_server(home, durable=False) as dsn:
            assert ask(dsn, "SELECT 1") == 1
            return postmaster(home)

    with another_process(home), ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(use, range(8)))) == 1


def test_a_first_start_that_crashed_half_way_is_made_anew(tmp_path: Path) -> None:
    half = tmp_path / "postgres.new"
    (half / "base").mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    with embedded_server(tmp_path, durable=False) as dsn:
        assert ask(dsn, "SELECT current_database()") == "laari"
    assert not half.exists()


@pytest.mark.parametrize("name", ["long-" + "x" * 100, "odd, 'name'"])
def test_a_path_that_a_socket_cannot_have_gets_a_short_one(tmp_path: Path, name: str) -> None:
    with embedded_server(tmp_path / name, durable=False) as dsn:
        assert ask(dsn, "SELECT 1") == 1
        short = Path(str(ask(dsn, "SHOW unix_socket_directories")))
        assert short.parent == Path("/tmp")
        assert stat.S_IMODE(short.stat().st_mode) == 0o700
    short.rmdir()


def test_a_short_socket_directory_of_somebody_else_is_refused(tmp_path: Path) -> None:
    long = tmp_path / ("x" * 100)
    short = cluster.prepare(long).sockets
    try:
        short.chmod(0o755)
        with pytest.raises(EngineError, match="only its owner"), embedded_server(long):
            pass
    finally:
        short.rmdir()


def refusal(home: Path) -> str:
    with pytest.raises(EngineError) as refused, embedded_server(home, durable=False):
        pass
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_data_directory_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    assert "cannot be used" in refusal(tmp_path / "data")


def test_a_cluster_of_another_version(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()
    assert "is not a PostgreSQL database" in refusal(tmp_path)
    (tmp_path / "postgres" / "PG_VERSION").write_text("17\n")
    assert "made by PostgreSQL 17" in refusal(tmp_path)


def test_a_server_that_does_not_start_says_why(home: Path) -> None:
    config = home / "postgres" / "postgresql.conf"
    good = config.read_text()
    config.write_text(good + "\nshared_memory_type = 'nonsense'\n")
    try:
        assert "postgres.log" in refusal(home)
    finally:
        config.write_text(good)


def test_without_the_binaries_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "MAJOR_VERSION", "99")
    assert "LAARI_DATABASE_URL" in refusal(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs a user namespace")
def test_root_without_user_namespaces_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unshare = tmp_path / "unshare"
    unshare.write_text("#!/bin/sh\necho 'unshare: unshare failed: Not permitted' >&2; exit 1\n")
    unshare.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert "as an ordinary user" in refusal(tmp_path / "data")


def test_no_permission_outside_of_the_data_directory_changes(tmp_path: Path) -> None:
    parent = tmp_path / "parent"
    parent.mkdir(mode=0o700)
    before = {path: path.stat().st_mode for path in (Path.home(), tmp_path, parent)}
    with embedded_server(parent / "data", durable=False) as dsn:
        assert ask(dsn, "SELECT 1") == 1
    assert {path: path.stat().st_mode for path in before} == before
