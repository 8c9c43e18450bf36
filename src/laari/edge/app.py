"""The whole service as one ASGI application."""

from __future__ import annotations

from laari.edge.backend import Backend
from laari.edge.http import Receive, Reply, Scope, Send, send_reply
from laari.edge.merchant.app import MerchantInterface
from laari.edge.pages.app import FIRST_SEGMENTS, Pages
from laari.edge.reference import reference_page
from laari.edge.wallet.app import WalletInterface
from laari.settings import Settings

PLAIN = b"text/plain; charset=utf-8"
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
            await self._answer(scope, receive, send)
        else:  # nothing here speaks WebSocket
            await receive()
            await send({"type": "websocket.close", "code": 1000})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path.startswith("/merchant/"):
            await self._merchant(scope, receive, send, path.removeprefix("/merchant"))
        elif path == "/wallet" or path.startswith("/wallet/"):
            await self._wallet(scope, receive, send, path.removeprefix("/wallet"))
        elif path.split("/", 2)[1] in FIRST_SEGMENTS:
            await self._pages(scope, receive, send)
        elif path == "/healthz":
            await send_reply(send, Reply(200, b"ok\n", _NO_STORE, PLAIN))
        elif path == "/readyz":
            ready = await self._backend.is_ready()
            body = b"ok\n" if ready else b"the database does not answer\n"
            await send_reply(send, Reply(200 if ready else 503, body, _NO_STORE, PLAIN))
        else:
            reply = await reference_page(scope, self._backend.origin)
            reply = reply or Reply(404, b"Not found\n", _NO_STORE, PLAIN)
            await send_reply(send, reply, head=scope["method"] == "HEAD")

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


def create_app(dsn: str, master_key: bytes, settings: Settings, rate_fd: int | None) -> App:
    return App(Backend(dsn, master_key, settings, rate_fd))
