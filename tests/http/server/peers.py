"""What our server, h11 and llhttp read from the same bytes, in one form that can be compared."""

from typing import NamedTuple, cast

import h11
import httptools

from laari.http.connection import Connection
from laari.http.cycle import Cycle
from laari.http.messages import Reply, Request
from laari.http.server import Server
from laari.rules.refusals import Refusal

H11_BYTES = 1 << 20  # of a head, where it would stop at 16 KiB
OPEN, CLOSED = "waits for more", "closes after it"


class Seen(NamedTuple):
    method: bytes
    target: tuple[bytes, bytes]  # path and query
    fields: tuple[tuple[bytes, bytes], ...]
    body: bytes


class Reading(NamedTuple):
    """The whole requests that one reader found, and how it ended: a refusal says why."""

    requests: list[Seen]
    end: str

    @property
    def is_refusal(self) -> bool:
        return self.end not in (OPEN, CLOSED)


# Ours.


class _App:
    def __init__(self) -> None:
        self.refusal: Refusal | None = None

    async def __call__(self, request: Request) -> Reply:
        raise NotImplementedError  # `_Server` answers in its place

    def fault(self, refusal: Refusal, path: str | None) -> Reply:
        self.refusal = refusal
        return Reply(refusal.status)


class _Server(Server):
    """Answers each request at once: no event loop is needed."""

    def __init__(self, app: _App) -> None:
        super().__init__(app)
        self.seen: list[Seen] = []
        self.date = b"date: today\r\n"

    def run(self, connection: Connection, cycle: Cycle) -> None:
        head = cycle.head
        place = (head.raw_path, head.query)
        fields = _comparable(head.fields.pairs)
        self.seen.append(Seen(head.method.encode(), place, fields, cycle.body))
        cycle.respond(Reply(200), self.date)


class _Transport:
    """Of a client that takes everything."""

    def __init__(self) -> None:
        self.closing = False

    def get_extra_info(self, name: str) -> None: ...
    def set_write_buffer_limits(self, high: int) -> None: ...
    def write(self, data: bytes) -> None: ...
    def write_eof(self) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...

    def can_write_eof(self) -> bool:
        return True

    def close(self) -> None:
        self.closing = True

    def is_closing(self) -> bool:
        return self.closing


_app = _App()
_server = _Server(_app)


def read_ours(pieces: list[bytes]) -> Reading:
    app, server, transport = _app, _server, _Transport()
    app.refusal, server.seen = None, []
    connection = Connection(server)
    connection.connection_made(transport)  # type: ignore[arg-type]
    for piece in pieces:
        if not transport.closing:
            connection.data_received(piece)
    is_done = transport.closing or connection in server.draining
    connection.connection_lost(None)
    refusal = cast("Refusal | None", app.refusal)  # it may have come with any of the pieces
    if refusal is not None:
        return Reading(server.seen, refusal.message)
    return Reading(server.seen, CLOSED if is_done else OPEN)


# h11.


def read_h11(data: bytes) -> Reading:
    found: list[Seen] = []
    while True:
        for _ in range(2):  # RFC 9112, 2.2: empty lines before a request; h11 knows none
            data = data.removeprefix(b"\r\n")
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=H11_BYTES)
        connection.receive_data(data)
        try:
            seen, is_last = _next_of_h11(connection)
        except h11.RemoteProtocolError as error:
            return Reading(found, str(error))
        if seen is None:
            return Reading(found, OPEN)
        found.append(seen)
        if is_last:
            return Reading(found, CLOSED)
        data = connection.trailing_data[0]


def _next_of_h11(connection: h11.Connection) -> tuple[Seen | None, bool]:
    """A request, if it is whole, and whether it is the last one of its connection."""
    request, body = connection.next_event(), b""
    if not isinstance(request, h11.Request):
        return None, False
    while isinstance(event := connection.next_event(), h11.Data):
        body += bytes(event.data)
    if not isinstance(event, h11.EndOfMessage):
        return None, False
    is_last = request.method == b"CONNECT" or connection.their_state is h11.MUST_CLOSE
    return _seen(request.method, request.target, list(request.headers), body), is_last


# llhttp.


class _Callbacks:
    def __init__(self) -> None:
        self.found: list[Seen] = []
        self.parser: httptools.HttpRequestParser = None
        self.closed = False
        self._start()

    def _start(self) -> None:
        self._url = self._body = b""
        self._fields: list[tuple[bytes, bytes]] = []

    def on_message_begin(self) -> None:
        self._start()

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        self._kept = len(self._fields)  # trailer fields come after these

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        if not self.closed:
            fields = self._fields[: self._kept]
            self.found.append(_seen(self.parser.get_method(), self._url, fields, self._body))
            self.closed = not self.parser.should_keep_alive()


def read_llhttp(data: bytes) -> Reading:
    callbacks = _Callbacks()
    callbacks.parser = httptools.HttpRequestParser(callbacks)
    try:
        callbacks.parser.feed_data(data)
    except httptools.HttpParserUpgrade:
        return Reading(callbacks.found, CLOSED)
    except httptools.HttpParserError as error:
        return Reading(callbacks.found, CLOSED if callbacks.closed else str(error) or "error")
    return Reading(callbacks.found, CLOSED if callbacks.closed else OPEN)


def _seen(method: bytes, target: bytes, fields: list[tuple[bytes, bytes]], body: bytes) -> Seen:
    return Seen(bytes(method), _place(bytes(target)), _comparable(fields), body)


def _comparable(fields: list[tuple[bytes, bytes]]) -> tuple[tuple[bytes, bytes], ...]:
    """Names in lower case, which says nothing, and so the codings: h11 has them so."""
    found = []
    for name, value in fields:
        lower, trimmed = name.lower(), value.strip(b" \t")
        found.append((lower, trimmed.lower() if lower == b"transfer-encoding" else trimmed))
    return tuple(found)


def _place(target: bytes) -> tuple[bytes, bytes]:
    """Path and query of a target, also of one that is a whole URL."""
    scheme, separator, rest = target.partition(b"://")
    if separator and scheme.lower() in (b"http", b"https"):
        at = min((rest.find(sign) for sign in (b"/", b"?") if sign in rest), default=len(rest))
        target = rest[at:] if rest[at : at + 1] == b"/" else b"/" + rest[at:]
    path, _, query = target.partition(b"?")
    return path, query
