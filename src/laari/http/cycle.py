"""One request and its response: written at once, or as a stream at the client's pace."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import lru_cache
from http import HTTPStatus

from laari.http.head import Head
from laari.http.lateness import is_reset
from laari.http.messages import Reply, Stream, header_lines

STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
FIRST_PROBE_SECONDS, PROBE_SECONDS = 0.01, 0.1  # a reset from far away takes a while
_BODILESS = frozenset({204, 304})
_CLOSE = b"connection: close\r\n"
_CHUNKED = b"transfer-encoding: chunked\r\n"
_LAST_CHUNK = b"0\r\n\r\n"


@lru_cache(maxsize=100)
def _type_line(content_type: bytes) -> bytes:
    return header_lines([(b"content-type", content_type)])


def write_head(
    reply: Reply, date: bytes, *, keep_alive: bool = True, chunked: bool = False
) -> bytes:
    status, body, headers, content_type, _, stream, written = reply
    lines = [STATUS_LINES[status], date, written]
    if status not in _BODILESS:  # a length there would be that of another response
        if content_type:
            lines.append(_type_line(content_type))
        if stream is None:
            lines.append(b"content-length: %d\r\n" % len(body))
    if headers:
        lines.append(header_lines(headers))
    if chunked:
        lines.append(_CHUNKED)
    if not keep_alive:
        lines.append(_CLOSE)
    lines.append(b"\r\n")
    return b"".join(lines)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class Cycle:
    __slots__ = (
        "_drained",
        "_finished",
        "_on_end",
        "_transport",
        "_waiting",
        "body",
        "has_started",
        "head",
        "is_answered",
        "is_lost",
        "is_read",
        "keep_alive",
        "take",
    )

    def __init__(
        self,
        transport: asyncio.Transport,
        head: Head,
        body: bytes,
        is_read: bool,
        on_end: Callable[[Cycle, bool], None],
    ) -> None:
        """`on_end` gets this cycle and whether the whole response went to the transport."""
        self._transport = transport
        self.head = head
        self.body = body
        self._on_end = on_end
        self.is_read = is_read  # all of the request, so that another one can follow
        self.keep_alive = is_read and head.keep_alive
        self.is_lost = False  # nothing reaches the client any more
        self._finished = False  # the client sends no more: it has closed one side, or both
        self._waiting: asyncio.Future[None] | None = None  # done when one of these is True
        self._drained: asyncio.Future[None] | None = None  # if writing is paused
        self.has_started = self.is_answered = False
        self.take: Callable[[], Awaitable[bytes]] | None = None  # the next piece of a long body

    # The application's side.

    async def disconnected(self) -> None:
        """Returns when the client has gone. One that has only stopped sending still waits."""
        await self._woken(self._finished)
        if self.is_lost or self.is_answered:
            return
        if self.head.http_version == "1.0":  # which knows no interim responses
            await self._woken(False)
            return
        # Only a write tells whether the client has closed one side or both: if both, its system
        # resets the connection.
        self._transport.write(CONTINUE)
        wait_seconds = FIRST_PROBE_SECONDS
        while not (self.is_lost or self.is_answered or is_reset(self._transport)):
            await asyncio.sleep(wait_seconds)
            wait_seconds = PROBE_SECONDS

    async def _woken(self, already: bool) -> None:
        if not (already or self.is_lost or self.is_answered):
            if self._waiting is None or self._waiting.done():
                self._waiting = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._waiting)

    def respond(self, reply: Reply, date: bytes) -> None:
        """Writes the whole response; `date` is its header line."""
        if self.has_started:
            raise RuntimeError("a response has begun already")
        if self.is_lost:
            self.has_started = self.is_answered = True
            return
        head = write_head(reply, date, keep_alive=self.keep_alive)
        self.has_started = True
        self._transport.write(head if self._is_bare(reply) else head + reply.body)
        self._end()

    async def respond_with_stream(self, reply: Reply, stream: Stream, date: bytes) -> None:
        """The same, at the client's pace; raises ConnectionResetError if the client has gone.

        The stream is always closed and released before this returns.
        """
        try:
            async with aclosing(stream.chunks) as chunks:
                if self.is_lost or self._is_bare(reply):
                    self.respond(reply, date)
                    return
                # HTTP/1.0 has no chunks; there the end of the connection ends the body.
                chunked = self.head.http_version != "1.0"
                pending = write_head(reply, date, keep_alive=self.keep_alive, chunked=chunked)
                self.has_started = True
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
        """Returns when the transport takes more, and other tasks have run."""
        if self.is_lost or self._transport.is_closing():
            raise ConnectionResetError("the client has disconnected")
        self._transport.write(data)
        # Without a pause, a body that is made faster than it is sent would block the event loop.
        await (asyncio.sleep(0) if self._drained is None else asyncio.shield(self._drained))

    def _end(self, whole: bool = True) -> None:
        self.is_answered = True
        self._wake()
        self._on_end(self, whole)

    # The connection's side.

    def give_up(self) -> None:
        """The application failed in the middle of its response."""
        self._end(whole=False)

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
