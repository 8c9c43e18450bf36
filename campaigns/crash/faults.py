"""What is done to the service, and how each of them is over.

A fault returns when it was done and how long its victim was away, where it has a successor.
"""

import asyncio
import os
import random
import signal
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import asyncpg
import psutil

from campaigns.crash.place import Place

LOOK_SECONDS = 0.02
CONNECTIONS = 4
REPLACED_SECONDS = 60.0  # much longer than it may take: what takes longer has to show
FULL_SECONDS = 4.0
FULL_TURNS = 8
STOPPED_SECONDS = 3.0  # less than a silence that the supervisor does not forgive


class Done(NamedTuple):
    at: float
    replaced_seconds: float | None = None  # until the victim's successor answered


class Fault(NamedTuple):
    name: str
    run: Callable[[Place], Awaitable[Done]]
    back_seconds: float  # within which payments have to be made again
    replaced_seconds: float = 10.0  # within which the victim's successor has to answer


async def kill_interface(place: Place) -> Done:
    before = place.processes("interface")
    victim = random.choice(before)
    at = time.monotonic()
    os.kill(victim, signal.SIGKILL)

    def successor_answers() -> bool:
        new = set(place.processes("interface")) - set(before)
        return bool(new) and _answers(place, new)

    await _until(successor_answers)
    return Done(at, time.monotonic() - at)


def _answers(place: Place, pids: set[int]) -> bool:
    """Whether one of these processes answers a request over a new connection.

    All processes accept from one listener, so there are several connections to find it by.
    """
    host, _, port = place.service.origin.removeprefix("http://").partition(":")
    with ExitStack() as stack, suppress(OSError):
        own = set()
        for _ in range(CONNECTIONS):
            connection = stack.enter_context(socket.create_connection((host, int(port)), 5))
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: laari\r\n\r\n")
            own.add(connection.getsockname()[1])
        if not connection.recv(4096).startswith(b"HTTP/1.1 200"):
            return False
        with suppress(psutil.Error):
            held = [each for pid in pids for each in psutil.Process(pid).net_connections("tcp")]
            return any(each.raddr and each.raddr.port in own for each in held)
    return False


async def kill_background(place: Place) -> Done:
    before = place.processes("background")
    at = time.monotonic()
    os.kill(before[0], signal.SIGKILL)
    await _until(lambda: bool(set(place.processes("background")) - set(before)))
    return Done(at)


async def kill_postmaster(place: Place) -> Done:
    before = place.postmaster()
    assert before is not None
    at = time.monotonic()
    os.kill(before, signal.SIGKILL)
    await _until(lambda: place.postmaster() not in (None, before))
    await _until_accepting(place)
    return Done(at, time.monotonic() - at)


async def kill_backend(place: Place) -> Done:
    """PostgreSQL takes the death of one for a sign of broken memory and starts all anew."""
    pids = await _backends(place)
    at = time.monotonic()
    os.kill(random.choice(pids), signal.SIGKILL)
    await asyncio.sleep(0.2)
    await _until_accepting(place)
    return Done(at)


async def terminate_backends(place: Place) -> Done:
    at = time.monotonic()
    pids = await _backends(place, "SELECT pg_terminate_backend(pid) FROM all_of_them")
    assert pids
    return Done(at)


async def stop_interface(place: Place) -> Done:
    """As a debugger or a paused container does it; what it was doing goes on afterwards."""
    victim = random.choice(place.processes("interface"))
    os.kill(victim, signal.SIGSTOP)
    try:
        await asyncio.sleep(STOPPED_SECONDS)
    finally:
        at = time.monotonic()
        os.kill(victim, signal.SIGCONT)
    return Done(at)


async def fill_disk(place: Place) -> Done:
    """Nothing can be added to a file, then not even to the log: PostgreSQL stops and stays away."""
    ballast = place.data_dir.parent / "ballast"
    await asyncio.to_thread(_fill, ballast)
    try:
        for _ in range(FULL_TURNS):
            await asyncio.sleep(FULL_SECONDS / FULL_TURNS)
            with suppress(OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
                await _backends(place, "SELECT pg_switch_wal()")
    finally:
        at = time.monotonic()
        ballast.unlink()
    await _until_accepting(place)
    return Done(at)


def _fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1 << 12))


async def _backends(place: Place, statement: str = "SELECT pid FROM all_of_them") -> list[int]:
    """What the service's own sessions are asked, by their number."""
    connection = await asyncpg.connect(place.service.dsn, timeout=10)
    try:
        rows = await connection.fetch(
            "WITH all_of_them AS (SELECT pid FROM pg_stat_activity "
            f"WHERE application_name LIKE 'laari%' AND pid <> pg_backend_pid()) {statement}"
        )
    finally:
        await connection.close()
    return [row[0] for row in rows]


async def _until_accepting(place: Place) -> None:
    deadline = time.monotonic() + REPLACED_SECONDS
    while True:
        try:
            connection = await asyncpg.connect(place.service.dsn, timeout=5)
        except (OSError, TimeoutError, asyncpg.PostgresError):
            assert time.monotonic() < deadline, "the database does not come back"
            await asyncio.sleep(LOOK_SECONDS)
        else:
            await connection.close()
            return


async def _until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + REPLACED_SECONDS
    while not await asyncio.to_thread(happened):
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(LOOK_SECONDS)


# A start takes most of a second of a processor, which others may be using.
INTERFACE = Fault("SIGKILL of an interface process", kill_interface, 2.0, 5.0)
POSTMASTER = Fault("SIGKILL of the postmaster", kill_postmaster, 10.0)
BACKGROUND = Fault("SIGKILL of the background process", kill_background, 2.0)
BACKEND = Fault("SIGKILL of a single backend", kill_backend, 10.0)
TERMINATE = Fault("pg_terminate_backend of every session", terminate_backends, 5.0)
STOP = Fault("SIGSTOP of an interface process for 3 s", stop_interface, 5.0)
FULL_DISK = Fault("a full disk for 4 s", fill_disk, 15.0)
