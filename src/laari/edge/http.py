"""The little of HTTP that the JSON interfaces need, straight on ASGI."""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address
from itertools import count
from typing import Any, NamedTuple, TypeAlias

from laari.edge.metrics import OTHER, Metrics
from laari.rules.refusals import Refusal

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

Header: TypeAlias = tuple[bytes, bytes]

JSON = b"application/json"

_process = secrets.token_hex(5)
_numbers = count(1)


class ClientGone(Exception):  # noqa: N818  # named for what happened
    """The client left before its request was complete: nobody is there to answer."""


class Reply(NamedTuple):
    status: int
    body: bytes
    headers: tuple[Header, ...] = ()
    content_type: bytes = JSON


def refusal_headers(refusal: Refusal, challenge: Header) -> tuple[Header, ...]:
    """How to be let in, or when to come back."""
    if refusal.status == 401:
        return (challenge,)
    if refusal.status in (429, 503):
        return ((b"retry-after", str(refusal.retry_after or 1).encode()),)
    return ()


class Exchange:
    """One request and its answer; stands in for `send`, so that nothing is answered past it."""

    __slots__ = ("_metrics", "_send", "_started", "_status", "id", "operation")

    def __init__(self, send: Send, metrics: Metrics) -> None:
        self._send = send
        self._metrics = metrics
        self._status = 0
        self.id = f"req_{_process}{next(_numbers):08x}"
        self.operation = OTHER  # until it is known which one it is
        self._started = time.perf_counter()

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            message["headers"] = [*message["headers"], (b"request-id", self.id.encode())]
        elif not message.get("more_body", False):
            self._count(self._status, message.get("body", b""))
        await self._send(message)

    async def reply(self, reply: Reply, *headers: Header, head: bool = False) -> None:
        """The whole answer; to HEAD it goes without its body."""
        status, body, own_headers, content_type = reply
        self._count(status, body)
        await self._send(
            {
                "type": "http.response.start",
                "status": status,
                "headers": [
                    (b"content-type", content_type),
                    (b"content-length", str(len(body)).encode()),
                    *own_headers,
                    *headers,
                    (b"request-id", self.id.encode()),
                ],
            }
        )
        await self._send({"type": "http.response.body", "body": b"" if head else body})

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
        """The body, or None as soon as it is known to be longer than the limit."""
        length = self.headers.get(b"content-length")
        if length is not None and (len(length) > 18 or int(length) > limit):
            return None
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > limit:
                return None
            chunks.append(chunk)
            if not message.get("more_body", False):
                return b"".join(chunks)


def read_request(
    scope: Scope,
    receive: Receive,
    path: str,
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...],
) -> Request:
    headers: dict[bytes, str] = {}
    for name, value in scope["headers"]:
        text = value.decode("latin-1")
        headers[name] = f"{headers[name]}, {text}" if name in headers else text
    peer = scope["client"][0] if scope.get("client") else ""
    proxied = bool(trusted_proxies) and _is_in(peer, trusted_proxies)
    return Request(
        method=scope["method"],
        path=path,
        query=scope["query_string"],
        headers=headers,
        secure=_is_secure(scope, headers, proxied),
        client=_client(headers, trusted_proxies) or peer if proxied else peer,
        receive=receive,
        exchange=scope["laari.exchange"],
    )


def _is_in(address: str, networks: tuple[IPv4Network | IPv6Network, ...]) -> bool:
    try:
        read = ip_address(address)
    except ValueError:
        return False
    return any(read in network for network in networks)


def _is_secure(scope: Scope, headers: dict[bytes, str], proxied: bool) -> bool:
    """Whether the client's own connection was https; a proxy's word counts if it is trusted."""
    if proxied and b"x-forwarded-proto" in headers:
        return headers[b"x-forwarded-proto"].strip().lower() == "https"
    return bool(scope["scheme"] == "https")


def _client(
    headers: dict[bytes, str], trusted_proxies: tuple[IPv4Network | IPv6Network, ...]
) -> str | None:
    """Whom the nearest trusted proxy was asked by; what stands further left anyone may write."""
    for address in reversed(headers.get(b"x-forwarded-for", "").split(",")):
        if not _is_in(address.strip(), trusted_proxies):
            return address.strip() or None
    return None
