"""One request and its response, as ASGI has it, and a shorter way for a response that is whole."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING

from laari.edge.http import Header, Message, Reply, Scope
from laari.edge.server.head import Head

if TYPE_CHECKING:
    from laari.edge.server.connection import Connection

STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}
_ASGI = {"version": "3.0", "spec_version": "2.4"}
_BODILESS = frozenset({204, 304})
_CLOSE = b"connection: close\r\n"
_CHUNKED = b"transfer-encoding: chunked\r\n"


def write_head(reply: Reply, date: bytes, *headers: Header, keep_alive: bool = True) -> bytes:
    status, body, own_headers, content_type = reply
    lines = [STATUS_LINES[status], date]
    if status not in _BODILESS:  # a length there would be that of another response
        lines.append(b"content-type: %b\r\n" % content_type)
        lines.append(b"content-length: %d\r\n" % len(body))
    lines += [b"%b: %b\r\n" % header for header in own_headers]
    lines += [b"%b: %b\r\n" % header for header in headers]
    if not keep_alive:
        lines.append(_CLOSE)
    lines.append(b"\r\n")
    return _checked(lines, len(lines))


def _checked(lines: list[bytes], newlines: int) -> bytes:
    """Joins the lines of a head; a value that holds a newline would begin a line of its own."""
    head = b"".join(lines)
    if head.count(b"\n") != newlines or head.count(b"\r") != newlines:
        raise ValueError("a header of the response holds a newline")
    return head


class Cycle:
    __slots__ = (
        *("_body", "_connection", "_drained", "_ended", "_gone", "_left", "_method", "_pending"),
        *("_started", "_transport", "_waiting", "_writes_chunks", "head", "is_lost", "is_read"),
        "keep_alive",
    )

    def __init__(
        self,
        connection: Connection,
        transport: asyncio.Transport,
        head: Head,
        body: bytes,
        is_read: bool,
    ) -> None:
        self._connection = connection
        self._transport = transport
        self.head = head
        self._method = head.method
        self.is_read = is_read  # all of the request, so that another one can follow
        self.keep_alive = is_read and head.keep_alive
        self._body: bytes | None = body
        self._gone = False  # the client has left, or sends no more
        self.is_lost = False  # nothing reaches it any more
        self._waiting: asyncio.Future[None] | None = None  # to hear that
        self._drained: asyncio.Future[None] | None = None  # where writing is paused
        self._pending: bytes = b""  # the head, which leaves with the first of the body
        self._started = self._ended = False
        self._writes_chunks = False
        self._left = 0  # of a body whose length was announced

    def scope(self) -> Scope:
        head, connection = self.head, self._connection
        return {
            "type": "http",
            "asgi": _ASGI,
            "http_version": head.http_version,
            "server": connection.local,
            "client": connection.client,
            "scheme": "http",
            "root_path": "",
            "method": head.method,
            "path": head.path,
            "raw_path": head.raw_path,
            "query_string": head.query,
            "headers": head.fields.pairs,
            "laari.headers": head.fields.by_name,
            "laari.respond": self.respond,
        }

    # The application's side.

    async def receive(self) -> Message:
        body, self._body = self._body, None
        if body is not None:
            return {"type": "http.request", "body": body, "more_body": False}
        if not self._gone and not self._ended:
            if self._waiting is None:
                self._waiting = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._waiting)
        return {"type": "http.disconnect"}

    def respond(self, reply: Reply, headers: tuple[Header, ...]) -> None:
        """The whole response at once; to HEAD it goes without its body."""
        if self._started:
            raise RuntimeError("a response has begun already")
        if self.is_lost:
            self._started = self._ended = True
            return
        head = write_head(reply, self._connection.date, *headers, keep_alive=self.keep_alive)
        self._started = True
        bare = self._method == "HEAD" or reply.status in _BODILESS
        self._transport.write(head if bare else head + reply.body)
        self._end()

    async def send(self, message: Message) -> None:
        if self.is_lost:
            raise ConnectionResetError("the client has left")
        if message["type"] == "http.response.start":
            if self._started:
                raise RuntimeError("a response has begun already")
            self._start(message["status"], message.get("headers", ()))
            return
        if not self._started or self._ended:
            raise RuntimeError("no response is under way")
        self._write(message.get("body", b""), last=not message.get("more_body", False))
        if self._drained is not None and not self._ended:
            await asyncio.shield(self._drained)

    def _start(self, status: int, headers: Iterable[Header]) -> None:
        self._started = True
        lines = [STATUS_LINES[status], self._connection.date]
        length: int | None = None
        for name, value in headers:
            if name.lower() == b"content-length":
                length = int(value)
            lines.append(b"%b: %b\r\n" % (name, value))
        if self._method == "HEAD" or status in _BODILESS:
            self._left = 0
        elif length is None:
            self._writes_chunks = True
            lines.append(_CHUNKED)
        else:
            self._left = length
        if not self.keep_alive:
            lines.append(_CLOSE)
        lines.append(b"\r\n")
        self._pending = _checked(lines, len(lines))

    def _write(self, body: bytes, *, last: bool) -> None:
        if self._writes_chunks:
            body = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            if last:
                body += b"0\r\n\r\n"
        elif self._method == "HEAD":
            body = b""
        else:
            self._left -= len(body)
            if self._left < 0 or (last and self._left):
                raise RuntimeError("the response is not as long as it says")
        pending, self._pending = self._pending, b""
        if pending or body:
            self._transport.write(pending + body)
        if last:
            self._end()

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
        """The application ended in the middle of its response."""
        self._ended = True
        self._wake()
        self._connection.response_done(self, whole=False)

    def client_left(self) -> None:
        """It sends no more; most have closed, some still wait for the response."""
        self._gone = True
        self._wake()

    def connection_lost(self) -> None:
        self.is_lost = True
        self.resume()
        self.client_left()

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
