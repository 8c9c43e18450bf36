"""The pages as one application: their addresses, and what nobody else answers."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from laari.edge.backend import Backend
from laari.edge.http import Exchange, Receive, Scope, must_read
from laari.edge.pages import approval, checkout, wallet
from laari.edge.pages.assets import asset_reply
from laari.edge.pages.dashboard import app as dashboard
from laari.edge.pages.visit import Visit, operations_of

FIRST_SEGMENTS = frozenset({"pay", "approve", "app", "dashboard", "static"})

ROUTES = [*checkout.ROUTES, *approval.ROUTES, *wallet.ROUTES, *dashboard.ROUTES]

# What the figures count pages by: there are no more of them than addresses.
ASSET, NO_PAGE = "asset", "no_page"
PAGE_OPERATIONS = (
    *dict.fromkeys(name for r in ROUTES for name in operations_of(r)),
    ASSET,
    NO_PAGE,
)


class Pages:
    def __init__(self, backend: Backend) -> None:
        self._app = Starlette(
            routes=ROUTES, exception_handlers={404: _not_found, 405: _not_allowed}
        )
        self._app.router.redirect_slashes = False
        self._app.state.backend = backend.for_pages()

    async def __call__(self, scope: Scope, receive: Receive, exchange: Exchange) -> None:
        encodings = next((v for n, v in scope["headers"] if n == b"accept-encoding"), b"")
        reply = asset_reply(scope["path"], encodings.decode("latin-1"))
        if reply is not None:
            exchange.operation = ASSET
            exchange.reply(must_read(scope) or reply)
        else:
            await self._app(scope, receive, exchange)


async def _not_found(request: Request, error: Exception) -> Response:
    return _no_page(request, 404)


async def _not_allowed(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = _no_page(request, 405)
    response.headers.update(error.headers or {})
    return response


def _no_page(request: Request, status: int) -> Response:
    visit = Visit(request.app.state.backend, request, "customer", datetime.now(UTC))
    visit.http.exchange.operation = NO_PAGE
    return visit.finish(visit.refusal(status, "not_found"))
