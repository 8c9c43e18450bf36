"""A proxy between a client and the service that does to requests what networks do to them.

It keeps what it was sent, so that a test can say what a client has repeated and how.
"""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import urlsplit

HOLD_SECONDS = 1.3  # longer than the attempts of the tests' clients take


@dataclass(frozen=True)
class Seen:
    """One request, as it arrived."""

    method: str
    target: str
    headers: dict[str, str]  # names in lower case
    body: bytes
    fault: str


Choice: TypeAlias = Callable[["Seen"], str]


def answer(status: str, body: bytes, *headers: str) -> bytes:
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join([*head, "", ""]).encode() + body


UNAVAILABLE = b'{"error": {"code": "service_unavailable", "message": "Not now."}}'
LIMITED = b'{"error": {"code": "rate_limited", "message": "Too many requests."}}'
HTML = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
JSON_TYPE = "Content-Type: application/json"

# What is answered without asking the service.
ANSWERS = {
    "503": answer("503 Service Unavailable", UNAVAILABLE, JSON_TYPE, "Retry-After: 0"),
    "503 html": answer("503 Service Unavailable", HTML, "Content-Type: text/html"),
    "502 html": answer("502 Bad Gateway", HTML, "Content-Type: text/html"),
    "429": answer("429 Too Many Requests", LIMITED, JSON_TYPE, "Retry-After: 1"),
    "429 at once": answer("429 Too Many Requests", LIMITED, JSON_TYPE, "Retry-After: 0"),
    "429 an hour": answer("429 Too Many Requests", LIMITED, JSON_TYPE, "Retry-After: 3600"),
    "200 html": answer("200 OK", b"<html>Log in to the hotel's network</html>"),
    "200 cut": b'HTTP/1.1 201 Created\r\nContent-Length: 500\r\n\r\n{"data": {"id": "pay_1',
    "200 cut without a length": b'HTTP/1.1 201 Created\r\nConnection: close\r\n\r\n{"data": {"id',
    "200 wrong shape": answer("200 OK", b'{"data": {"id": 7}}', JSON_TYPE, "Request-Id: r-1"),
    "401": answer("401 Unauthorized", b'{"error": {"code": "unauthorized", "message": "No."}}'),
    "new code": answer(
        "409 Conflict", b'{"error": {"code": "brand_new", "message": "So.", "field": "amount"}}'
    ),
}
# Faults that leave nothing on the service, and faults after the service has done its work.
BEFORE = ("reset before", "503", "503 html", "502 html", "429 at once", "429", "slow before")
AFTER = ("reset after", "cut answer", "slow after")


@dataclass
class FaultyProxy:
    """`choose` says for each request what happens to it; "" is nothing."""

    upstream: str
    choose: Choice = lambda _: ""
    origin: str = ""
    seen: list[Seen] = field(default_factory=list)
    redirect_to: str = ""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while (request := await read_message(reader)) is not None:
                seen = self._seen(request)
                self.seen.append(seen)
                if not await self._treat(seen, request, writer):
                    break
        writer.close()

    def _seen(self, request: bytes) -> Seen:
        head, _, body = request.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        method, target, _ = first.split(" ")
        pairs = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        unjudged = Seen(method, target, headers, body, "")
        return Seen(method, target, headers, body, self.choose(unjudged))

    async def _treat(self, seen: Seen, request: bytes, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection goes on."""
        fault = seen.fault
        if fault == "reset before":
            return reset(writer)
        if fault == "redirect":
            location = f"Location: {self.redirect_to}{seen.target}"
            writer.write(answer("307 Temporary Redirect", b"", location))
            return False
        if fault in ANSWERS:
            writer.write(ANSWERS[fault])
            return False
        if fault == "drip":
            await drip(writer)
            return False
        if fault == "slow before":  # it arrives when the client has long given it up
            await asyncio.sleep(HOLD_SECONDS)
        reply = await self._forward(request)
        if fault == "slow after":
            await asyncio.sleep(HOLD_SECONDS)
        if fault == "reset after":
            return reset(writer)
        if fault == "cut answer":
            writer.write(reply[: len(reply) - 20])
            await writer.drain()
            return False
        writer.write(reply)
        await writer.drain()
        return True

    async def _forward(self, request: bytes) -> bytes:
        address = urlsplit(self.upstream)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        try:
            writer.write(request)
            reply = await read_message(reader)
        finally:
            writer.close()
        assert reply is not None
        return reply


async def drip(writer: asyncio.StreamWriter) -> None:
    """An answer that never stands still and never ends."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{")
    while not writer.is_closing():
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


async def read_message(reader: asyncio.StreamReader) -> bytes | None:
    """A whole request or response with a length; None at the end of the connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    length = 0
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return head + await reader.readexactly(length)


def reset(writer: asyncio.StreamWriter) -> bool:
    """Closes with RST: the other side reads "connection reset by peer"."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    return False


@contextmanager
def faulty_proxy(upstream: str) -> Iterator[FaultyProxy]:
    """Runs in a thread of its own until the block ends."""
    proxy = FaultyProxy(upstream)
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(proxy.handle, "127.0.0.1", 0))
    proxy.origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        for task in asyncio.all_tasks(loop):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                loop.run_until_complete(task)
        loop.close()
