"""The whole service as one ASGI application."""

from __future__ import annotations

from typing import NamedTuple

from laari.edge.backend import Backend
from laari.edge.http import Exchange, Receive, Reply, Scope, Send
from laari.edge.merchant.app import OPERATIONS, MerchantInterface
from laari.edge.merchant.oauth import TOKEN_ERRORS, TOKEN_OPERATION
from laari.edge.metrics import Metrics
from laari.edge.pages.app import FIRST_SEGMENTS, PAGE_OPERATIONS, Pages
from laari.edge.rate import RateBuckets
from laari.edge.reference import reference_page
from laari.edge.wallet.app import ENDPOINTS, WalletInterface
from laari.rules.refusals import CODES
from laari.settings import Settings

PLAIN = b"text/plain; charset=utf-8"
EXPOSITION = b"text/plain; version=0.0.4; charset=utf-8"  # Prometheus's own
_NO_STORE = ((b"cache-control", b"no-store"),)


class App:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._merchant = MerchantInterface(backend)
        self._wallet = WalletInterface(backend)
        self._pages = Pages(backend)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            exchange = Exchange(send, self._backend.metrics)
            scope["laari.exchange"] = exchange
            await self._answer(scope, receive, exchange)
        else:  # nothing here speaks WebSocket
            await receive()
            await send({"type": "websocket.close", "code": 1000})

    async def _answer(self, scope: Scope, receive: Receive, exchange: Exchange) -> None:
        path: str = scope["path"]
        if path.startswith("/merchant/"):
            await self._merchant(scope, receive, path.removeprefix("/merchant"))
        elif path == "/wallet" or path.startswith("/wallet/"):
            await self._wallet(scope, receive, path.removeprefix("/wallet"))
        elif path.split("/", 2)[1] in FIRST_SEGMENTS:
            await self._pages(scope, receive, exchange)
        elif path == "/healthz":
            await exchange.reply(Reply(200, b"ok\n", _NO_STORE, PLAIN))
        elif path == "/metrics":
            text = await self._backend.measure()
            await exchange.reply(Reply(200, text, _NO_STORE, EXPOSITION))
        elif path == "/readyz":
            ready = await self._backend.is_ready()
            body = b"ok\n" if ready else b"the database does not answer\n"
            await exchange.reply(Reply(200 if ready else 503, body, _NO_STORE, PLAIN))
        else:
            reply = await reference_page(scope, self._backend.origin)
            reply = reply or Reply(404, b"Not found\n", _NO_STORE, PLAIN)
            await exchange.reply(reply, head=scope["method"] == "HEAD")

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    await self._backend.open()
                except Exception as error:
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    return
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self._backend.close()
                await send({"type": "lifespan.shutdown.complete"})
                return


class Shared(NamedTuple):
    """What the interface processes have in common: open files, and which of them this one is."""

    rate_fd: int | None = None
    metrics_fd: int | None = None
    process: int = 0


def create_app(dsn: str, master_key: bytes, settings: Settings, shared: Shared) -> App:
    names = [operation.name for operation in OPERATIONS]
    names += [endpoint.name for endpoint in ENDPOINTS] + [TOKEN_OPERATION]
    refusals = [(code.status, code.shown_as or name) for name, code in CODES.items()]
    refusals += [(status, code) for status, codes in TOKEN_ERRORS.items() for code in codes]
    metrics = Metrics(names, refusals, shared.metrics_fd, shared.process, PAGE_OPERATIONS)
    return App(Backend(dsn, master_key, settings, RateBuckets(shared.rate_fd), metrics))
