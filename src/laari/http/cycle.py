"""One request and its response: written at once, or as a stream at the pace of its client."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from http import HTTPStatus
from typing import Protocol

from laari.http.head import Head
from laari.http.lateness import is_reset
from laari.http.messages import Address, Reply, Stream

STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
FIRST_PROBE_SECONDS, PROBE_SECONDS = 0.01, 0.1  # the answer of a system far away takes a while
_BODILESS = frozenset({204, 304})
_CLOSE = b"connection: close\r\n"
_CHUNKED = b"transfer-encoding: chunked\r\n"
_LAST_CHUNK = b"0\r\n\r\n"


def write_head(
    reply: Reply, date: bytes, *, keep_alive: bool = True, chunked: bool = False
) -> bytes:
    status, body, headers, content_type, _, stream = reply
    lines = [STATUS_LINES[status], date]
    if status not in _BODILESS:  # a length there would be that of another response
        if content_type:
            lines.append(b"content-type: %b\r\n" % content_type)
        if stream is None:
            lines.append(b"content-length: %d\r\n" % len(body))
    lines += [b"%b: %b\r\n" % header for header in headers]
    if chunked:
        lines.append(_CHUNKED)
    if not keep_alive:
        lines.append(_CLOSE)
    lines.append(b"\r\n")
    head = b"".join(lines)
    # A value that holds a newline would begin a line of its own.
    if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines):
        raise ValueError("a header of the response holds a newline")
    return head


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class Carrier(Protocol):
    """The connection that a request came on, as far as its response needs it."""

    client: Address | None
    local: Address | None

    @property
    def date(self) -> bytes:
        """The header line of now."""

    def response_done(self, cycle: Cycle, *, whole: bool) -> None:
        """The response has been handed to the transport; `whole` if nothing of it is missing."""


class Cycle:
    __slots__ = (
        *("_connection", "_drained", "_ended", "_finished", "_started", "_transport", "_waiting"),
        *("body", "client", "head", "is_lost", "is_read", "keep_alive", "local"),
    )

    def __init__(
        self,
        connection: Carrier,
        transport: asyncio.Transport,
        head: Head,
        body: bytes,
        is_read: bool,
    ) -> None:
        self._connection = connection
        self._transport = transport
        self.head = head
        self.body = body
        self.client = connection.client
        self.local = connection.local
        self.is_read = is_read  # all of the request, so that another one can follow
        self.keep_alive = is_read and head.keep_alive
        self.is_lost = False  # nothing reaches the client any more
        self._finished = False  # it sends no more: it has closed one side, or both
        self._waiting: asyncio.Future[None] | None = None  # to hear of either
        self._drained: asyncio.Future[None] | None = None  # where writing is paused
        self._started = self._ended = False

    # The application's side.

    async def disconnected(self) -> None:
        """Returns when the client has gone; one that only sends no more waits for its response."""
        await self._woken(self._finished)
        if self.is_lost or self._ended:
            return
        if self.head.http_version == "1.0":  # which knows no interim responses
            await self._woken(False)
            return
        # Nothing but a write tells a client that has closed one side from one that has closed both:
        # the system of the latter answers that nobody is there.
        self._transport.write(CONTINUE)
        wait_seconds = FIRST_PROBE_SECONDS
        while not (self.is_lost or self._ended or is_reset(self._transport)):
            await asyncio.sleep(wait_seconds)
            wait_seconds = PROBE_SECONDS

    async def _woken(self, already: bool) -> None:
        if not (already or self.is_lost or self._ended):
            if self._waiting is None or self._waiting.done():
                self._waiting = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._waiting)

    def respond(self, reply: Reply) -> None:
        """The whole response at once; to HEAD it goes without its body."""
        if self._started:
            raise RuntimeError("a response has begun already")
        if self.is_lost:
            self._started = self._ended = True
            return
        head = write_head(reply, self._connection.date, keep_alive=self.keep_alive)
        self._started = True
        self._transport.write(head if self._is_bare(reply) else head + reply.body)
        self._end()

    async def respond_with_stream(self, reply: Reply, stream: Stream) -> None:
        """The same, as fast as it is made and taken; ConnectionResetError where it is not taken.

        Whatever happens, the stream is closed and released before this returns.
        """
        try:
            async with aclosing(stream.chunks) as chunks:
                if self.is_lost or self._is_bare(reply):
                    self.respond(reply)
                    return
                # HTTP/1.0 has no chunks; there the end of the connection ends the body.
                chunked = self.head.http_version != "1.0"
                pending = write_head(
                    reply, self._connection.date, keep_alive=self.keep_alive, chunked=chunked
                )
                self._started = True
                async for chunk in chunks:
                    if chunk:  # an empty one would end the body
                        await self._write(pending + (_chunk(chunk) if chunked else chunk))
                        pending = b""
                await self._write(pending + (_LAST_CHUNK if chunked else b""))
        finally:
            stream.release()
        self._end()

    def _is_bare(self, reply: Reply) -> bool:
        return self.head.method == "HEAD" or reply.status in _BODILESS

    async def _write(self, data: bytes) -> None:
        """Returns when the transport takes more, and others have had their turn."""
        if self.is_lost or self._transport.is_closing():
            raise ConnectionResetError("the client has disconnected")
        self._transport.write(data)
        # Without a pause, a body that is made faster than it is taken would never let others run.
        await (asyncio.sleep(0) if self._drained is None else asyncio.shield(self._drained))

    def _end(self) -> None:
        self._ended = True
        self._wake()
        self._connection.response_done(self, whole=True)

    # The connection's side.

    @property
    def has_started(self) -> bool:
        return self._started

    @property
    def is_answered(self) -> bool:
        return self._ended

    def give_up(self) -> None:
        """The application failed in the middle of its response."""
        self._ended = True
        self._wake()
        self._connection.response_done(self, whole=False)

    def client_finished(self) -> None:
        self._finished = True
        self._wake()

    def connection_lost(self) -> None:
        self.is_lost = True
        self.resume()
        self._wake()

    def pause(self) -> None:
        if self._drained is None:
            self._drained = asyncio.get_running_loop().create_future()

    def resume(self) -> None:
        drained, self._drained = self._drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
