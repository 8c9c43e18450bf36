"""Whatever bytes come, in whatever pieces: requests are seen as they were sent, or not at all."""

import asyncio

import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st

from laari.http.connection import Connection, State
from laari.http.connection_limits import Limits
from laari.http.messages import Reply, Request
from laari.http.server import Server
from laari.rules.refusals import Refusal

LIMITS = Limits(head_bytes=400, fields=6, body_bytes=80, chunks=20, trailer_bytes=40)


class Transport:
    """Keeps what is written; says what was done to it."""

    def __init__(self) -> None:
        self.written = b""
        self.closing = False

    def get_extra_info(self, name: str) -> tuple[str, int] | None:
        return None if name == "socket" else ("192.0.2.1", 1)

    def set_write_buffer_limits(self, high: int) -> None:
        pass

    def write(self, data: bytes) -> None:
        assert not self.closing
        self.written += data

    def close(self) -> None:
        self.closing = True

    abort = close

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading

    def is_closing(self) -> bool:
        return self.closing


class App:
    def __init__(self) -> None:
        self.seen: list[tuple[str, str, bytes]] = []
        self.faults = 0

    async def __call__(self, request: Request) -> Reply:
        self.seen.append((request.method, request.path, request.body(2**20) or b""))
        return Reply(200, b"ok")

    def fault(self, refusal: Refusal, path: str | None) -> Reply:
        self.faults += 1
        return Reply(refusal.status, b"no")


async def feed(pieces: list[bytes], *, eof: bool = False) -> tuple[App, Transport, Connection]:
    app, transport = App(), Transport()
    server = Server(app, limits=LIMITS)
    server._loop = asyncio.get_running_loop()
    server.date = b"date: today\r\n"
    connection = Connection(server)
    connection.connection_made(transport)  # type: ignore[arg-type]
    for piece in pieces:
        if transport.closing:
            break
        connection.data_received(piece)
        await asyncio.sleep(0)
    if eof and not transport.closing and not connection.eof_received():
        transport.close()
    for _ in range(60):
        await asyncio.sleep(0)
    assert transport.written.count(b"HTTP/1.1 ") == len(app.seen) + app.faults
    assert app.faults <= 1
    connection.connection_lost(None)
    assert not server._connections
    assert not server._unfinished
    assert not server._shares
    assert server._held_bytes == 0
    return app, transport, connection


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[a:b] for a, b in zip(ends, ends[1:], strict=False)]  # noqa: RUF007


token = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=1, max_size=8)


@st.composite
def requests(draw: st.DrawFn) -> tuple[bytes, tuple[str, str, bytes]]:
    method = draw(token)
    path = "/" + draw(st.text("abc/.~", max_size=12))
    body = draw(st.binary(max_size=60))
    head = f"{method} {path} HTTP/1.1\r\nHost: a\r\n".encode()
    if draw(st.booleans()):
        head += b"Connection: upgrade\r\nUpgrade: h2c\r\n"
    how = draw(st.sampled_from(["length", "chunks"] if body else ["none", "length", "chunks"]))
    if how == "length":
        head += b"Content-Length: %d\r\n\r\n" % len(body) + body
    elif how == "chunks":
        size = draw(st.integers(4, 30))
        parts = [body[at : at + size] for at in range(0, len(body), size)]
        head += b"Transfer-Encoding: chunked\r\n\r\n"
        head += b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
        head += b"0\r\n" + draw(st.sampled_from([b"", b"X: y\r\n"])) + b"\r\n"
    else:
        head += b"\r\n"
    return head, (method, path, body)


@pytest.mark.ci
@settings(max_examples=300)
@given(st.lists(requests(), max_size=5), st.lists(st.integers(0, 4000), max_size=12), st.booleans())
def test_requests_are_seen_as_they_were_sent(
    sent: list[tuple[bytes, tuple[str, str, bytes]]], places: list[int], eof: bool
) -> None:
    data = b"".join(each for each, _ in sent)
    app, _, _ = uvloop.run(feed(cut(data, places), eof=eof))
    assert app.seen == [what for _, what in sent]
    assert app.faults == 0


@pytest.mark.ci
@settings(max_examples=300)
@given(
    st.lists(requests(), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 2000), st.binary(max_size=3), st.integers(0, 3)), max_size=4),
    st.lists(st.integers(0, 4000), max_size=6),
    st.booleans(),
)
def test_damaged_requests_never_make_more_of_themselves(
    sent: list[tuple[bytes, tuple[str, str, bytes]]],
    damage: list[tuple[int, bytes, int]],
    places: list[int],
    eof: bool,
) -> None:
    data = bytearray(b"".join(each for each, _ in sent))
    for place, new, removed in damage:
        at = place % (len(data) + 1)
        data[at : at + removed] = new
    app, transport, connection = uvloop.run(feed(cut(bytes(data), places), eof=eof))
    # A request is at least its line, a host and an empty line.
    assert len(app.seen) <= data.count(b"HTTP/1.")
    assert connection.state is State.CLOSED
    assert not (app.faults and not transport.written)
