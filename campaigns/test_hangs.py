"""A process that lives and does nothing is noticed and replaced while the others serve."""

import json
import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from campaigns.test_process_tree import (
    PATIENCE_SECONDS,
    STAND_IN,
    Tree,
    found_first,
    is_alive,
    serving,
    wait_until,
)

SILENT_SECONDS = 3.0  # for tests that would take long otherwise
BUSY_SECONDS = 0.2  # that each request to /work takes
ASKED_SECONDS = 80.0  # of work, by a flood
RECOVERED_SECONDS = 10.0  # five are promised; the work alone would take 80
FROZEN_SECONDS = 10.0  # longer than a silence that is forgiven


@pytest.fixture
def tree_environment(tmp_path: Path, dsn: str) -> dict[str, str]:
    (tmp_path / "sitecustomize.py").write_text(STAND_IN)
    own = {name: value for name, value in os.environ.items() if not name.startswith("LAARI_")}
    return {
        **own,
        "PYTHONPATH": found_first(tmp_path),
        "LAARI_DATA_DIR": str(tmp_path / "data"),
        "LAARI_DATABASE_URL": dsn,
        "LAARI_MASTER_KEY": "00" * 32,
    }


def stop(tree: Tree, victim: int) -> None:
    os.kill(victim, signal.SIGSTOP)


def hang(tree: Tree, victim: int) -> None:
    os.kill(victim, signal.SIGUSR2)


def await_replacement(tree: Tree, before: set[int], victim: int) -> None:
    """Waits for it while others are served."""
    reset: list[Exception] = []
    meanwhile: list[int] = []

    def replaced() -> bool:
        try:
            meanwhile.append(tree.answering())
        except ConnectionResetError as error:  # the victim had accepted it before it hung
            reset.append(error)
            assert len(reset) <= 2
            return False
        return not is_alive(victim) and len(tree.children() - before) == 1

    wait_until(replaced)
    assert victim not in meanwhile
    (successor,) = tree.children() - before
    assert is_alive(successor)
    assert set(meanwhile) - {successor}  # another one has served


def logged(log: Path, words: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    return [line for line in lines if words in line["message"]]


@pytest.mark.parametrize(
    ("how", "freeze", "role"),
    [
        ("stop", stop, "interface"),
        ("spin", hang, "interface"),
        pytest.param("spin", hang, "background", marks=pytest.mark.campaign),
        pytest.param("sleep", hang, "interface", marks=pytest.mark.campaign),
        pytest.param("stop", stop, "background", marks=pytest.mark.campaign),
    ],
)
def test_a_process_that_hangs_is_replaced_while_the_others_serve(
    tree_environment: dict[str, str],
    tmp_path: Path,
    how: str,
    freeze: Callable[[Tree, int], None],
    role: str,
) -> None:
    log = tmp_path / "log"
    with log.open("wb") as errors:
        environment = {**tree_environment, "HANG": how, "SILENT_SECONDS": str(SILENT_SECONDS)}
        with serving(environment, workers=2, errors=errors) as tree:
            before = tree.children()
            interfaces = serving_processes(tree, 2)
            victim = interfaces.pop() if role == "interface" else (before - interfaces).pop()
            freeze(tree, victim)
            await_replacement(tree, before, victim)
            if role == "interface":
                serving_processes(tree, 2)  # the successor too
            assert tree.end() == 0
    (told,) = logged(log, "sign of life")
    assert told["level"] == "error"
    assert told["message"].startswith(f"{role} process {victim} has given no sign of life for")
    if how == "stop":  # it could not say where it was
        assert "stack" not in told
    else:
        assert any("sitecustomize.py" in line and "in hang" in line for line in told["stack"])


def serving_processes(tree: Tree, count: int) -> set[int]:
    """The interface processes, once so many of them have answered."""
    found: set[int] = set()

    def all_found() -> bool:
        found.add(tree.answering())
        return len(found) == count

    wait_until(all_found)
    return found


def connected(tree: Tree, count: int) -> list[socket.socket]:
    return [
        socket.create_connection(("127.0.0.1", tree.port), PATIENCE_SECONDS) for _ in range(count)
    ]


def ask(client: socket.socket, path: str) -> None:
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: laari\r\n\r\n".encode())


def test_a_process_that_is_busy_is_not_replaced(
    tree_environment: dict[str, str], tmp_path: Path
) -> None:
    """Its loop does not come round for longer than a silence that is forgiven."""
    log = tmp_path / "log"
    environment = {**tree_environment, "SILENT_SECONDS": str(SILENT_SECONDS)}
    with log.open("wb") as errors, serving(environment, workers=1, errors=errors) as tree:
        before = tree.children()
        # All of them are begun at once, and the last one ends long after the bound.
        clients = connected(tree, int(2.5 * SILENT_SECONDS / BUSY_SECONDS))
        for client in clients:
            ask(client, "/")
            answer = b""
            while not answer.endswith(b"\r\n0\r\n\r\n"):
                answer += client.recv(4096)
        began = time.monotonic()
        for client in clients:
            ask(client, "/late-work")
        statuses = {client.recv(4096)[9:12] for client in clients}
        assert time.monotonic() - began > SILENT_SECONDS + 1
        assert b"200" in statuses
        assert statuses <= {b"200", b"503"}
        assert tree.children() == before
        assert tree.end() == 0
    assert logged(log, "sign of life") == []


@pytest.mark.parametrize("leave", [True, False], ids=["they leave", "they wait"])
def test_a_flood_leaves_no_work_behind(tree_environment: dict[str, str], leave: bool) -> None:
    """More than a minute's work was asked for; then somebody else comes."""
    with serving(tree_environment, workers=1) as tree:
        clients = connected(tree, int(ASKED_SECONDS / BUSY_SECONDS))
        for client in clients:
            ask(client, "/work")
        if leave:
            for client in clients:
                client.close()
        ended = time.monotonic()
        while not is_served(tree):
            time.sleep(0.1)
        assert time.monotonic() - ended < RECOVERED_SECONDS
        assert tree.end() == 0


def is_served(tree: Tree) -> bool:
    """One that came last of a flood may have waited too long itself, and is told so."""
    url = f"http://127.0.0.1:{tree.port}/"
    return httpx.get(url, timeout=PATIENCE_SECONDS).status_code == 200


@pytest.mark.campaign  # tests/process/test_heartbeat.py has the rule
def test_nobody_is_killed_for_a_time_in_which_everything_stood_still(
    tree_environment: dict[str, str], tmp_path: Path
) -> None:
    """As when a virtual machine is paused: the supervisor comes back first and hears nobody."""
    log = tmp_path / "log"
    with (
        log.open("wb") as errors,
        serving(tree_environment, workers=1, errors=errors) as tree,
    ):
        time.sleep(2)  # one that is frozen while it connects to the database ends, and rightly so
        before = tree.children()
        for pid in (*before, tree.process.pid):
            os.kill(pid, signal.SIGSTOP)
        time.sleep(FROZEN_SECONDS)
        tree.process.send_signal(signal.SIGCONT)
        time.sleep(2)
        for pid in before:
            os.kill(pid, signal.SIGCONT)
        time.sleep(2)
        assert tree.children() == before
        assert tree.answering() in before
        assert tree.end() == 0
    assert logged(log, "sign of life") == []
