"""A receiver of webhooks that counts and does next to nothing else, in a process of its own."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from typing import TypeAlias, cast

import httptools
import uvloop

Count: TypeAlias = "Synchronized[int]"
_ACKNOWLEDGED = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"


class Receiver(asyncio.Protocol):
    def __init__(self, count: Count) -> None:
        self._count = count
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is of a class of its own

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        assert self._transport is not None
        self._count.value += 1  # this process alone writes it
        self._transport.write(_ACKNOWLEDGED)


def _main(pipe: Connection, count: Count) -> None:
    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Receiver(count), "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    uvloop.run(serve())


@contextmanager
def sink() -> Iterator[tuple[str, Callable[[], int]]]:
    """Its address, and a function that returns how many events it has acknowledged."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    count: Count = context.Value("Q", 0)
    process = context.Process(target=_main, args=(theirs, count))
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}/hook", lambda: count.value
    finally:
        process.kill()
        process.join()
