"""The load at a fixed rate, and the receiver that counts: against servers that misbehave."""

import asyncio
import queue
import threading
import time
from array import array
from collections.abc import Iterator
from contextlib import contextmanager

import httptools
import httpx
import pytest

from bench.fill import Filled, Size
from bench.load import Target
from bench.openloop import Ended, Plan, Report, open_loop
from bench.sink import sink

pytestmark = pytest.mark.ci

OK = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"
FAILED = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\n{}"
STALL_AT, STALL_SECONDS = 40, 0.6  # requests
RATE, SECONDS = 100, 2


class Shop:
    """A server that answers at once, except when it is told to do something else."""

    def __init__(self, *, stalls: bool = False, fails: bool = False, drops: bool = False) -> None:
        self.stalls, self.fails, self.drops = stalls, fails, drops
        self.paths: list[str] = []

    @property
    def requests(self) -> int:
        return len(self.paths)

    def answer(self, path: str) -> bytes | None:
        """None closes the connection."""
        self.paths.append(path)
        if self.stalls and self.requests == STALL_AT:
            time.sleep(STALL_SECONDS)  # all of it stands still
        every_tenth = self.requests % 10 == 0
        if self.drops and every_tenth:
            return None
        return FAILED if self.fails and every_tenth else OK


class Talk(asyncio.Protocol):
    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._parser = httptools.HttpRequestParser(self)
        self._path = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self._path = url.decode()

    def on_message_complete(self) -> None:
        answer = self._shop.answer(self._path)
        if answer is None:
            self._transport.close()
        else:
            self._transport.write(answer)


@contextmanager
def serving(shop: Shop) -> Iterator[str]:
    """In a thread of its own; gives its origin."""
    ready: queue.Queue[tuple[asyncio.AbstractEventLoop, asyncio.Event, int]] = queue.Queue()

    async def serve() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        server = await loop.create_server(lambda: Talk(shop), "127.0.0.1", 0)
        ready.put((loop, stop, server.sockets[0].getsockname()[1]))
        await stop.wait()
        server.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    loop, stop, port = ready.get(timeout=10)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


def run(shop: Shop, connections: int = 16) -> tuple[list[Report], Ended]:
    with serving(shop) as origin:
        filled = Filled(Size(1000, 10, 10), 1, 1_700_000_000_000, 1000, 7, 1)
        target = Target(origin, "sk_test", filled)
        with open_loop(Plan(target, RATE, SECONDS, "run", connections)) as pipe:
            began = pipe.recv()
            assert abs(began - time.time()) < 5
            reports: list[Report] = []
            while not isinstance(told := pipe.recv(), Ended):
                reports.append(told)
    return reports, told


def times(reports: list[Report]) -> list[float]:
    return [time for report in reports for time in array("f", report.milliseconds)]


def test_the_rate_is_kept_and_creates_and_charges_take_turns() -> None:
    shop = Shop()
    reports, ended = run(shop)
    assert sorted(report.at for report in reports) == [0, 1]
    assert len(times(reports)) == shop.requests == RATE * SECONDS
    assert not ended.reasons
    assert shop.paths.count("/merchant/payments") == RATE * SECONDS / 2
    charged = {path for path in shop.paths if path.endswith("/charge")}
    assert len(charged) == 10  # every authorization


def test_a_stall_is_seen_by_everybody_who_was_due_in_it() -> None:
    """A client that waits for its answer before it asks again would see it once."""
    reports, _ = run(Shop(stalls=True))
    slow = [time for time in times(reports) if time > 100]
    assert len(slow) > RATE * (STALL_SECONDS - 0.1) * 0.8
    assert max(slow) > STALL_SECONDS * 900
    assert len(times(reports)) == RATE * SECONDS


def test_waiting_for_a_connection_counts() -> None:
    reports, _ = run(Shop(stalls=True), connections=1)
    assert sum(time > 100 for time in times(reports)) > RATE * (STALL_SECONDS - 0.1) * 0.8
    assert max(report.late_p99_ms for report in reports) > 100


def test_refusals_and_dropped_connections_are_errors() -> None:
    reports, ended = run(Shop(fails=True))
    assert ended.reasons == {"503": RATE * SECONDS // 10}
    assert sum(report.errors for report in reports) == RATE * SECONDS // 10
    reports, ended = run(Shop(drops=True))
    assert ended.reasons == {"connection lost": RATE * SECONDS // 10}
    assert len(times(reports)) == RATE * SECONDS * 9 // 10


def test_the_receiver_acknowledges_and_counts() -> None:
    with sink() as (url, count), httpx.Client(trust_env=False) as client:
        assert count() == 0
        for _ in range(3):
            assert client.post(url, content=b"x" * 5000).status_code == 200
        assert count() == 3
