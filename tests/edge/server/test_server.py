"""The server on a real socket, with a small application: one response per request, and bounds."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from ipaddress import ip_network
from typing import Any

import pytest
import uvloop

from laari.edge.http import Reply, Request, Stream
from laari.edge.server.limits import Limits
from laari.edge.server.server import Server
from laari.rules.refusals import Refusal

QUICK = Limits(
    head_seconds=0.6,
    body_start_seconds=0.6,
    body_seconds=1.5,
    idle_seconds=1.0,
    stalled_write_seconds=0.6,
    drain_seconds=0.5,
)
USUAL = Limits()
GET = b"GET /who HTTP/1.1\r\nHost: a\r\n\r\n"


def on_uvloop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """The loop that the service runs on: other loops differ in when they say what."""

    @wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        uvloop.run(test(*arguments, **named))

    return run


class App:
    """Says what it was asked; `/wait` waits to be told, `/stream` never ends by itself."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.begun = self.left = 0
        self.written = 0
        self.closed = self.released = 0

    async def __call__(self, request: Request) -> Reply:
        self.begun += 1
        path, body = request.path, request.body(2**30) or b""
        if path == "/wait":
            await self.go_on.wait()
        if path == "/left":
            await request.disconnected()
            self.left += 1
        if path == "/broken":
            raise ValueError("broken on purpose")
        if path == "/newline":
            return Reply(200, headers=((b"x", b"a\r\nSet-Cookie: b"),))
        if path in ("/half", "/stream", "/large", "/short"):
            chunks = self._chunks(path)
            return Reply(200, headers=((b"x", b"y"),), stream=Stream(chunks, self._released))
        names = ",".join(name.decode() for name, _ in request.fields)
        text = f"{request.method} {path} {len(body)} {body[:20]!r} {names}"
        return Reply(304) if path == "/unchanged" else Reply(200, text.encode())

    async def _chunks(self, path: str) -> AsyncGenerator[bytes, None]:
        try:
            if path == "/half":
                yield b"half"
                raise ValueError("broken on purpose")
            if path == "/short":
                yield b"sho"
                yield b""
                yield b"rt"
                return
            while self.written < 64 * 2**20 or path == "/stream":
                yield bytes(65536)
                self.written += 65536
        finally:
            self.closed += 1

    def _released(self) -> None:
        self.released += 1

    def fault(self, refusal: Refusal, path: str | None) -> Reply:
        return Reply(refusal.status, f"{refusal.status} {path}".encode())


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def write(self, data: bytes) -> None:
        self.writer.write(data)

    async def response(self) -> tuple[int, bytes]:
        head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 5)
        fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
        body = await self.reader.readexactly(int(fields[b"content-length"]))
        return int(head[9:12]), body

    async def rest(self) -> bytes:
        """Everything until the server closes."""
        return await asyncio.wait_for(self.reader.read(-1), 10)


class Running:
    def __init__(self, server: Server, app: App, port: int) -> None:
        self.server, self.app, self.port = server, app, port

    async def client(self) -> Client:
        return Client(*await asyncio.open_connection("127.0.0.1", self.port, limit=2**24))

    async def ask(self, data: bytes) -> bytes:
        client = await self.client()
        client.write(data)
        return await client.rest()


@asynccontextmanager
async def running(limits: Limits = USUAL, **options: Any) -> AsyncIterator[Running]:
    app = App()
    server = Server(app, limits=limits, **options)
    listener = socket.create_server(("127.0.0.1", 0))
    await server.start([listener])
    try:
        yield Running(server, app, listener.getsockname()[1])
    finally:
        app.go_on.set()
        await server.stop(1)


@on_uvloop
async def test_requests_one_after_another_and_all_at_once() -> None:
    async with running() as here:
        client = await here.client()
        for _ in range(2):
            client.write(GET)
            assert (await client.response())[1].startswith(b"GET /who 0")
        post = b"POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
        client.write(post + GET + post)
        found = [(await client.response())[1][:9] for _ in range(3)]
        assert found == [b"POST /p 3", b"GET /who ", b"POST /p 3"]


