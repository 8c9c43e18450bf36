"""One connection: bytes become complete requests, in turn, and each gets one response."""

from __future__ import annotations

import asyncio
import time
from enum import Enum, auto
from typing import Protocol, cast

from laari.http.chunks import Chunks
from laari.http.connection_limits import Limits
from laari.http.cycle import CONTINUE, Cycle, write_head
from laari.http.head import CHUNKED, Fault, Fields, Head, read_head, unread_fault
from laari.http.long_body import LongBody
from laari.http.messages import Address, Application
from laari.rules.refusals import Refusal, refuse

_END = b"\r\n\r\n"
_BLANK_LINES = 4  # bytes of empty lines before a request: some clients send one
STALE = "requests that had waited too long were refused"


class State(Enum):
    IDLE = auto()  # no byte of the next request has come
    HEAD = auto()
    BODY = auto()
    BUSY = auto()  # the application has the request
    DRAIN = auto()  # done; further data is dropped, so that the client can read the response
    CLOSED = auto()


class ConnectionHost(Protocol):
    """The server, as its connections see it. An import of it would be a cycle."""

    app: Application
    limits: Limits
    now: float  # exact enough for deadlines of seconds
    date: bytes  # a header line
    began: float
    is_stopping: bool
    draining: dict[Connection, float]  # with the moment since when

    def admit(self, connection: Connection) -> bool: ...
    def remove(self, connection: Connection) -> None: ...
    def entered(self, connection: Connection, old: State, new: State) -> None: ...
    def move_share(self, connection: Connection, head: Head) -> None: ...
    def await_rest(self, connection: Connection) -> None: ...
    def hold_pipelined(self, connection: Connection, received: int) -> None: ...
    def release_pipelined(self, connection: Connection) -> None: ...
    def run(self, connection: Connection, cycle: Cycle) -> None: ...
    def response_stalled(self, connection: Connection) -> None: ...
    def response_sent(self, connection: Connection) -> None: ...
    def is_stale(self, connection: Connection) -> bool: ...
    def note(self, what: str, last: str = "") -> None: ...


