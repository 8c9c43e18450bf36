"""The pages: their addresses, their assets, and what is no page."""

from laari.edge.backend import Backend
from laari.edge.faults import fault_reply
from laari.edge.pages import approval, checkout, wallet
from laari.edge.pages.assets import asset_reply
from laari.edge.pages.dashboard import app as dashboard
from laari.edge.pages.dashboard.desk import no_such_page
from laari.edge.pages.security import HEADERS
from laari.edge.pages.visit import PageRoute, Visit
from laari.http.messages import Reply, Request, must_read
from laari.http.router import Router
from laari.rules.refusals import Refusal

FIRST_SEGMENTS = frozenset({"pay", "approve", "app", "dashboard", "static"})

ROUTES = [*checkout.ROUTES, *approval.ROUTES, *wallet.ROUTES, *dashboard.ROUTES]
ROUTER: Router[PageRoute] = Router()
for _route in ROUTES:
    ROUTER.add(_route.path, "GET", _route, head=True)
    if _route.post is not None:
        ROUTER.add(_route.path, "POST", _route)

# What metrics count pages by: there are no more of them than addresses.
ASSET, NO_PAGE = "asset", "no_page"
PAGE_OPERATIONS = (*(name for route in ROUTES for name in route.operations), ASSET, NO_PAGE)


class Pages:
    headers = HEADERS

    def __init__(self, backend: Backend) -> None:
        self._backend = backend.for_pages()
        self.admission = backend.page_admission

    def refused(self, refusal: Refusal) -> Reply:
        """In plain text: where there is too much to do, a page would cost more than it says."""
        return fault_reply(refusal, "/")

    async def handle(self, request: Request) -> Reply:
        asset = asset_reply(request.path, request.headers.get(b"accept-encoding", ""))
        if asset is not None:
            request.operation = ASSET
            return must_read(request) or asset
        found = ROUTER.find(request.path)
        if found is None:
            return self._no_page(request, 404)
        route = found.methods.get(request.method)
        if route is None:
            return self._no_page(request, 405).plus((b"allow", found.allowed))
        return await route.serve(self._backend, request, found.parameters)

    def _no_page(self, request: Request, status: int) -> Reply:
        request.operation = NO_PAGE
        visit = Visit(self._backend, request, {}, "customer")
        if request.path.split("/")[1] == "dashboard":
            return visit.finish(no_such_page(visit, status))
        return visit.finish(visit.refusal(status, "not_found"))
