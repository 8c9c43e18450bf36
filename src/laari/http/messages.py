"""Requests and replies of the JSON interfaces and the pages; `App` adds the common headers."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from itertools import count
from typing import NamedTuple, Protocol, TypeAlias
from urllib.parse import parse_qsl

from laari.http.client_addresses import Networks, client_address, is_trusted
from laari.http.head import Head
from laari.rules.refusals import Refusal

Header: TypeAlias = tuple[bytes, bytes]
Address: TypeAlias = tuple[str, int]
Parameters: TypeAlias = list[tuple[str, str]]  # in the order sent, blank ones too

JSON = b"application/json"
PLAIN = b"text/plain; charset=utf-8"
HTML = b"text/html; charset=utf-8"
NO_STORE: Header = (b"cache-control", b"no-store")
_NO_SNIFFING: Header = (b"x-content-type-options", b"nosniff")
_HTTPS_ONLY: Header = (b"strict-transport-security", b"max-age=31536000")  # a year

PIECE_BYTES = 16 * 1024  # of a body that is read in pieces
OTHER = "other"  # the operation of requests outside of the interfaces and pages

_process = secrets.token_hex(5)
_numbers = count(1)


def new_request_id() -> str:
    return f"req_{_process}{next(_numbers):08x}"


class ClientGone(Exception):  # noqa: N818  # named for what happened
    """The client has disconnected and cannot read a response."""


class SlowBody(Exception):  # noqa: N818  # not an error of ours
    """A long body did not come in time."""


class StreamEnded(Exception):  # noqa: N818  # not an error of ours
    """The rest of a body must not be sent; the connection ends, so the client notices."""


class Stream(NamedTuple):
    """A body that is made while it is sent; `release` is called once at the end, in any case."""

    chunks: AsyncGenerator[bytes, None]
    release: Callable[[], object]


class Reply(NamedTuple):
    """A response; `code` is the code of a refusal."""

    status: int
    body: bytes = b""
    headers: tuple[Header, ...] = ()
    content_type: bytes = JSON  # empty if there is no body
    code: str = ""
    stream: Stream | None = None  # instead of the body
    lines: bytes = b""  # further headers, written already

    def plus(self, *headers: Header) -> Reply:
        return self._replace(headers=(*self.headers, *headers))

    def with_lines(self, lines: bytes) -> Reply:
        # Every reply comes through here, and `_replace` takes four times as long.
        status, body, headers, content_type, code, stream, _ = self
        return Reply(status, body, headers, content_type, code, stream, lines)


class Request:
    """One request; header names are lower-case, repeated headers joined as HTTP says."""

    __slots__ = (
        "_body",
        "_take",
        "_trusted_proxies",
        "disconnected",
        "fields",
        "headers",
        "id",
        "local",
        "method",
        "operation",
        "path",
        "peer_address",
        "query",
        "started",
    )

    def __init__(
        self,
        head: Head,
        body: bytes,
        peer: Address | None,
        local: Address | None,
        disconnected: Callable[[], Awaitable[None]],
        *,
        trusted_proxies: Networks,
        take: Callable[[], Awaitable[bytes]] | None = None,
    ) -> None:
        """`body` is all of it, or enough to show that it is too long; then `take` has the pieces.

        A chunked body that is too long has no pieces, because nobody knows its length.
        """
        self._body = body
        self._take = take
        self._trusted_proxies = trusted_proxies
        self.disconnected = disconnected  # returns when the client has gone
        self.method = head.method
        self.path = head.path  # decoded, but for encoded slashes
        self.query = head.query
        self.fields = head.fields.pairs  # each as it was sent
        self.headers = head.fields.by_name
        self.local = local
        self.peer_address = "" if peer is None else peer[0]
        self.id = new_request_id()
        self.operation = OTHER  # what metrics count it by, until it is known which one it is
        self.started = time.perf_counter()

    @property
    def client(self) -> str:
        """The client's address, as a trusted proxy reports it if there is one."""
        forwarded_for = self.headers.get(b"x-forwarded-for", "")
        return client_address(self.peer_address, forwarded_for, self._trusted_proxies)

    @property
    def secure(self) -> bool:
        """Whether a trusted proxy says that the client uses https; this server has plain http."""
        protocol = self.headers.get(b"x-forwarded-proto", "").strip().lower()
        return protocol == "https" and is_trusted(self.peer_address, self._trusted_proxies)

    def body(self, limit: int) -> bytes | None:
        """The body, or None if it is longer than the limit."""
        length = int(self.headers.get(b"content-length", 0))
        return None if max(length, len(self._body)) > limit else self._body

    @property
    def declared_length(self) -> int | None:
        """Bytes of the body; None if it comes in chunks."""
        length = self.headers.get(b"content-length")
        return None if length is None else int(length)

    async def pieces(self) -> AsyncIterator[bytes]:
        """A body of declared length, however long; other tasks run between two pieces."""
        if self._take is not None:
            while piece := await self._take():
                yield piece
            return
        for at in range(0, len(self._body), PIECE_BYTES):
            yield self._body[at : at + PIECE_BYTES]
            await asyncio.sleep(0)

    @property
    def received(self) -> int:
        """Bytes of the body that were read."""
        return len(self._body)

    @property
    def media_type(self) -> str:
        """Of the body, without parameters and in lower case."""
        return self.headers.get(b"content-type", "").partition(";")[0].strip().lower()


class Application(Protocol):
    async def __call__(self, request: Request) -> Reply: ...
    def fault(self, refusal: Refusal, path: str | None) -> Reply:
        """The response to bytes that are not a request; `path` if it could be read."""


def read_parameters(encoded: bytes, errors: str = "surrogateescape") -> Parameters:
    """A query or a form, whose parameters the caller has counted. Bytes that are not UTF-8 stay:
    only the field that gets them knows what they mean."""
    return parse_qsl(encoded.decode(), keep_blank_values=True, errors=errors) if encoded else []


def plain_refusal(refusal: Refusal) -> Reply:
    return Reply(refusal.status, f"{refusal.message}\n".encode(), (NO_STORE,), PLAIN)


def must_read(request: Request) -> Reply | None:
    """The refusal of another method than GET and HEAD."""
    if request.method in ("GET", "HEAD"):
        return None
    return Reply(405, b"Use GET\n", ((b"allow", b"GET, HEAD"),), PLAIN)


def refusal_headers(status: int, retry_after: int | None, challenge: Header) -> tuple[Header, ...]:
    """How to authenticate, or when to come back."""
    if status == 401:
        return (challenge,)
    if status in (429, 503):
        return ((b"retry-after", str(retry_after or 1).encode()),)
    return ()


def header_lines(headers: Iterable[Header]) -> bytes:
    """Headers as they are sent."""
    lines = [b"%b: %b\r\n" % header for header in headers]
    written = b"".join(lines)
    # A newline in a value would start another line.
    if written.count(b"\n") != len(lines) or written.count(b"\r") != len(lines):
        raise ValueError("a header of the response contains a newline")
    return written


def guard_headers(origin: str) -> tuple[Header, ...]:
    """The headers of every reply: no guessing of types, and https only if the origin has it."""
    return (_NO_SNIFFING, _HTTPS_ONLY) if origin.startswith("https:") else (_NO_SNIFFING,)
