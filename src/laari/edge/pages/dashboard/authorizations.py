"""Authorizations: the list, and the page of one authorization with its limits and payments."""

from laari.edge.merchant import authorizations as api
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.dashboard.views import cancel, for_one, list_page
from laari.edge.pages.routes import PageRoute
from laari.edge.resources import AUTHORIZATIONS
from laari.http.messages import Reply
from laari.rules.lifecycle import shown_state
from laari.rules.payments.authorizations import as_of
from laari.rules.payments.limits import counted, current_period, remaining
from laari.rules.records import Authorization
from laari.store.reads import authorizations, events
from laari.store.reads.listing import Window

NEWEST = 20


async def _show(request: DashboardRequest, stored: Authorization) -> Reply:
    backend, tenant = request.backend, request.tenant
    authorization = as_of(stored, request.tenant_now)
    moment = await backend.moment(tenant.mode, tenant, request.tenant_now, counted(authorization))
    paid = await backend.page(authorizations.payments_of(authorization.id, Window(limit=NEWEST)))
    return request.page(
        "authorization.html",
        authorization=authorization,
        shape=AUTHORIZATIONS.show(authorization, backend),
        left=remaining(authorization, current_period(authorization, moment)),
        rows=paid.rows,
        more=paid.next is not None,
        state_of=shown_state,
        events=await backend.ask(events.of_objects, [authorization.id]),
    )


show = for_one(AUTHORIZATIONS, _show)
_list = list_page(AUTHORIZATIONS, api.LIST.query, "authorizations.html")
_cancel = cancel(AUTHORIZATIONS, api.CANCEL)
ROUTES = [
    PageRoute(DashboardRequest, "/authorizations", get=_list, needs="authorizations.read"),
    PageRoute(DashboardRequest, "/authorizations/{id}", get=show, needs="authorizations.read"),
    PageRoute(
        DashboardRequest,
        "/authorizations/{id}/cancel",
        post=_cancel,
        page=show,
        needs="authorizations.cancel",
    ),
]
