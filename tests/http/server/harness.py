"""The server on a real socket with a small application, and clients that speak to it."""

import asyncio
import socket
import struct
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any

import uvloop

from laari.http.connection_limits import Limits
from laari.http.messages import ClientGone, Reply, Request, SlowBody, Stream
from laari.http.server import Server
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
    """Says what it was asked; `/wait` waits to be told, `/spin` works, `/stream` never ends."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.begun = self.left = 0
        self.written = 0
        self.taken = self.longest_piece = 0
        self.closed = self.released = 0

    async def __call__(self, request: Request) -> Reply:
        self.begun += 1
        path, body = request.path, request.body(2**30) or b""
        if path == "/take":
            return await self._take(request)
        if path == "/wait":
            await self.go_on.wait()
        if path == "/left":
            await request.disconnected()
            self.left += 1
        if path == "/spin":
            time.sleep(0.2)  # as a callback that needs the processor does
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

    async def _take(self, request: Request) -> Reply:
        """Takes a body piece by piece; pauses after the first one until it may go on."""
        try:
            async for piece in request.pieces():
                self.taken += len(piece)
                self.longest_piece = max(self.longest_piece, len(piece))
                await self.go_on.wait()
        except ClientGone:
            self.left += 1
            raise
        except SlowBody:
            return Reply(408, b"slow")
        return Reply(200, f"{self.taken}".encode())

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

    def close(self) -> None:
        self.writer.close()

    def reset(self) -> None:
        """Ends the connection without a word: the other side is told that nobody is there."""
        linger = struct.pack("ii", 1, 0)
        own = self.writer.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.writer.transport.abort()

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


async def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Waits for what is about to happen: a busy machine takes its time."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)