class Connection(asyncio.Protocol):
    __slots__ = (
        "_blank",
        "_body",
        "_buffer",
        "_cycle",
        "_drained",
        "_eof",
        "_fields",
        "_head",
        "_long_body",
        "_paused",
        "_seen",
        "_server",
        "_stalled",
        "address",
        "client",
        "local",
        "ready_at",
        "since",
        "state",
        "transport",
    )

    def __init__(self, server: ConnectionHost) -> None:
        self._server = server
        self.transport: asyncio.Transport = None  # type: ignore[assignment]  # from connection_made on
        self._buffer = bytearray()
        self._seen = 0  # bytes of the buffer that hold no end of a head
        self._blank = 0
        self._head: Head | None = None
        self._fields: Fields | None = None  # of the last request
        self._body: Chunks | None = None
        self._long_body: LongBody | None = None  # of the request that the application has
        self._cycle: Cycle | None = None
        self._drained = 0
        self._eof = False
        self._paused = False  # reading
        self._stalled = False  # writing
        self.client: Address | None = None
        self.local: Address | None = None
        self.address = ""  # that its unfinished requests are counted for
        self.state = State.CLOSED
        self.since = 0.0  # when the state began
        self.ready_at = server.began  # when the last response was written

    # Calls of the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport = cast(asyncio.Transport, transport)
        self.client = _address(transport.get_extra_info("peername"))
        self.local = _address(transport.get_extra_info("sockname"))
        # A response that the system's buffer does not take is noticed, and has a deadline.
        transport.set_write_buffer_limits(high=0)
        if self._server.admit(self):
            self._enter(State.IDLE)
        else:
            self.refuse(refuse("service_unavailable"))

    def connection_lost(self, error: Exception | None) -> None:
        self._enter(State.CLOSED)
        self._server.remove(self)
        self._buffer.clear()
        if self._long_body is not None:
            self._long_body.end()
        if self._cycle is not None:
            self._cycle.connection_lost()

    def eof_received(self) -> bool:
        """The client sends no more, but may wait for its response."""
        self._eof = True
        if self._long_body is not None:
            self._long_body.end()
        if self.state is State.BUSY and self._cycle is not None:
            self._cycle.client_finished()
            return True
        # It may still be reading its response.
        return self._stalled and self.state is State.IDLE

    def data_received(self, data: bytes) -> None:
        server = self._server
        if self.state is State.DRAIN:
            self._drained += len(data)
            if self._drained > server.limits.drain_bytes:
                self.transport.abort()
            return
        if (
            len(data) > server.limits.cheap_bytes
            and self.state is not State.BUSY
            and server.is_stale(self)
        ):
            self._buffer += data
            server.note(STALE)
            self.refuse(refuse("service_unavailable"))
            return
        if self.state is State.IDLE and not self._buffer and not self._stalled:
            # Nearly always a request, or its head, comes in one piece.
            end = data.find(_END, 0, server.limits.head_bytes)
            if end > 0 and data[0] != 0x0D:
                self._buffer += data[end + len(_END) :]
                if self._take_head(data[:end]):
                    self._advance()
                return
        self._buffer += data
        if self.state is State.BUSY or self._stalled:
            self._hold_back()
        else:
            self._advance()

    def pause_writing(self) -> None:
        self._stalled = True
        self._server.response_stalled(self)
        if self._cycle is not None:
            self._cycle.pause()

    def resume_writing(self) -> None:
        self._stalled = False
        self._server.response_sent(self)
        if self._cycle is not None:
            self._cycle.resume()
        elif self.state not in (State.BUSY, State.DRAIN):
            self._go_on()

    # Reading.

    def _advance(self) -> None:
        """Reads the buffer until a request is complete."""
        if self._head is None and not self._read_head():
            return
        head = self._head
        assert head is not None
        if head.length == 0:
            self._start(head, b"")
        elif head.length == CHUNKED:
            self._read_chunks(head)
        elif head.length > self._server.limits.body_bytes:
            # Its length is reason enough to refuse it, unless the application wants it.
            self._start_long(head)
        elif len(self._buffer) >= head.length:
            body = bytes(self._buffer[: head.length])
            del self._buffer[: head.length]
            self._start(head, body)
        else:
            self._await_body(head)

    def _read_head(self) -> bool:
        buffer, limits = self._buffer, self._server.limits
        while buffer.startswith(b"\r\n") and self._blank < _BLANK_LINES:
            del buffer[:2]
            self._blank += 2
            self._seen = 0
        end = buffer.find(_END, max(self._seen - 3, 0), limits.head_bytes)
        if end < 0:
            # A CR may have come before its LF.
            lines = buffer.count(b"\r\n", max(self._seen - 1, 0))
            has_bare_newline = buffer.count(b"\n", self._seen) != lines
            self._seen = len(buffer)
            if len(buffer) >= limits.head_bytes:
                self._answer_fault(unread_fault(refuse("header_too_large"), buffer))
            elif has_bare_newline:
                bare = refuse("invalid_request", "Lines must end in CRLF.")
                self._answer_fault(unread_fault(bare, buffer))
            elif buffer:
                self._wait(State.HEAD)
            return False
        head = bytes(buffer[:end])
        del buffer[: end + len(_END)]
        return self._take_head(head)

    def _take_head(self, data: bytes) -> bool:
        self._seen = self._blank = 0
        read = read_head(data, self._server.limits.fields, self._fields)
        if isinstance(read, Fault):
            self._answer_fault(read)
            return False
        self._head = read
        kept = len(read.fields.raw) <= self._server.limits.kept_bytes
        self._fields = read.fields if kept else None
        return True

    def _read_chunks(self, head: Head) -> None:
        if self._body is None:
            self._body = Chunks(self._server.limits)
        chunks = self._body
        refusal = chunks.read(self._buffer)
        if refusal is not None:
            self._answer_fault(Fault(refusal, head.path, head.method))
        elif chunks.is_complete or chunks.is_too_long:
            self._start(head, bytes(chunks.body), unread=not chunks.is_complete)
        else:
            self._await_body(head)

    def _await_body(self, head: Head) -> None:
        if self.state is not State.BODY:
            self._server.move_share(self, head)
            if head.expects_continue:
                self.transport.write(CONTINUE)
        self._wait(State.BODY)

    def _wait(self, state: State) -> None:
        """For the rest of a request."""
        if self.state is not state:
            self._enter(state)
        self._server.await_rest(self)

    def is_overdue(self, now: float) -> bool:
        """Whether the rest of this request has not come in time."""
        waited = now - self.since
        if self.state is State.HEAD:
            return waited > self._server.limits.head_seconds
        return waited > self._server.limits.body_deadline(self.received)

    @property
    def received(self) -> int:
        """Bytes of an unfinished request that are held here."""
        return len(self._buffer) + (0 if self._body is None else len(self._body.body))

    def _hold_back(self) -> None:
        """Bounds the data that is kept while the application is busy."""
        length = len(self._buffer)
        if not self._paused and length > self._server.limits.head_bytes:
            self._paused = True
            self.transport.pause_reading()
        if length > self._server.limits.pipelined_short:
            self._server.hold_pipelined(self, length)
        if self._long_body is not None:
            self._long_body.came()

    def _long_body_taken(self, body: LongBody) -> None:
        """The application took a piece, or waits for one: the client may send more."""
        if body is not self._long_body or self._cycle is None:
            return
        self._cycle.is_read = body.left == 0
        limits = self._server.limits
        if self._paused and len(self._buffer) <= limits.head_bytes:
            self._paused = False
            self.transport.resume_reading()
        if len(self._buffer) <= limits.pipelined_short:
            self._server.release_pipelined(self)

    # Responding.

    def _start(self, head: Head, body: bytes, *, unread: bool = False) -> None:
        """Gives a request to the application. `unread`: without the rest of its body."""
        self._head = self._body = None
        self._enter(State.BUSY)
        self._cycle = Cycle(self.transport, head, body, not unread, self._response_ended)
        if self._long_body is not None:
            self._cycle.take = self._long_body.take
        if self._eof:
            self._cycle.client_finished()
        self._hold_back()
        self._server.run(self, self._cycle)

    def _start_long(self, head: Head) -> None:
        """Gives a request to the application, which may take the body in pieces."""
        self._long_body = LongBody(
            self._buffer, head, self.transport, self._server.limits, self._long_body_taken
        )
        if self._eof:
            self._long_body.end()
        self._start(head, b"", unread=True)

    def _response_ended(self, cycle: Cycle, whole: bool) -> None:
        if self.state is not State.BUSY or cycle is not self._cycle:
            return
        self._cycle = self._long_body = None
        self.ready_at = time.monotonic()
        if not whole:
            self.transport.abort()
            return
        if not cycle.keep_alive or self._server.is_stopping:
            self._close_gently(is_read=cycle.is_read and not self._buffer)
            return
        self._enter(State.IDLE)
        self._go_on()

    def _go_on(self) -> None:
        """After a response: the next request may be here already."""
        if self._stalled:
            return
        if self._buffer:
            self._server.release_pipelined(self)
            self._advance()
        if self.state is State.BUSY:
            return
        if self._eof:
            self.transport.close()
        elif self._paused:
            self._paused = False
            self.transport.resume_reading()

    def _answer_fault(self, fault: Fault) -> None:
        self._server.note("malformed requests were refused", fault.refusal.message)
        self._write_and_close(fault)

    def refuse(self, refusal: Refusal) -> None:
        """Refuses an incomplete request and ends the connection."""
        head = self._head
        self._write_and_close(
            unread_fault(refusal, self._buffer)
            if head is None
            else Fault(refusal, head.path, head.method)
        )

    def _write_and_close(self, fault: Fault) -> None:
        reply = self._server.app.fault(fault.refusal, fault.path)
        head = write_head(reply, self._server.date, keep_alive=False)
        self.transport.write(head if fault.method == "HEAD" else head + reply.body)
        self._close_gently()

    def _close_gently(self, *, is_read: bool = False) -> None:
        """Closing a socket with unread data resets it, and the response may be lost."""
        self._buffer.clear()
        self._server.release_pipelined(self)
        self._head = self._body = None
        self._enter(State.DRAIN)
        if self._eof or is_read:
            self.transport.close()
            return
        if self.transport.can_write_eof():
            self.transport.write_eof()
        if self._paused:
            self._paused = False
            self.transport.resume_reading()
        self._server.draining[self] = self._server.now

    def close(self) -> None:
        """Ends it after the response to the current request."""
        if self.state is State.BUSY and self._cycle is not None:
            self._cycle.keep_alive = False
        elif self.state is not State.DRAIN:
            self.transport.close()

    def _enter(self, state: State) -> None:
        self._server.entered(self, self.state, state)
        self.state = state
        self.since = self._server.now


def _address(found: object) -> Address | None:
    """Host and port; None if it has neither, such as a Unix socket."""
    if isinstance(found, tuple) and len(found) >= 2:
        return str(found[0]), int(found[1])
    return None
