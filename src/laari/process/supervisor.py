"""The process tree: interface processes and one background process, kept alive.

A process that dies is started again while the others go on serving, and one that gives no sign of
life is killed and started again. All interface processes accept from one listening socket; it stays
open in the supervisor, so that a client that comes while a process is being replaced waits a moment
instead of being refused.
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

from laari.engine.embedded import revive
from laari.engine.programs import EngineError
from laari.errors import LaariError
from laari.http.limits import BACKLOG
from laari.process import heartbeat
from laari.process.heartbeat import Watchdog
from laari.settings import Settings
from laari.workers.pause import pause

log = logging.getLogger("laari.supervisor")

FIRST_WAIT_SECONDS = 0.1  # before a process that died is started again; doubles each time
LAST_WAIT_SECONDS = 5.0
# A process that was ready for so long starts with the first wait again: it was killed, and did not
# fail to start or at its first request. Clients are not kept waiting for the sake of a log.
HEALTHY_SECONDS = 0.5
# Of a process, while the service has never been ready. One that waits for the database is not
# counted: others may serve already.
FIRST_START_ATTEMPTS = 4
STOP_SECONDS = 30.0  # for the work in flight
ENGINE_LOOK_SECONDS = 1.0
RATE_MEMORY_BYTES = 1 << 20
DEFAULT_METRICS_ADDRESS = ("127.0.0.1", 9464)
METRICS_BYTES = 1 << 16  # per interface process


def listen(host: str, port: int) -> socket.socket:
    """Claims the port at once; clients that come before the first process is up wait a moment."""
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
    """The metrics have a socket of their own, unless a token opens them on the main one.

    By default it is a usual port of this machine. Another service may have that one already, which
    is no reason not to start.
    """
    if settings.metrics_address is not None:
        return listen(*settings.metrics_address)
    if settings.metrics_token is not None:
        return None
    try:
        return listen(*DEFAULT_METRICS_ADDRESS)
    except LaariError:
        return listen(DEFAULT_METRICS_ADDRESS[0], 0)


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
        self._processes: dict[int, Process] = {}  # by their place in the list of roles
        self._stacks: dict[int, int] = {}  # the files of their stacks, likewise
        self._ready: set[int] = set()  # those that have been ready at least once
        self._ready_at: dict[int, float] = {}  # when the process that runs there now became ready
        self._watchdog = Watchdog(time.monotonic())
        self._on_ready: Callable[[], None] | None = None
        # The children read an end of it that never comes while this process lives.
        self._life, self._own_life = os.pipe()
        self._rates = _shared_memory("laari-rates", RATE_MEMORY_BYTES)
        self._metrics = _shared_memory("laari-metrics", workers * METRICS_BYTES)

    async def run(self, on_ready: Callable[[], None]) -> None:
        """Returns when `stop` is set and everything in flight is done."""
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
        """Starts the process of this place again and again, with a growing wait in between."""
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
        """The whole life of one process; its exit status, and how it ended in words."""
        signs, give_signs = os.pipe()
        os.set_blocking(signs, False)
        os.set_blocking(give_signs, False)
        stack = _shared_memory("laari-stack", 0)
        asyncio.get_running_loop().add_reader(signs, self._heard, place, signs)
        try:
            process = await self._start(place, give_signs, stack)
        except OSError as error:  # too many processes, or no memory: both may pass
            os.close(stack)
            return None, f"cannot be started ({error.strerror})"
        finally:
            os.close(give_signs)
        self._processes[place], self._stacks[place] = process, stack
        self._watchdog.started(place)
        if self._stop.is_set():  # it came too late to be told with the others
            process.terminate()
        status = await process.wait()
        self._watchdog.ended(place)
        del self._processes[place], self._stacks[place]
        os.close(stack)
        return status, f"{process.pid} ended with status {status}"

    async def _start(self, place: int, give_signs: int, stack: int) -> Process:
        shared = {
            "LAARI_LISTEN_FD": self._listener.fileno(),
            "LAARI_RATE_FD": self._rates,
            "LAARI_METRICS_FD": self._metrics,
            "LAARI_LIFE_FD": self._life,
            heartbeat.HEARTBEAT_FD: give_signs,
            heartbeat.STACK_FD: stack,
        }
        if self._metrics_listener is not None:
            shared["LAARI_METRICS_LISTEN_FD"] = self._metrics_listener.fileno()
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "laari.process.process", self._roles[place]),
            env={
                **os.environ,
                "LAARI_PUBLIC_URL": self._settings.public_url,
                "LAARI_PROCESS": str(place),
                **{name: str(fd) for name, fd in shared.items()},
            },
            pass_fds=list(shared.values()),
            stdin=DEVNULL,
            process_group=0,  # Ctrl-C is for the supervisor alone
        )

    def _heard(self, place: int, signs: int) -> None:
        """The process is alive, perhaps ready as well, or has closed its end."""
        heard = os.read(signs, heartbeat.MOST_SIGNS)
        if not heard:
            asyncio.get_running_loop().remove_reader(signs)
            os.close(signs)
            return
        self._watchdog.heard(place, heard)
        if heartbeat.READY in heard:
            self._ready.add(place)
            self._ready_at[place] = time.monotonic()
        if self._on_ready is not None and len(self._ready) == len(self._roles):
            self._on_ready()
            self._on_ready = None

    async def _watch(self) -> None:
        while not self._stop.is_set():
            await pause(self._stop, heartbeat.LOOK_SECONDS)
            place = self._watchdog.look(time.monotonic())
            if place is not None:
                await self._give_up(place)

    async def _give_up(self, place: int) -> None:
        """Kills a silent process, after it had a moment to say where it is; `_keep` goes on."""
        process, silent = self._processes[place], self._watchdog.silence(place)
        _signal(process, heartbeat.STACK_SIGNAL)
        await pause(self._stop, heartbeat.STACK_SECONDS)
        if self._stop.is_set():  # what it has to finish has a bound of its own now
            return
        named = f"{self._roles[place]} process {process.pid}"
        still = self._processes.get(place) is process  # and has not ended by itself
        stack = heartbeat.take_stack(self._stacks[place]) if still else []
        if still and self._watchdog.silence(place) < silent:
            message = "%s gave no sign of life for %.0f s, but has come back"
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
            log.error("%d processes did not end within %.0f s", len(self._processes), STOP_SECONDS)
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
    """The embedded server is a process of the tree too, though not a child."""
    while not stop.is_set():
        try:
            await asyncio.to_thread(revive, data_dir)
        except EngineError as error:
            log.error("%s", error)
        await pause(stop, ENGINE_LOOK_SECONDS)


def _shared_memory(name: str, size: int) -> int:
    """Memory that all interface processes map; it has no place on disk and ends with them."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create(name)
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.ftruncate(fd, size)
    return fd
