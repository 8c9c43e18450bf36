"""Load at a fixed rate, from a process of its own: creates and charges in turn.

A request's time counts from the moment it was due, whether or not it could be sent then: a service
that stalls for a second is seen by everybody who would have called in it. Connections are kept open
and carry one request at a time; where all of them are taken, requests wait, and their time runs.
"""

from __future__ import annotations

import asyncio
import time
from array import array
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import NamedTuple, cast
from urllib.parse import urlsplit

import httptools
import uvloop

from bench.load import Target
from bench.pace import percentile

CONNECTIONS = 128
GRACE_SECONDS = 15  # for the last answers; the service gives up on anything before
FLUSH_SECONDS = 0.5


class Plan(NamedTuple):
    target: Target
    rate: float
    seconds: int
    run: str  # a word of this run's own, for references
    connections: int = CONNECTIONS


class Due(NamedTuple):
    at: float
    number: int


@dataclass
class Told:
    """What the requests that were due in one second came to."""

    issued: int = 0
    errors: int = 0
    milliseconds: array[float] = field(default_factory=lambda: array("f"))
    late: array[float] = field(default_factory=lambda: array("f"))  # sent after they were due

    @property
    def done(self) -> int:
        return self.errors + len(self.milliseconds)


class Report(NamedTuple):
    """One second, as it is sent to whoever asked for the load."""

    at: int
    milliseconds: bytes  # of an array of floats
    errors: int
    late_p99_ms: float


class Ended(NamedTuple):
    processor_seconds: float
    reasons: dict[str, int]  # what failed requests were answered with, and how many of them


class Client(asyncio.Protocol):
    """One connection; the parser calls back as an answer comes in."""

    def __init__(self, load: OpenLoop) -> None:
        self._load = load
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self.due: Due | None = None
        self.is_closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is of a class of its own
        self._load.is_free(self)

    def send(self, due: Due, request: bytes) -> None:
        assert self._transport is not None
        self.due = due
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        due, self.due = self.due, None
        assert due is not None
        self._load.is_answered(due, str(self._parser.get_status_code()))
        if self._parser.should_keep_alive():
            self._load.is_free(self)
        else:
            assert self._transport is not None
            self._transport.close()

    def connection_lost(self, exception: Exception | None) -> None:
        self.is_closed = True
        if self.due is not None:
            self._load.is_answered(self.due, "connection lost")
        self._load.is_lost()


class OpenLoop:
    def __init__(self, plan: Plan, pipe: Connection) -> None:
        self._plan = plan
        self._pipe = pipe
        self._loop = asyncio.get_running_loop()
        self._free: list[Client] = []
        self._waiting: deque[Due] = deque()
        self._told: dict[int, Told] = {}
        self._reasons: dict[str, int] = {}
        self._begin = 0.0
        self._ended = False
        self._tasks: set[asyncio.Task[None]] = set()  # to connect again
        place = urlsplit(plan.target.origin)
        assert place.hostname is not None
        assert place.port is not None
        self._host, self._port = place.hostname, place.port
        self._head = (
            f"Host: {place.netloc}\r\nX-API-Key: {plan.target.secret_key}\r\n"
            "Content-Type: application/json\r\nContent-Length: "
        ).encode()

    async def run(self) -> None:
        for _ in range(self._plan.connections):
            await self._connect()
        self._begin = self._loop.time() + FLUSH_SECONDS
        self._pipe.send(time.time() + FLUSH_SECONDS)
        flushing = asyncio.create_task(self._flush())
        await self._issue_all()
        deadline = self._loop.time() + GRACE_SECONDS
        while self._told and self._loop.time() < deadline:
            await asyncio.sleep(FLUSH_SECONDS)
        flushing.cancel()
        self._ended = True
        for at, told in sorted(self._told.items()):  # what was never answered has failed
            missing = told.issued - told.done
            told.errors += missing
            self._reasons["no answer"] = self._reasons.get("no answer", 0) + missing
            self._report(at, told)
        self._pipe.send(Ended(time.process_time(), self._reasons))

    async def _connect(self) -> None:
        await self._loop.create_connection(lambda: Client(self), self._host, self._port)

    async def _issue_all(self) -> None:
        rate, total = self._plan.rate, round(self._plan.rate * self._plan.seconds)
        number = 0
        while number < total:
            now = self._loop.time()
            while number < total and (at := self._begin + number / rate) <= now:
                told = self._told.setdefault(int(at - self._begin), Told())
                told.issued += 1
                self._issue(Due(at, number))
                number += 1
            await asyncio.sleep(max(0.0, self._begin + number / rate - self._loop.time()))

    def _issue(self, due: Due) -> None:
        if self._free:
            self._send(self._free.pop(), due)
        else:
            self._waiting.append(due)

    def _send(self, client: Client, due: Due) -> None:
        late = (self._loop.time() - due.at) * 1000
        self._told[int(due.at - self._begin)].late.append(late)
        client.send(due, self._request(due.number))

    def _request(self, number: int) -> bytes:
        reference = f"{self._plan.run}-{number}"
        if number % 2:
            filled = self._plan.target.filled
            # A step that shares no factor with the number of them goes round all of them.
            name = filled.authorization_id(number // 2 * 7919 % filled.size.authorizations + 1)
            path = f"/merchant/authorizations/{name}/charge"
            body = f'{{"reference":"{reference}","amount":12500,"title":"Two coffees"}}'
        else:
            path = "/merchant/payments"
            body = (
                f'{{"reference":"{reference}","amount":12500,"title":"Two coffees",'
                f'"terminal_label":"Till {number % 10}"}}'
            )
        first = f"POST {path} HTTP/1.1\r\n".encode()
        return first + self._head + f"{len(body)}\r\n\r\n{body}".encode()

    def is_free(self, client: Client) -> None:
        if self._waiting:
            self._send(client, self._waiting.popleft())
        else:
            self._free.append(client)

    def is_answered(self, due: Due, status: str) -> None:
        told = self._told.get(int(due.at - self._begin))
        if told is None:
            return  # after the end
        if status in ("200", "201"):
            told.milliseconds.append((self._loop.time() - due.at) * 1000)
        else:
            told.errors += 1
            self._reasons[status] = self._reasons.get(status, 0) + 1

    def is_lost(self) -> None:
        self._free = [client for client in self._free if not client.is_closed]
        if not self._ended:
            task = asyncio.create_task(self._connect_again())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _connect_again(self) -> None:
        while not self._ended:
            try:
                await self._connect()
            except OSError:
                await asyncio.sleep(FLUSH_SECONDS)
            else:
                return

    async def _flush(self) -> None:
        """Reports every second that has passed and whose requests have all been answered."""
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            now = int(self._loop.time() - self._begin)
            for at, told in sorted(self._told.items()):
                if at < now and told.issued == told.done:
                    self._report(at, self._told.pop(at))

    def _report(self, at: int, told: Told) -> None:
        late = percentile(sorted(told.late), 0.99) if told.late else 0.0
        self._pipe.send(Report(at, told.milliseconds.tobytes(), told.errors, late))


def _main(plan: Plan, pipe: Connection) -> None:
    async def run() -> None:
        await OpenLoop(plan, pipe).run()

    uvloop.run(run())


@contextmanager
def open_loop(plan: Plan) -> Iterator[Connection]:
    """Runs the load; received are the time at which it begins, reports of seconds, and `Ended`."""
    assert plan.target.origin.startswith("http://127.0.0.1:")
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_main, args=(plan, theirs))
    process.start()
    theirs.close()  # so that the end of the process is the end of what is received
    try:
        yield ours
    finally:
        process.kill()
        process.join()