@pytest.mark.parametrize("pieces", [1, 7, 1000])
@on_uvloop
async def test_a_request_in_pieces(pieces: int) -> None:
    whole = (
        b"POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3\r\nabc\r\n0\r\nX-API-Key: k\r\n\r\n"
    )
    async with running() as here:
        client = await here.client()
        size = max(len(whole) // pieces, 1)
        for at in range(0, len(whole), size):
            client.write(whole[at : at + size])
            await client.writer.drain()
            await asyncio.sleep(0)
        status, body = await client.response()
        assert status == 200
        assert body == b"POST /p 3 b'abc' host,transfer-encoding"


@pytest.mark.parametrize("upgrade", [b"h2c", b"websocket", b"x"])
@on_uvloop
async def test_an_upgrade_is_ignored(upgrade: bytes) -> None:
    async with running() as here:
        client = await here.client()
        head = b"POST /p HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: %b\r\n" % upgrade
        client.write(head + b"Content-Length: %d\r\n\r\n" % len(GET))
        await asyncio.sleep(0.05)
        client.write(GET)  # the body, not a request
        assert (await client.response())[1].startswith(b"POST /p %d" % len(GET))
        client.write(GET)
        assert (await client.response())[1].startswith(b"GET /who")
        assert here.app.begun == 2


@on_uvloop
async def test_expect_continue() -> None:
    async with running() as here:
        client = await here.client()
        head = b"POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
        client.write(head)
        assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.write(b"abc")
        assert (await client.response())[0] == 200


@pytest.mark.parametrize(
    "rest",
    [
        b" /who HTTP/1.1\r\n\r\n",
        b" * HTTP/1.1\r\nHost: a\r\n\r\n",
        b" /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        b" /p HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nx",
    ],
)
@on_uvloop
async def test_a_refusal_of_head_has_no_body(rest: bytes) -> None:
    async with running(QUICK) as here:
        for method, length in ((b"GET", 3), (b"HEAD", 0)):
            head, _, body = (await here.ask(method + rest)).partition(b"\r\n\r\n")
            assert head.startswith((b"HTTP/1.1 400", b"HTTP/1.1 408"))
            assert b"content-length: 0" not in head
            assert len(body) >= length if length else body == b""


@on_uvloop
async def test_a_response_that_never_has_a_body_tells_no_length() -> None:
    async with running() as here:
        client = await here.client()
        client.write(b"GET /unchanged HTTP/1.1\r\nHost: a\r\n\r\n")
        head = await client.reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 304 ")
        assert b"content-length" not in head
        client.write(GET)
        assert (await client.response())[0] == 200


@on_uvloop
async def test_a_head_that_is_too_long() -> None:
    async with running() as here:
        found = await here.ask(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 70_000)
        assert found.startswith(b"HTTP/1.1 431 ")
        assert b"connection: close" in found
        assert here.app.begun == 0


@on_uvloop
async def test_a_fault_ends_the_connection_and_what_follows_is_no_request() -> None:
    async with running() as here:
        found = await here.ask(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + GET)
        assert found.count(b"HTTP/1.1") == 1
        assert found.endswith(b"400 /")
        assert here.app.begun == 0


@on_uvloop
async def test_what_comes_after_the_response_to_a_fault_is_no_request_either() -> None:
    async with running() as here:
        client = await here.client()
        client.write(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        assert (await client.response())[0] == 400
        client.write(GET)
        assert await client.rest() == b""
        assert here.app.begun == 0


@on_uvloop
async def test_a_bare_newline_is_refused_at_once() -> None:
    async with running() as here:
        for data in (b"GET / HTTP/1.1\nHost: a\n\n", b"GET / HTTP/1.1\r\nHost: a\n\n", b"\n"):
            assert (await here.ask(data)).startswith(b"HTTP/1.1 400 ")


@on_uvloop
async def test_a_body_that_is_too_long_is_refused_unread() -> None:
    async with running(Limits(body_bytes=100)) as here:
        head = b"POST /p HTTP/1.1\r\nHost: a\r\n"
        found = await here.ask(head + b"Content-Length: 1000000000\r\n\r\n" + GET)
        assert found.count(b"HTTP/1.1") == 1
        assert b"POST /p 0" in found
        found = await here.ask(head + b"Transfer-Encoding: chunked\r\n\r\nff\r\n" + bytes(255))
        assert found.count(b"HTTP/1.1") == 1
        assert b"POST /p 101" in found


@pytest.mark.parametrize(
    "half",
    [
        *(b"G", b"GET / HT", b"GET / HTTP/1.1\r\nHos", b"GET / HTTP/1.1\r\nHost: a\r\n"),
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na",
    ],
)
@on_uvloop
async def test_half_a_request_is_given_up(half: bytes) -> None:
    async with running(QUICK) as here:
        started = time.monotonic()
        assert (await here.ask(half)).startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - started < 4
        assert here.app.begun == 0


@on_uvloop
async def test_a_dribbled_head_has_no_more_time() -> None:
    async with running(QUICK) as here:
        client = await here.client()
        client.write(b"GET / HTTP/1.1\r\nHost: a\r\nX: ")
        started = time.monotonic()
        while time.monotonic() - started < 4 and not client.reader._buffer:  # type: ignore[attr-defined]
            client.write(b"y")
            await asyncio.sleep(0.05)
        assert (await client.rest()).startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - started < 3


@on_uvloop
async def test_a_body_that_keeps_its_pace_is_awaited_and_a_slower_one_is_not() -> None:
    limits = QUICK._replace(body_bytes_per_second=1000, body_seconds=60)
    head = b"POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 4000\r\n\r\n"

    async def send(here: Running, size: int) -> int:
        client = await here.client()
        client.write(head)
        for _ in range(4000 // size):
            await asyncio.sleep(0.05)
            client.write(bytes(size))
            if client.reader._buffer:  # type: ignore[attr-defined]
                break
        return (await client.response())[0]

    async with running(limits) as here:
        assert await asyncio.gather(send(here, 80), send(here, 10)) == [200, 408]


@on_uvloop
async def test_an_idle_connection_is_closed_without_a_word() -> None:
    async with running(QUICK) as here:
        client, silent = await here.client(), await here.client()
        client.write(GET)
        await client.response()
        assert await client.rest() == b""
        assert await silent.rest() == b""


@on_uvloop
async def test_a_client_that_half_closes_gets_its_response() -> None:
    async with running() as here:
        for count in (1, 3):
            client = await here.client()
            client.write(GET * count)
            client.writer.write_eof()
            assert (await client.rest()).count(b"HTTP/1.1 200") == count
        client = await here.client()
        client.write(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n" + GET)
        client.writer.write_eof()
        await asyncio.sleep(0.1)
        here.app.go_on.set()
        assert (await client.rest()).count(b"HTTP/1.1 200") == 2


@on_uvloop
async def test_the_application_hears_that_a_client_has_left() -> None:
    async with running() as here:
        for leave in ("close", "abort"):
            client = await here.client()
            client.write(b"GET /left HTTP/1.1\r\nHost: a\r\n\r\n")
            await asyncio.sleep(0.05)
            client.writer.close() if leave == "close" else client.writer.transport.abort()
        await asyncio.sleep(0.2)
        assert here.app.left == 2


@on_uvloop
async def test_an_application_that_fails() -> None:
    async with running() as here:
        client = await here.client()
        for path in (b"/broken", b"/newline"):
            client.write(b"GET %b HTTP/1.1\r\nHost: a\r\n\r\n" % path)
            assert await client.response() == (500, b"500 " + path)
        client.write(GET)
        assert (await client.response())[0] == 200
        client.write(b"GET /half HTTP/1.1\r\nHost: a\r\n\r\n" + GET)
        found = await client.rest()
        assert found.count(b"HTTP/1.1") == 1
        assert found.endswith(b"\r\n4\r\nhalf\r\n")  # the chunk that ends a whole one is missing


@on_uvloop
async def test_one_address_holds_a_share_of_the_unfinished_requests() -> None:
    async with running(Limits(unfinished=20, unfinished_per_address=4)) as here:
        held = [await here.client() for _ in range(8)]
        for client in held:
            client.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n")
            await asyncio.sleep(0.02)
        for client in held[:4]:  # the oldest ones made room
            assert (await client.rest()).startswith(b"HTTP/1.1 503 ")
        whole = await here.client()
        whole.write(GET)
        assert (await whole.response())[0] == 200
        for client in held[4:]:
            client.write(b"123456789")
            assert (await client.response())[0] == 200


@pytest.mark.parametrize("first", [b"192.0.2.1", b"2001:db8::%x:%x"])
@on_uvloop
async def test_behind_a_proxy_the_share_is_the_clients(first: bytes) -> None:
    """Whoever has an IPv6 address has countless ones beside it."""
    limits = Limits(unfinished=20, unfinished_per_address=2)
    async with running(limits, trusted_proxies=(ip_network("127.0.0.1"),)) as here:
        clients = []
        for number in range(9):
            client = await here.client()
            own = first % (number, number) if b"%" in first else first
            address = own if number < 5 else b"192.0.2.%d" % number
            client.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n")
            client.write(b"X-Forwarded-For: %b\r\n\r\n" % address)
            clients.append(client)
            await asyncio.sleep(0.02)
        for client in clients[:3]:
            assert (await client.rest()).startswith(b"HTTP/1.1 503 ")
        for client in clients[3:]:
            client.write(b"x")
            assert (await client.response())[0] == 200


@on_uvloop
async def test_unfinished_bodies_take_a_bounded_room() -> None:
    async with running(Limits(unfinished_bytes=250_000)) as here:
        clients = [await here.client() for _ in range(5)]
        for client in clients:
            client.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100001\r\n\r\n")
            client.write(bytes(100_000))
            await client.writer.drain()
        await asyncio.sleep(0.2)
        assert here.server._held_bytes <= 250_000
        refused = sum(bool(client.reader._buffer) for client in clients)  # type: ignore[attr-defined]
        assert refused == 3


@on_uvloop
async def test_registers_are_empty_when_everybody_has_left() -> None:
    async with running(Limits(unfinished=4, unfinished_per_address=3)) as here:
        clients = [await here.client() for _ in range(12)]
        for number, client in enumerate(clients):
            client.write([GET, b"GET /", b"\n", b"POST / HTTP/1.1\r\nHost: a\r\n"][number % 4])
        await asyncio.sleep(0.1)
        for client in clients:
            client.writer.close()
        await asyncio.sleep(0.2)
        server = here.server
        assert not server._connections
        assert not server._idle
        assert not server._unfinished
        assert not server._shares
        assert not server.draining
        assert not server.stalled
        assert server._held_bytes == 0


@on_uvloop
async def test_a_client_that_takes_nothing_of_its_response_is_given_up() -> None:
    async with running(QUICK) as here:
        client = await here.client()
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        client.write(b"GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
        await asyncio.sleep(2.5)
        assert not here.server._tasks
        assert here.app.written < 32 * 2**20


@pytest.mark.parametrize("leave", ["close", "abort", "silence"])
@on_uvloop
async def test_a_stream_is_closed_and_released_when_its_client_goes(leave: str) -> None:
    async with running(QUICK) as here:
        client = await here.client()
        client.write(b"GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
        await client.reader.readexactly(2**20)
        if leave == "silence":
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        else:
            client.writer.close() if leave == "close" else client.writer.transport.abort()
        for _ in range(80):
            if here.app.released:
                break
            await asyncio.sleep(0.05)
        assert (here.app.closed, here.app.released) == (1, 1)
        assert not here.server._tasks


@on_uvloop
async def test_a_stream_has_a_pause_where_its_client_takes_nothing() -> None:
    async with running() as here:
        client = await here.client()
        client.write(b"GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        written = -1
        while written != here.app.written:
            written = here.app.written
            assert written < 32 * 2**20
            await asyncio.sleep(0.05)
        (connection,) = here.server._connections
        assert connection.unsent <= 2 * 65_600


@on_uvloop
async def test_how_a_stream_is_framed() -> None:
    async with running() as here:
        request = b"%b /short HTTP/1.%d\r\nHost: a\r\nConnection: close\r\n\r\n"
        head, _, body = (await here.ask(request % (b"GET", 1))).partition(b"\r\n\r\n")
        assert body == b"3\r\nsho\r\n2\r\nrt\r\n0\r\n\r\n"
        assert b"\r\ntransfer-encoding: chunked\r\n" in head
        assert b"content-length" not in head
        head, _, body = (await here.ask(request % (b"GET", 0))).partition(b"\r\n\r\n")
        assert body == b"short"  # it knows no chunks
        assert b"transfer-encoding" not in head
        head, _, body = (await here.ask(request % (b"HEAD", 1))).partition(b"\r\n\r\n")
        assert (body, b"\r\nx: y\r\n" in head) == (b"", True)
        assert here.app.released == 3


@on_uvloop
async def test_requests_sent_ahead_wait_for_a_client_that_does_not_read() -> None:
    async with running() as here:
        client = await here.client()
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        for _ in range(300):
            client.write(GET * 1000)
        answered = -1
        while answered != here.app.begun:  # it stands still until they are taken
            answered = here.app.begun
            await asyncio.sleep(0.5)
        assert answered < 200_000
        (connection,) = here.server._connections
        assert len(connection._buffer) < 2**20


@on_uvloop
async def test_a_large_response_arrives_whole_after_a_half_close() -> None:
    async with running() as here:
        client = await here.client()
        client.write(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        client.writer.write_eof()
        found = await client.rest()
        assert found.endswith(b"0\r\n\r\n")
        assert len(found) > 64 * 2**20


@on_uvloop
async def test_stopping_finishes_what_has_begun() -> None:
    async with running() as here:
        busy, idle, half = [await here.client() for _ in range(3)]
        busy.write(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
        half.write(b"GET / HT")
        await asyncio.sleep(0.05)
        stopping = asyncio.create_task(here.server.stop(5))
        assert await idle.rest() == b""
        assert await half.rest() == b""
        assert not stopping.done()
        here.app.go_on.set()
        assert (await busy.response())[0] == 200
        busy.writer.close()
        await asyncio.wait_for(stopping, 2)


@on_uvloop
async def test_faults_are_told_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    async with running() as here:
        for _ in range(50):
            await here.ask(b"\n")
        await asyncio.sleep(0.7)
    lines = [record.getMessage() for record in caplog.records]
    assert 1 <= len(lines) <= 2
    assert "malformed requests were refused" in lines[0]


FILES = """
import asyncio, logging, resource, socket, sys, uvloop
from tests.edge.server.test_server import App
from laari.edge.server.server import Server
logging.basicConfig(stream=sys.stdout, format="%(message)s")
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))

async def main():
    server = Server(App())
    listener = socket.socket(fileno=int(sys.argv[1]))
    await server.start([listener])
    await asyncio.sleep(60)

uvloop.run(main())
"""


@on_uvloop
async def test_more_connections_than_files_are_told_and_survived() -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=2000)
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(FILES), str(listener.fileno())],
        pass_fds=[listener.fileno()],
        stdout=subprocess.PIPE,
    )
    try:
        port = listener.getsockname()[1]
        held = []
        for _ in range(400):
            held.append(await asyncio.open_connection("127.0.0.1", port))
            await asyncio.sleep(0.002)
        for _ in range(5):
            client = Client(*await asyncio.open_connection("127.0.0.1", port))
            client.write(GET)
            assert (await client.response())[0] == 200
        await asyncio.sleep(0.7)
    finally:
        process.kill()
        output = process.communicate()[0].decode()
    assert "the number of open connections has reached its bound" in output
    assert output.count("\n") < 5


def test_the_system_is_asked_for_as_many_files_as_it_may_give() -> None:
    script = (
        "import resource; from laari.edge.server.limits import Limits\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (100, 3000))\n"
        "from laari.edge.server.server import _allowed_connections as allowed\n"
        "print(allowed(Limits()), resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == [str(3000 - Limits().reserved_files), "3000"]
