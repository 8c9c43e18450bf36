"""`laari serve` as a process tree, with a small application in the place of the real one."""

import http.client
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

import asyncpg
import pytest

from laari.process.supervisor import FIRST_START_ATTEMPTS, HEALTHY_SECONDS
from tests.serving import free_port
from tests.silence import proxy_to

PATIENCE_SECONDS = 60.0

# Found by every process of the tree as it starts, before anything of laari is imported.
STAND_IN = """
import asyncio, os, signal, sys, time, types

def hang(*_):
    if os.environ["HANG"] == "sleep":
        time.sleep(1000)
    while True:
        pass

def create_app(dsn, master_key, settings, shared):
    from laari.http.messages import Reply, Stream
    rate_fd, metrics_fd, process, _ = shared
    assert os.fstat(rate_fd).st_size == 1 << 20
    assert os.fstat(metrics_fd).st_size >= (process + 1) << 16

    class App:
        async def open(self):
            pass

        async def close(self):
            pass

        def wake(self):
            pass

        async def __call__(self, request):
            if request.path == "/late-work":
                await asyncio.sleep(0)  # it is done when all others that came have begun, too
            if request.path in ("/work", "/late-work"):
                end = time.monotonic() + 0.2
                while time.monotonic() < end:
                    pass
            return Reply(200, stream=Stream(self.chunks(request.path), lambda: None))

        def fault(self, refusal, path):
            return Reply(refusal.status)

        async def chunks(self, path):
            if path == "/slow":
                yield b"begun"
                await asyncio.sleep(1)
            yield f"{os.getpid()} {settings.public_url}".encode()

    return App()

if os.environ.get("STAND_IN") == "broken" and "laari.process.process" in sys.orig_argv:
    sys.stderr.write("broken on purpose\\n")
    os._exit(3)
if "SILENT_SECONDS" in os.environ:
    from laari.process import heartbeat
    heartbeat.SILENT_SECONDS = float(os.environ["SILENT_SECONDS"])
if "laari.process.process" in sys.orig_argv:
    signal.signal(signal.SIGUSR2, hang)
while sys.orig_argv[-1] == "background" and not os.path.exists(os.environ.get("START_WHEN", "/")):
    time.sleep(0.02)
module = types.ModuleType("laari.edge.app")
module.create_app = create_app
module.PROMPT_PATHS = frozenset()
module.Shared = lambda *numbers: numbers
sys.modules["laari.edge.app"] = module
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """For a tree on its own embedded server."""
    (tmp_path / "sitecustomize.py").write_text(STAND_IN)
    own = {name: value for name, value in os.environ.items() if not name.startswith("LAARI_")}
    return {**own, "PYTHONPATH": found_first(tmp_path), "LAARI_DATA_DIR": str(tmp_path / "data")}


def found_first(folder: Path) -> str:
    """PYTHONPATH with this folder before what is on it: the code under test may be there."""
    return os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))


@pytest.fixture
def on_a_server(environment: dict[str, str], dsn: str) -> dict[str, str]:
    """For a tree on the tests' server, which is quicker."""
    return {**environment, "LAARI_DATABASE_URL": dsn, "LAARI_MASTER_KEY": "00" * 32}


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "laari", "serve", *options]


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


