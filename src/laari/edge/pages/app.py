"""All pages and their assets, and the reply to any other address."""

from typing import Any

from laari.edge.backend import Backend
from laari.edge.pages import (
    approval,
    checkout,
    dashboard,
    front,
    operator,
    tills,
    wallet,
)
from laari.edge.pages.assets import asset_reply
from laari.edge.pages.dashboard.account import WITHOUT_MERCHANT
from laari.edge.pages.dashboard.request import MODES, DashboardVisitor
from laari.edge.pages.operator.request import OperatorVisitor
from laari.edge.pages.request import PageRequest
from laari.edge.pages.routes import PageRoute, Routes
from laari.edge.pages.security import HEADERS
from laari.http.messages import Reply, Request, must_read, plain_refusal
from laari.http.router import Router
from laari.rules.refusals import Refusal

FIRST_SEGMENTS = frozenset(
    {"pay", "approve", "till", "link", "counter", "app", "dashboard", "operator", "static"}
)

ROUTES: Routes = [
    *front.ROUTES,
    *checkout.ROUTES,
    *approval.ROUTES,
    *tills.ROUTES,
    *wallet.ROUTES,
    *dashboard.ROUTES,
    *operator.ROUTES,
]
ROUTER: Router[PageRoute[Any]] = Router()
for _route in ROUTES:
    ROUTER.add(_route.path, "GET", _route, head=True)
    if _route.post is not None:
        ROUTER.add(_route.path, "POST", _route)

# The names in metrics: a fixed number of them.
ASSET, NO_PAGE = "asset", "no_page"
PAGE_OPERATIONS = (
    *(name for route in (*ROUTES, WITHOUT_MERCHANT) for name in route.operations),
    ASSET,
    NO_PAGE,
)
_WITHOUT_MERCHANT = [["dashboard", mode] for mode in MODES]

_VISITORS: dict[str, type[PageRequest]] = {
    "dashboard": DashboardVisitor,
    "operator": OperatorVisitor,
}


class Pages:
    headers = HEADERS

    def __init__(self, backend: Backend) -> None:
        self._backend = backend.for_pages()
        self.admission = backend.page_admission

    def refused(self, refusal: Refusal) -> Reply:
        """In plain text: under overload a page would cost too much."""
        return plain_refusal(refusal)

    async def handle(self, request: Request) -> Reply:
        asset = asset_reply(request.path, request.headers.get(b"accept-encoding", ""))
        if asset is not None:
            request.operation = ASSET
            return must_read(request) or asset
        if request.path.split("/")[1:3] in _WITHOUT_MERCHANT:
            return await self._without_merchant(request)
        found = ROUTER.find(request.path)
        if found is None:
            return self._no_page(request, 404)
        route = found.methods.get(request.method)
        if route is None:
            return self._no_page(request, 405).plus((b"allow", found.allowed))
        return await route.serve(self._backend, request, found.parameters)

    async def _without_merchant(self, request: Request) -> Reply:
        if request.method not in ("GET", "HEAD", "POST"):
            return self._no_page(request, 405).plus((b"allow", b"GET, HEAD, POST"))
        return await WITHOUT_MERCHANT.serve(self._backend, request, {})

    def _no_page(self, request: Request, status: int) -> Reply:
        request.operation = NO_PAGE
        kind = _VISITORS.get(request.path.split("/")[1], PageRequest)
        page_request = kind(self._backend, request, {})
        return page_request.finish(page_request.no_such_page(status))
