"""Payment requests: the list with its filters, and a request's own page."""

from laari.edge.merchant import payment_requests as interface
from laari.edge.pages.dashboard.desk import Desk, desk_route
from laari.edge.pages.dashboard.views import ask_cancel, cancel, for_one, list_page
from laari.edge.resources import REQUESTS
from laari.http.messages import Reply
from laari.rules.lifecycle import shown_state
from laari.rules.records import PaymentRequest
from laari.rules.refusals import Refusal
from laari.store.reads import events


async def _show(desk: Desk, request: PaymentRequest, problem: Refusal | None) -> Reply:
    return desk.page(
        "request.html",
        problem=problem,
        request=request,
        shape=REQUESTS.show(request, desk.backend),
        state=shown_state(request, desk.now),
        events=await desk.backend.ask(events.of_object, request.id),
    )


show = for_one(REQUESTS, _show)
ROUTES = [
    desk_route("/requests", get=list_page(REQUESTS, interface.LIST.query, "requests.html")),
    desk_route("/requests/{id}", get=show),
    desk_route(
        "/requests/{id}/cancel", get=ask_cancel(REQUESTS), post=cancel(interface.CANCEL, show)
    ),
]