class Tree(NamedTuple):
    process: subprocess.Popen[str]
    port: int

    def get(self) -> str:
        """Asks on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET", "/")
            response = connection.getresponse()
            assert response.status == 200
            return response.read().decode()
        finally:
            connection.close()

    def answering(self) -> int:
        """The process that answered."""
        return int(self.get().split()[0])

    def children(self) -> set[int]:
        pid = self.process.pid
        found: set[int] = set()
        for task in Path(f"/proc/{pid}/task").iterdir():  # a child belongs to the thread it is of
            with suppress(FileNotFoundError):  # a thread that ended meanwhile
                found.update(map(int, (task / "children").read_text().split()))
        return found

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(PATIENCE_SECONDS)


@contextmanager
def starting(
    environment: dict[str, str], workers: int, errors: IO[bytes] | None = None, port: int = 0
) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command("--port", str(port), "--workers", str(workers)),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)


def await_ready(process: subprocess.Popen[str]) -> int:
    """The port that it says it is ready at."""
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], PATIENCE_SECONDS)[0], "it is not ready"
    line = process.stdout.readline()
    ready = re.fullmatch(r"Laari is ready at http://127\.0\.0\.1:(\d+)\n", line)
    assert ready, line
    return int(ready[1])


@contextmanager
def serving(
    environment: dict[str, str], workers: int = 2, errors: IO[bytes] | None = None
) -> Iterator[Tree]:
    with starting(environment, workers, errors) as process:
        yield Tree(process, await_ready(process))


def is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def postmaster(environment: dict[str, str]) -> int:
    pid_file = Path(environment["LAARI_DATA_DIR"], "postgres", "postmaster.pid")
    return int(pid_file.read_text().splitlines()[0])


def test_a_process_that_dies_is_replaced_while_the_others_serve(
    on_a_server: dict[str, str],
) -> None:
    with serving(on_a_server) as tree:
        assert tree.get().endswith(f"http://127.0.0.1:{tree.port}")
        before = tree.children()
        assert len(before) == 3
        victim = tree.answering()
        os.kill(victim, signal.SIGKILL)
        # Nobody is refused meanwhile, and another process answers.
        assert all(tree.answering() != victim for _ in range(5))
        wait_until(lambda: len(tree.children() - before) == 1)
        (successor,) = tree.children() - before
        wait_until(lambda: tree.answering() == successor)
        assert tree.end() == 0


def test_a_process_that_is_killed_again_and_again_is_replaced_as_fast(
    on_a_server: dict[str, str], tmp_path: Path
) -> None:
    """Waits grow for one that does not start, not for one that has served."""
    log = tmp_path / "log"
    with log.open("wb") as errors, serving(on_a_server, workers=1, errors=errors) as tree:
        for _ in range(3):
            victim = tree.answering()
            time.sleep(HEALTHY_SECONDS + 0.1)
            os.kill(victim, signal.SIGKILL)
            tree.get()  # the listener is there, and waits for its successor
        assert tree.end() == 0
    assert re.findall(r"starting it in (\S+) s", log.read_text()) == ["0.1"] * 3


def test_the_background_process_is_replaced_too(on_a_server: dict[str, str]) -> None:
    with serving(on_a_server, workers=1) as tree:
        (background,) = tree.children() - {tree.answering()}
        os.kill(background, signal.SIGKILL)
        wait_until(lambda: len(tree.children() - {background}) == 2)
        assert tree.end() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_request_in_flight_is_finished(
    on_a_server: dict[str, str], number: signal.Signals
) -> None:
    with serving(on_a_server) as tree:
        children = tree.children()
        with socket.create_connection(("127.0.0.1", tree.port), PATIENCE_SECONDS) as client:
            client.sendall(b"GET /slow HTTP/1.1\r\nHost: laari\r\n\r\n")
            answer = b""
            while b"begun" not in answer:
                answer += client.recv(4096)
            # Ctrl-C reaches the whole group of processes, as from a terminal.
            if number == signal.SIGINT:
                os.killpg(tree.process.pid, number)
            else:
                tree.process.send_signal(number)
            while chunk := client.recv(4096):
                answer += chunk
        assert answer.endswith(b"\r\n0\r\n\r\n")
        assert tree.process.wait(PATIENCE_SECONDS) == 0
        assert not any(map(is_alive, children))
        with pytest.raises(ConnectionRefusedError):
            tree.get()


def test_a_killed_supervisor_leaves_nothing_behind(environment: dict[str, str]) -> None:
    with serving(environment) as tree:
        left = [*tree.children(), postmaster(environment)]
        tree.process.kill()
        wait_until(lambda: not any(map(is_alive, left)))
    with serving(environment, workers=1) as tree:
        tree.get()
        assert tree.end() == 0
        assert not Path(environment["LAARI_DATA_DIR"], "postgres", "postmaster.pid").exists()


def test_the_embedded_server_is_started_again_where_it_dies(environment: dict[str, str]) -> None:
    with serving(environment, workers=1) as tree:
        killed = postmaster(environment)
        os.kill(killed, signal.SIGKILL)

        def replaced() -> bool:
            try:
                return postmaster(environment) != killed
            except (FileNotFoundError, IndexError):  # in between
                return False

        wait_until(replaced)
        tree.get()
        assert tree.end() == 0


def run_to_end(environment: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*options),
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def test_processes_that_never_start_end_the_service(on_a_server: dict[str, str]) -> None:
    broken = {**on_a_server, "STAND_IN": "broken"}
    ended = run_to_end(broken, "--port", "0", "--workers", "1")
    assert ended.returncode == 1
    assert "broken on purpose" in ended.stderr
    assert re.match(r"laari: the \w+ process does not start", ended.stderr.splitlines()[-1])


def test_a_database_that_goes_away_while_a_process_starts_does_not_end_the_service(
    on_a_server: dict[str, str], tmp_path: Path
) -> None:
    """The others serve already, and it comes up with the database."""
    log, start = tmp_path / "log", tmp_path / "start"
    with proxy_to(on_a_server["LAARI_DATABASE_URL"]) as proxy, log.open("wb") as errors:
        late = {**on_a_server, "LAARI_DATABASE_URL": proxy.dsn, "START_WHEN": str(start)}
        port = free_port()
        with starting(late, workers=1, errors=errors, port=port) as process:
            tree = Tree(process, port)
            wait_until(lambda: is_listening(port))
            tree.get()
            proxy.refuse()
            start.touch()
            wait_until(lambda: log.read_text().count("background process") > FIRST_START_ATTEMPTS)
            tree.get()
            proxy.heal()
            assert await_ready(process) == port
            assert tree.end() == 0
    assert "the database cannot be reached" in log.read_text()


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def refusal(environment: dict[str, str], *options: str) -> str:
    """The one line with which the service declines to start."""
    ended = run_to_end(environment, *(options or ("--port", "0")))
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.startswith("laari: ")
    assert ended.stderr.count("\n") == 1, ended.stderr
    return ended.stderr


def test_a_port_in_use(environment: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"port {port} on 127.0.0.1 is in use" in refusal(environment, "--port", port)
    assert not Path(environment["LAARI_DATA_DIR"]).exists()


def test_an_address_that_is_not_ours(environment: dict[str, str]) -> None:
    assert "cannot listen on 192.0.2.1" in refusal(environment, "--host", "192.0.2.1")


def test_a_data_directory_that_cannot_be_used(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a directory")
    assert "cannot be used" in refusal(environment)


def test_an_unreachable_database(on_a_server: dict[str, str]) -> None:
    nowhere = {**on_a_server, "LAARI_DATABASE_URL": "postgresql://laari:hush@127.0.0.1:1/laari"}
    line = refusal(nowhere)
    assert "the database cannot be reached" in line
    assert "hush" not in line


async def test_a_newer_schema(on_a_server: dict[str, str], dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute("INSERT INTO schema_migrations VALUES (9999, 'new', '')")
    await connection.close()
    assert "newer than" in refusal(on_a_server)
