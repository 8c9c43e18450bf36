"""The little of HTTP that the JSON interfaces need, straight on ASGI."""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple, TypeAlias

from laari.edge.addresses import Networks, client_address, is_trusted
from laari.edge.metrics import OTHER, Metrics
from laari.rules.refusals import Refusal

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

Header: TypeAlias = tuple[bytes, bytes]

JSON = b"application/json"
PLAIN = b"text/plain; charset=utf-8"
_NO_SNIFFING: Header = (b"x-content-type-options", b"nosniff")
_HTTPS_ONLY: Header = (b"strict-transport-security", b"max-age=31536000")  # a year

_process = secrets.token_hex(5)
_numbers = count(1)


def new_request_id() -> str:
    return f"req_{_process}{next(_numbers):08x}"


class ClientGone(Exception):  # noqa: N818  # named for what happened
    """The client left before its request was complete: nobody is there to answer."""


class Reply(NamedTuple):
    status: int
    body: bytes
    headers: tuple[Header, ...] = ()
    content_type: bytes = JSON


Respond: TypeAlias = Callable[[Reply, tuple[Header, ...]], None]


def must_read(scope: Scope) -> Reply | None:
    """The reply to a method that changes something, at an address that is only read."""
    if scope["method"] in ("GET", "HEAD"):
        return None
    return Reply(405, b"Use GET\n", ((b"allow", b"GET, HEAD"),), PLAIN)


def refusal_headers(refusal: Refusal, challenge: Header) -> tuple[Header, ...]:
    """How to be let in, or when to come back."""
    if refusal.status == 401:
        return (challenge,)
    if refusal.status in (429, 503):
        return ((b"retry-after", str(refusal.retry_after or 1).encode()),)
    return ()


def guard_headers(origin: str) -> tuple[Header, ...]:
    """What every answer carries: no guessing of types, and https from now on where we have it."""
    return (_NO_SNIFFING, _HTTPS_ONLY) if origin.startswith("https:") else (_NO_SNIFFING,)


class Exchange:
    """One request and its response; stands in for `send`, so that nothing is sent past it."""

    __slots__ = (
        *("_guards", "_metrics", "_respond", "_send", "_started", "_status"),
        *("id", "operation"),
    )

    def __init__(
        self,
        respond: Respond,
        send: Send,
        metrics: Metrics,
        guards: tuple[Header, ...] = (_NO_SNIFFING,),
    ) -> None:
        self._respond = respond
        self._send = send
        self._metrics = metrics
        self._guards = guards
        self._status = 0
        self.id = new_request_id()
        self.operation = OTHER  # until it is known which one it is
        self._started = time.perf_counter()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            message["headers"] = [
                *message["headers"],
                *self._guards,
                (b"request-id", self.id.encode()),
            ]
        elif not message.get("more_body", False):
            self._count(self._status, message.get("body", b""))
        await self._send(message)

    def reply(self, reply: Reply, *headers: Header) -> None:
        """The whole response; to HEAD it goes without its body."""
        self._count(reply.status, reply.body)
        self._respond(reply, (*headers, *self._guards, (b"request-id", self.id.encode())))

    def _count(self, status: int, body: bytes) -> None:
        self._metrics.count(self.operation, status, body, time.perf_counter() - self._started)


@dataclass(slots=True)
class Request:
    """One request; header names are lower-case, repeated headers joined as HTTP says."""

    method: str
    path: str
    query: bytes
    headers: dict[bytes, str]
    secure: bool
    client: str
    receive: Receive = field(repr=False)
    exchange: Exchange = field(repr=False)

    async def body(self, limit: int) -> bytes | None:
        """The body, or None if it is longer than the limit.

        The server has read all of it, or as much as shows that it is too long.
        """
        length = self.headers.get(b"content-length")
        if length is not None and int(length) > limit:
            return None
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        body: bytes = message["body"]
        return None if len(body) > limit else body


def read_request(scope: Scope, receive: Receive, path: str, trusted_proxies: Networks) -> Request:
    headers: dict[bytes, str] = scope["laari.headers"]
    peer = scope["client"][0] if scope.get("client") else ""
    forwarded_for = headers.get(b"x-forwarded-for", "")
    return Request(
        method=scope["method"],
        path=path,
        query=scope["query_string"],
        headers=headers,
        secure=_is_secure(scope, headers, is_trusted(peer, trusted_proxies)),
        client=client_address(peer, forwarded_for, trusted_proxies),
        receive=receive,
        exchange=scope["laari.exchange"],
    )


def _is_secure(scope: Scope, headers: dict[bytes, str], proxied: bool) -> bool:
    """Whether the client's own connection was https; a proxy's word counts if it is trusted."""
    if proxied and b"x-forwarded-proto" in headers:
        return headers[b"x-forwarded-proto"].strip().lower() == "https"
    return bool(scope["scheme"] == "https")
