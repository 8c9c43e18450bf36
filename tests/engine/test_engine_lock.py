"""Without proof that no server lives on the data directory none is started, no file is removed.

The number in `postmaster.pid` proves nothing across PID namespaces: a container that shares the
data directory sees none of the server's processes.
"""

import asyncio
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import asyncpg
import psutil
import pytest

from laari.engine import embedded
from laari.engine.embedded import embedded_server, revive
from laari.engine.programs import EngineError
from tests.engine.engines import USER, another_process, ask, is_running, kill_and_wait, postmaster

pytestmark = pytest.mark.ci

# As root a namespace of its own for users is not needed; where root may not do without, it helps.
_PLAIN = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
_USERS = ["unshare", "--user", "--map-root-user", *_PLAIN[1:]]


def works(command: list[str]) -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0


ELSEWHERE = _PLAIN if works(_PLAIN) else _USERS

needs_namespaces = pytest.mark.skipif(
    not works(ELSEWHERE), reason="PID namespaces cannot be made here (unshare, or the right to)"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory whose server has been stopped, to be copied: to make one takes longer."""
    home = tmp_path_factory.mktemp("made") / "data"
    with embedded_server(home, durable=False) as dsn:
        ask(dsn, "CREATE TABLE kept AS SELECT 0 AS n")
    assert lets_go(home)
    return home


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "data"))


def use_elsewhere(home: Path, query: str, *within: str) -> subprocess.CompletedProcess[str]:
    """Another PID namespace joins the users of the server and asks it something."""
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from laari.errors import LaariError\n"
        "from laari.engine.embedded import embedded_server\n"
        "from laari.engine import embedded\n"
        "embedded.UNREACHABLE_SECONDS = 0.5\n"
        "from tests.engine.engines import ask\n"
        "try:\n"
        "    with embedded_server(Path(sys.argv[1]), durable=False) as dsn:\n"
        "        print(ask(dsn, sys.argv[2]))\n"
        "except LaariError as error:\n"
        "    sys.exit(f'laari: {error}')\n"
    )
    return subprocess.run(
        [*ELSEWHERE, *within, sys.executable, "-c", script, str(home), query],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def lock_holders(home: Path) -> set[int]:
    """The processes that hold the server's lock open."""
    found = set()
    for process in psutil.process_iter():
        try:
            for fd in Path(f"/proc/{process.pid}/fd").iterdir():
                if os.path.samefile(fd, home / "server.lock"):
                    found.add(process.pid)
        except OSError:
            continue
    return found


def is_locked(home: Path) -> bool:
    with (home / "server.lock").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def lets_go(home: Path) -> bool:
    """A postmaster takes its pid file away and then ends, and the lock is free with its end."""
    deadline = time.monotonic() + 10
    while is_locked(home) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_locked(home)


def test_the_server_and_all_its_processes_hold_the_lock(home: Path) -> None:
    assert lets_go(home)
    with embedded_server(home, durable=False):
        server = psutil.Process(postmaster(home))
        of_server = {server.pid, *(child.pid for child in server.children())}
        assert lock_holders(home) == of_server
        assert is_locked(home)
    assert lets_go(home)


@needs_namespaces
def test_another_pid_namespace_uses_the_server_that_runs(home: Path) -> None:
    with embedded_server(home, durable=False) as dsn:
        before = (home / "postgres" / "postmaster.pid").read_text()
        ask(dsn, "UPDATE kept SET n = 320")
        for _ in range(2):  # leaving must not stop it either
            found = use_elsewhere(home, "SELECT n FROM kept")
            assert (found.stdout, found.stderr) == ("320\n", "")
        assert (home / "postgres" / "postmaster.pid").read_text() == before
        assert ask(dsn, "SELECT n FROM kept") == 320
    with embedded_server(home, durable=False) as dsn:
        assert ask(dsn, "SELECT n FROM kept") == 320


@needs_namespaces
def test_a_server_without_users_is_used_from_another_namespace_and_left(home: Path) -> None:
    with another_process(home) as user:
        user.kill()
    left_behind = postmaster(home)
    assert use_elsewhere(home, "SELECT n FROM kept").stdout == "0\n"
    with embedded_server(home, durable=False):
        assert postmaster(home) == left_behind
    assert not is_running(home)


@needs_namespaces
def test_another_pid_namespace_that_cannot_reach_it_says_so(tmp_path: Path) -> None:
    home = tmp_path / ("x" * 100)  # its socket is in a directory below /tmp
    with embedded_server(home, durable=False) as dsn:
        sockets = Path(str(ask(dsn, "SHOW unix_socket_directories")))
        before = (home / "postgres" / "postmaster.pid").read_text()
        hide = f'mount -t tmpfs -o mode=700 none {sockets} && exec "$@"'
        refused = use_elsewhere(home, "SELECT 1", "unshare", "--mount", "sh", "-c", hide, "sh")
        assert refused.returncode == 1
        assert refused.stderr.count("\n") == 1
        assert f"{home} is in use by a server that cannot be reached from here" in refused.stderr
        assert (home / "postgres" / "postmaster.pid").read_text() == before
        assert ask(dsn, "SELECT 1") == 1
    shutil.rmtree(sockets, ignore_errors=True)


@needs_namespaces
def test_a_server_of_another_namespace_is_replaced_when_that_ends(home: Path) -> None:
    with another_process(home, *ELSEWHERE) as user:
        with embedded_server(home, durable=True) as dsn:
            ask(dsn, "UPDATE kept SET n = 7")
            ask(dsn, "CHECKPOINT")  # the other process asked for no durable commits
            revive(home)  # it runs already, though its number here is another
            elsewhere = (home / "postgres" / "postmaster.pid").read_text()
            user.kill()  # and with it everything in its namespace, a moment later
            wait_until(lambda: embedded._postmaster(embedded.prepare(home)) is None)
            revive(home)
            assert (home / "postgres" / "postmaster.pid").read_text() != elsewhere
            assert ask(dsn, "SELECT n FROM kept") == 7
        assert not is_running(home)


@needs_namespaces
def test_the_last_user_stops_a_server_of_a_namespace_within_its_own(home: Path) -> None:
    with another_process(home, *ELSEWHERE, "sh", "-c", '"$@"; exec sleep 60', "sh") as first:
        try:
            with embedded_server(home, durable=False):
                inner = psutil.Process(embedded._postmaster(embedded.prepare(home)) or 0)
                assert inner.pid != postmaster(home)
                assert first.stdin is not None
                first.stdin.close()  # the user ends, its namespace lives on
                first.stdin = None
                wait_until(lambda: "sleep" in shown_names(first.pid))
                assert inner.is_running()
            assert not is_running(home)
            assert lets_go(home)
        finally:
            first.kill()


def shown_names(pid: int) -> set[str]:
    found = set()
    for process in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            found.add(process.name())
    return found


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@contextmanager
def stopped_backend(home: Path, dsn: str) -> Iterator[psutil.Process]:
    """A backend that does not notice that its postmaster has died."""

    async def connected() -> int:
        connection = await asyncpg.connect(dsn)
        pid = await connection.fetchval("SELECT pg_backend_pid()")
        os.kill(pid, signal.SIGSTOP)
        connection.terminate()
        return int(pid)

    backend = psutil.Process(asyncio.run(connected()))
    try:
        yield backend
    finally:
        with suppress(psutil.NoSuchProcess):
            backend.kill()


def test_backends_that_outlive_a_killed_postmaster_keep_a_second_server_away(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with embedded_server(home, durable=True) as dsn:
        ask(dsn, "UPDATE kept SET n = 8")
        with stopped_backend(home, dsn) as backend:
            kill_and_wait(postmaster(home))
            stale = (home / "postgres" / "postmaster.pid").read_text()
            monkeypatch.setattr(embedded, "START_SECONDS", 0.5)
            with pytest.raises(EngineError, match="does not answer"):
                revive(home)
            assert (home / "postgres" / "postmaster.pid").read_text() == stale
            monkeypatch.setattr(embedded, "START_SECONDS", 60)
            reviving = threading.Thread(target=revive, args=(home,))
            reviving.start()
            time.sleep(0.2)
            assert (home / "postgres" / "postmaster.pid").read_text() == stale
            backend.kill()
            reviving.join(30)
        assert ask(dsn, "SELECT n FROM kept") == 8


@needs_namespaces
def test_such_backends_are_heeded_from_another_namespace_too(home: Path) -> None:
    with embedded_server(home, durable=True) as dsn:
        with stopped_backend(home, dsn):
            kill_and_wait(postmaster(home))
            refused = use_elsewhere(home, "SELECT 1")
            assert "cannot be reached from here" in refused.stderr
        revive(home)
        assert ask(dsn, "SELECT n FROM kept") == 0


def test_a_start_that_died_between_lock_and_server_leaves_no_lock(home: Path) -> None:
    script = (
        "import os, sys, signal\nfrom pathlib import Path\nfrom laari.engine import embedded\n"
        "embedded.write_configuration = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "with embedded.embedded_server(Path(sys.argv[1]), durable=False): pass\n"
    )
    died = subprocess.run([sys.executable, "-c", script, str(home)], timeout=30, check=False)
    assert died.returncode == -signal.SIGKILL
    with embedded_server(home, durable=False) as dsn:
        assert ask(dsn, "SELECT n FROM kept") == 0


def test_an_orphaned_initdb_is_waited_for(tmp_path: Path) -> None:
    """Its first user was killed; the files that it goes on writing are not taken away below it."""
    home = tmp_path / "data"
    starting = subprocess.Popen([sys.executable, "-c", USER, str(home)], stdin=subprocess.PIPE)
    wait_until((home / "postgres.new" / "PG_VERSION").exists)
    starting.kill()
    starting.wait()
    assert is_locked(home)
    with embedded_server(home, durable=False) as dsn:
        assert ask(dsn, "SELECT current_database()") == "laari"


def test_a_file_system_without_locks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(fd: int, operation: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", without)
    with pytest.raises(EngineError, match="local file system"), embedded_server(tmp_path / "data"):
        pass
    assert not (tmp_path / "data" / "postgres").exists()


def test_files_are_claimed_only_where_nobody_holds_the_servers_lock(home: Path) -> None:
    """Its server may run in another container, where its processes cannot be seen from here."""
    with (home / "server.lock").open("r+") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(EngineError, match="in use by a server"), embedded.claimed(home):
            pass
    with embedded.claimed(home) as (layout, _):
        assert layout.home == home.resolve()


def test_no_database_is_made_beside_an_unfinished_restore(tmp_path: Path) -> None:
    home = tmp_path / "data"
    (home / "postgres.restoring").mkdir(parents=True)
    with pytest.raises(EngineError, match="did not finish"), embedded_server(home, durable=False):
        pass
    assert not (home / "postgres").exists()


def test_no_server_is_started_while_its_lock_is_held(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "UNREACHABLE_SECONDS", 0.2)
    with (home / "server.lock").open("r+") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with (
            pytest.raises(EngineError, match="cannot be reached from here"),
            embedded_server(home, durable=False),
        ):
            pass
