"""Sends one webhook: only to a vetted address, with the certificate checked for the name.

A name is resolved once per connection, so a DNS record that changes later has no effect.
"""

import socket
import ssl
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from laari.rules.public_addresses import is_public
from laari.rules.refusals import Refusal
from laari.rules.webhooks import (
    SIGNATURE_HEADER,
    USER_AGENT,
    check_webhook_url,
    is_acknowledged,
    signature,
)
from laari.workers.webhooks.answer import TIMEOUT_SECONDS, Answer
from laari.workers.webhooks.bounded import bounded
from laari.workers.webhooks.failures import FailureLog, ForbiddenAddress, describe

DNS_TIMEOUT_SECONDS = 4.0  # of each of two tries
MAX_READ_BYTES = 64 * 1024  # of an answer
MAX_KEPT_BYTES = 1024
KEEP_ALIVE_SECONDS = 1.5  # shorter than servers keep idle connections, which is 2 s and more

Allowed = Callable[[str], bool]


class VettingResolver(AbstractResolver):
    """Returns the addresses of a name only if every one of them is allowed."""

    def __init__(self, inner: AbstractResolver, allowed: Allowed) -> None:
        self._inner = inner
        self._allowed = allowed

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        # The final dot excludes the system's search domains.
        absolute = f"{host}." if "." in host and not host.endswith(".") else host
        found = await self._inner.resolve(absolute, port, family)
        for result in found:
            if not self._allowed(result["host"]):
                raise ForbiddenAddress(None, f"{host} resolves to {result['host']}, not public")
            result["hostname"] = host
        return found

    async def close(self) -> None:
        await self._inner.close()


class Sender:
    """One HTTP client for all deliveries of a process.

    Only tests set `allowed`, `nameservers`, `certificates` and `timeout_seconds`.
    """

    def __init__(
        self,
        *,
        allow_private: bool = False,
        allowed: Allowed = is_public,
        nameservers: list[str] | None = None,
        certificates: ssl.SSLContext | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._allow_private = allow_private
        self._allowed: Allowed = (lambda address: True) if allow_private else allowed
        inner = aiohttp.AsyncResolver(nameservers=nameservers, timeout=DNS_TIMEOUT_SECONDS, tries=2)
        self._resolver = VettingResolver(inner, self._allowed)
        self._failures = FailureLog()
        self._session = aiohttp.ClientSession(
            connector=bounded(
                aiohttp.TCPConnector(
                    resolver=self._resolver,
                    use_dns_cache=False,  # each connection resolves the name
                    ssl=certificates or ssl.create_default_context(),
                    socket_factory=self._make_socket,
                    limit=0,  # the delivery loop limits its attempts
                    keepalive_timeout=KEEP_ALIVE_SECONDS,
                )
            ),
            timeout=aiohttp.ClientTimeout(total=timeout_seconds),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            headers={
                "User-Agent": USER_AGENT,
                "Content-Type": "application/json",
                "Accept-Encoding": "identity",
            },
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._session.close()
        await self._resolver.close()

    def _make_socket(self, address_info: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, _, address = address_info
        if not self._allowed(address[0]):
            raise ForbiddenAddress(None, f"{address[0]} is not a public address")
        made = socket.socket(family, kind, protocol)
        made.setblocking(False)
        return made

    async def send(self, url: str, secret: str, body: bytes) -> Answer:
        """Signs and posts the body; returns an `Answer` for a failure too."""
        return await self.post(url, body, signature(secret, int(time.time()), body))

    async def post(self, url: str, body: bytes, signed: str | None) -> Answer:
        """Posts the body with this signature, or with none."""
        started_at, clock = time.time(), time.perf_counter()
        status: int | None = None
        error = text = None
        target = _target(url, self._allow_private)
        if isinstance(target, Refusal):
            error = target.message
        else:
            try:
                async with self._session.post(
                    target,
                    data=body,
                    headers={} if signed is None else {SIGNATURE_HEADER: signed},
                    allow_redirects=False,
                ) as response:
                    status = response.status
                    text = await _read_start(response)
            except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as problem:
                # If the status is known, a broken answer does not change it.
                if status is None:
                    error = describe(problem)
                    self._failures.add(target.host or "", error, problem)
        if status is not None and not is_acknowledged(status):
            error = f"answered {status}"
        return Answer(started_at, int((time.perf_counter() - clock) * 1000), status, error, text)


@lru_cache(maxsize=1024)
def _target(url: str, allow_private: bool) -> URL | Refusal:
    return check_webhook_url(url, allow_private) or URL(url, encoded=True)


async def _read_start(response: aiohttp.ClientResponse) -> str:
    """Returns the first KiB. Reads up to the limit, so that the connection can be reused."""
    kept, size = b"", 0
    while chunk := await response.content.readany():
        kept += chunk[: MAX_KEPT_BYTES - len(kept)]
        size += len(chunk)
        if size >= MAX_READ_BYTES:
            response.close()
            break
    return kept.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
