"""Payment requests: the list with its filters, and the page of one request."""

from laari.edge.merchant import payment_requests as api
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.dashboard.resource_pages import ask_cancel, cancel, for_one, list_page
from laari.edge.pages.routes import PageRoute
from laari.edge.resources import REQUESTS
from laari.http.messages import Reply
from laari.rules.lifecycle import shown_state
from laari.rules.records.payments import PaymentRequest
from laari.store.reads import events


async def _show(request: DashboardRequest, payment_request: PaymentRequest) -> Reply:
    return request.page(
        "request.html",
        payment_request=payment_request,
        shape=REQUESTS.show(payment_request, request.backend),
        state=shown_state(payment_request, request.tenant_now),
        events=await request.backend.ask(events.of_objects, [payment_request.id]),
    )


show = for_one(REQUESTS, _show)
_list = list_page(REQUESTS, api.LIST.query, "requests.html")
_ask, _cancel = ask_cancel(REQUESTS), cancel(REQUESTS, api.CANCEL)
ROUTES = [
    PageRoute(DashboardRequest, "/requests", get=_list, needs="payments.read"),
    PageRoute(DashboardRequest, "/requests/{id}", get=show, needs="payments.read"),
    PageRoute(
        DashboardRequest,
        "/requests/{id}/cancel",
        get=_ask,
        post=_cancel,
        page=show,
        needs="payments.cancel",
    ),
]
