"""The whole service as one ASGI application."""

from __future__ import annotations

from typing import NamedTuple

from laari.edge import signup
from laari.edge.backend import Backend
from laari.edge.faults import fault_reply
from laari.edge.http import (
    PLAIN,
    Exchange,
    Receive,
    Reply,
    Scope,
    Send,
    guard_headers,
    must_read,
    new_request_id,
)
from laari.edge.merchant.app import OPERATIONS, MerchantInterface
from laari.edge.merchant.oauth import TOKEN_ERRORS, TOKEN_OPERATION
from laari.edge.metrics import OTHER, Metrics
from laari.edge.pages.app import FIRST_SEGMENTS, PAGE_OPERATIONS, Pages
from laari.edge.rate import RateBuckets
from laari.edge.reference import reference_page
from laari.edge.scrapes import PATH as METRICS_PATH
from laari.edge.scrapes import Scrapes
from laari.edge.wallet.app import ENDPOINTS, WalletInterface
from laari.rules.refusals import CODES, Refusal
from laari.settings import Settings

EXPOSITION = b"text/plain; version=0.0.4; charset=utf-8"  # Prometheus's own
_NO_STORE = ((b"cache-control", b"no-store"),)


class App:
    def __init__(self, backend: Backend, scrapes: Scrapes) -> None:
        self._backend = backend
        self._scrapes = scrapes
        self._guards = guard_headers(backend.origin)
        self._merchant = MerchantInterface(backend)
        self._wallet = WalletInterface(backend)
        self._pages = Pages(backend)
        self._signup = signup.SignUp(backend) if backend.settings.sandbox_signup else None

    async def open(self) -> None:
        await self._backend.open()

    async def close(self) -> None:
        await self._backend.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope["laari.respond"], send, self._backend.metrics, self._guards)
        scope["laari.exchange"] = exchange
        await self._answer(scope, receive, exchange)

    def fault(self, refusal: Refusal, path: str | None) -> Reply:
        """The response to what never became a request, or that nobody answered."""
        reply = fault_reply(refusal, path)
        self._backend.metrics.count(OTHER, reply.status, reply.body, 0)
        request_id = (b"request-id", new_request_id().encode())
        return reply._replace(headers=(*reply.headers, *self._guards, request_id))

    async def _answer(self, scope: Scope, receive: Receive, exchange: Exchange) -> None:
        path: str = scope["path"]
        if path == METRICS_PATH or self._scrapes.is_metrics_listener(scope):
            await self._measure(scope, exchange)
        elif path.startswith("/merchant/"):
            await self._merchant(scope, receive, path.removeprefix("/merchant"))
        elif path == "/wallet" or path.startswith("/wallet/"):
            await self._wallet(scope, receive, path.removeprefix("/wallet"))
        elif path.split("/", 2)[1] in FIRST_SEGMENTS:
            await self._pages(scope, receive, exchange)
        elif path == signup.PATH and self._signup is not None:
            await self._signup(scope, receive)
        elif path == "/healthz":
            exchange.reply(must_read(scope) or Reply(200, b"ok\n", _NO_STORE, PLAIN))
        elif path == "/readyz":
            exchange.reply(must_read(scope) or await self._readiness())
        else:
            reply = await reference_page(
                scope, self._backend.origin, signup=self._signup is not None
            )
            reply = reply or Reply(404, b"Not found\n", _NO_STORE, PLAIN)
            exchange.reply(reply)

    async def _readiness(self) -> Reply:
        ready = await self._backend.is_ready()
        body = b"ok\n" if ready else b"nothing can be committed to the database\n"
        return Reply(200 if ready else 503, body, _NO_STORE, PLAIN)

    async def _measure(self, scope: Scope, exchange: Exchange) -> None:
        reply = self._scrapes.refusal(scope) or must_read(scope)
        if reply is None:
            reply = Reply(200, await self._backend.measure(), _NO_STORE, EXPOSITION)
        exchange.reply(reply)


class Shared(NamedTuple):
    """What the interface processes have in common: open files, and which of them this one is."""

    rate_fd: int | None = None
    metrics_fd: int | None = None
    process: int = 0
    metrics_listener: tuple[str, int] | None = None  # what the metrics' own socket is bound to


def create_app(dsn: str, master_key: bytes, settings: Settings, shared: Shared) -> App:
    names = [operation.name for operation in OPERATIONS]
    names += [endpoint.name for endpoint in ENDPOINTS]
    names += [TOKEN_OPERATION, signup.OPERATION]
    refusals = [(code.status, code.shown_as or name) for name, code in CODES.items()]
    refusals += [(status, code) for status, codes in TOKEN_ERRORS.items() for code in codes]
    metrics = Metrics(names, refusals, shared.metrics_fd, shared.process, PAGE_OPERATIONS)
    backend = Backend(dsn, master_key, settings, RateBuckets(shared.rate_fd), metrics)
    return App(backend, Scrapes(shared.metrics_listener, settings.metrics_token))
