"""Keeps the process tree alive: interface processes and one background process.

The listening socket stays open here, so clients wait a moment while a process is replaced.
"""

import asyncio
import errno
import logging
import os
import signal
import socket
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from laari.edge.load.token_buckets import SHARED_BYTES
from laari.engine.embedded import revive
from laari.engine.programs import EngineError
from laari.errors import LaariError
from laari.http.connection_limits import BACKLOG
from laari.process import heartbeat
from laari.process.heartbeat import Watchdog
from laari.settings import Settings
from laari.workers.pause import pause

log = logging.getLogger("laari.supervisor")

FIRST_WAIT_SECONDS = 0.1  # before a process starts again; doubles each time
LAST_WAIT_SECONDS = 5.0
# After this time as ready, a process that dies was killed, and starts with the first wait again.
HEALTHY_SECONDS = 0.5
# Before the service was ready once. Attempts that fail because the database is away do not count.
FIRST_START_ATTEMPTS = 4
STOP_SECONDS = 30.0  # for the work in flight
ENGINE_LOOK_SECONDS = 1.0
DEFAULT_METRICS_ADDRESS = ("127.0.0.1", 9464)
METRICS_BYTES = 1 << 18  # per interface process


def listen(host: str, port: int) -> socket.socket:
    """Takes the port at once, so that early clients wait for the first process."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise LaariError(f"port {port} on {host} is in use by another program") from None
        raise LaariError(f"cannot listen on {host} port {port}: {error.strerror}") from None
    listener.setblocking(False)
    return listener


def listen_for_metrics(settings: Settings) -> socket.socket | None:
    """Returns the socket of the metrics; None if a token protects them on the main one.

    If another service has the default port, uses a free one.
    """
    if settings.metrics_address is not None:
        host, port = settings.metrics_address
        return listen(host, port)
    if settings.metrics_token is not None:
        return None
    host, port = DEFAULT_METRICS_ADDRESS
    try:
        return listen(host, port)
    except LaariError:
        return listen(host, 0)


class Supervisor:
    def __init__(
        self,
        listener: socket.socket,
        metrics_listener: socket.socket | None,
        settings: Settings,
        workers: int,
        stop: asyncio.Event,
    ) -> None:
        self._listener = listener
        self._metrics_listener = metrics_listener
        self._settings = settings
        self._roles = [*["interface"] * workers, "background"]
        self._stop = stop
        # By the place in the list of roles.
        self._processes: dict[int, Process] = {}
        self._stacks: dict[int, int] = {}  # files
        self._ready_at: dict[int, float] = {}  # when the present process became ready
        self._watchdog = Watchdog(time.monotonic())
        self._on_ready: Callable[[], None] | None = None
        # The children read its end, which comes when this process ends.
        self._life, self._own_life = os.pipe()
        self._rates = _shared_memory("laari-rates", SHARED_BYTES)
        self._metrics = _shared_memory("laari-metrics", workers * METRICS_BYTES)

    async def run(self, on_ready: Callable[[], None]) -> None:
        """Returns when `stop` is set and the processes have finished their work."""
        self._on_ready = on_ready
        tasks = [asyncio.create_task(self._keep(place)) for place in range(len(self._roles))]
        tasks.append(asyncio.create_task(self._watch()))
        if self._settings.database_url is None:
            tasks.append(asyncio.create_task(_keep_engine(self._settings.data_dir, self._stop)))
        stopping = asyncio.create_task(self._stop.wait())
        done, _ = await asyncio.wait([stopping, *tasks], return_when=asyncio.FIRST_COMPLETED)
        self._stop.set()
        await self._end(tasks)
        for task in done:
            task.result()

    async def _keep(self, place: int) -> None:
        """Starts the process of this place again and again, with a growing wait."""
        role, wait_seconds, failures = self._roles[place], FIRST_WAIT_SECONDS, 0
        while not self._stop.is_set():
            status, how = await self._live(place)
            ready_at = self._ready_at.pop(place, None)
            if self._stop.is_set():
                return
            failures += status != os.EX_TEMPFAIL
            if self._on_ready is not None and failures == FIRST_START_ATTEMPTS:
                raise LaariError(f"the {role} process does not start: it {how}")
            if ready_at is not None and time.monotonic() - ready_at >= HEALTHY_SECONDS:
                wait_seconds = FIRST_WAIT_SECONDS
            log.warning("%s process %s; starting it in %.1f s", role, how, wait_seconds)
            await pause(self._stop, wait_seconds)
            wait_seconds = min(wait_seconds * 2, LAST_WAIT_SECONDS)

    async def _live(self, place: int) -> tuple[int | None, str]:
        """Runs one process; returns its exit status and a description of its end."""
        signs, give_signs = os.pipe()
        os.set_blocking(signs, False)
        os.set_blocking(give_signs, False)
        stack = _shared_memory("laari-stack", 0)
        asyncio.get_running_loop().add_reader(signs, self._heard, place, signs)
        try:
            process = await self._start(place, give_signs, stack)
        except OSError as error:  # too many processes, or no memory
            os.close(stack)
            return None, f"cannot be started ({error.strerror})"
        finally:
            os.close(give_signs)
        self._processes[place], self._stacks[place] = process, stack
        self._watchdog.started(place)
        if self._stop.is_set():  # it missed the signal to the others
            process.terminate()
        status = await process.wait()
        self._watchdog.ended(place)
        del self._processes[place], self._stacks[place]
        os.close(stack)
        return status, f"{process.pid} ended with status {status}"

    async def _start(self, place: int, give_signs: int, stack: int) -> Process:
        shared = {
            "LAARI_LISTEN_FD": self._listener.fileno(),
            "LAARI_RATE_FD": self._rates,  # shared memory of the rate limits
            "LAARI_METRICS_FD": self._metrics,  # and of the metrics
            "LAARI_LIFE_FD": self._life,  # closes when the supervisor ends
            heartbeat.HEARTBEAT_FD: give_signs,
            heartbeat.STACK_FD: stack,  # for the stacks of a process that hangs
        }
        if self._metrics_listener is not None:
            shared["LAARI_METRICS_LISTEN_FD"] = self._metrics_listener.fileno()
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "laari.process.process",
            self._roles[place],
            env={
                **os.environ,
                "LAARI_PUBLIC_URL": self._settings.public_url,
                "LAARI_PROCESS": str(place),  # its part of the metrics
                **{name: str(fd) for name, fd in shared.items()},
            },
            pass_fds=list(shared.values()),
            stdin=DEVNULL,
            process_group=0,  # Ctrl-C is for the supervisor alone
        )

    def _heard(self, place: int, signs: int) -> None:
        """Reads the heartbeat of a process, or the end of its pipe."""
        heard = os.read(signs, heartbeat.MOST_SIGNS)
        if not heard:
            asyncio.get_running_loop().remove_reader(signs)
            os.close(signs)
            return
        self._watchdog.heard(place, heard)
        if heartbeat.READY in heard:
            self._ready_at[place] = time.monotonic()
        if self._on_ready is not None and len(self._ready_at) == len(self._roles):
            self._on_ready()
            self._on_ready = None

    async def _watch(self) -> None:
        while not self._stop.is_set():
            await pause(self._stop, heartbeat.LOOK_SECONDS)
            place = self._watchdog.look(time.monotonic())
            if place is not None:
                await self._give_up(place)

    async def _give_up(self, place: int) -> None:
        """Kills a silent process after it has written its stacks; `_keep` starts another."""
        process, silent = self._processes[place], self._watchdog.silence(place)
        _signal(process, heartbeat.STACK_SIGNAL)
        await pause(self._stop, heartbeat.STACK_SECONDS)
        if self._stop.is_set():  # now STOP_SECONDS counts
            return
        named = f"{self._roles[place]} process {process.pid}"
        still = self._processes.get(place) is process  # it has not ended by itself
        stack = heartbeat.take_stack(self._stacks[place]) if still else []
        if still and self._watchdog.silence(place) < silent:
            message = "%s gave no sign of life for %.0f s, but is back"
            log.warning(message, named, silent, extra={"stack": stack})
            return
        message = "%s has given no sign of life for %.0f s and is replaced"
        log.error(message, named, silent, extra={"stack": stack})
        _signal(process, signal.SIGKILL)

    async def _end(self, tasks: list[asyncio.Task[None]]) -> None:
        self._listener.close()
        if self._metrics_listener is not None:
            self._metrics_listener.close()
        self._send(signal.SIGTERM)
        _, late = await asyncio.wait(tasks, timeout=STOP_SECONDS)
        if late:
            count = len(self._processes)
            log.error("%d processes did not end within %.0f s: killing them", count, STOP_SECONDS)
            self._send(signal.SIGKILL)
            await asyncio.wait(tasks)
        for fd in (self._life, self._own_life, self._rates, self._metrics):
            os.close(fd)

    def _send(self, number: signal.Signals) -> None:
        for process in self._processes.values():
            _signal(process, number)


def _signal(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):  # it has just ended by itself
        process.send_signal(number)


async def _keep_engine(data_dir: Path, stop: asyncio.Event) -> None:
    """Starts the embedded server again if it has ended."""
    while not stop.is_set():
        try:
            await asyncio.to_thread(revive, data_dir)
        except EngineError as error:
            log.error("%s", error)
        await pause(stop, ENGINE_LOOK_SECONDS)


def _shared_memory(name: str, size: int) -> int:
    """Returns a file in memory for processes to share."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create(name)
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.ftruncate(fd, size)
    return fd
