"""Payments: the list with its filters, the search, and the page of one payment."""

from laari.edge.merchant import payments as api
from laari.edge.pages.dashboard.refunds import REASONS, actor_words
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.dashboard.timeline import timeline
from laari.edge.pages.dashboard.views import ask_cancel, cancel, find_own, for_one, list_page
from laari.edge.pages.routes import PageRoute
from laari.edge.resources import PAYMENTS
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.lifecycle import shown_state
from laari.rules.records import Payment
from laari.rules.refunds import left_of
from laari.store.reads import refunds
from laari.store.reads.search import search

MOST_MATCHES = 50
LONGEST_SEARCH = 100

_list = list_page(PAYMENTS, api.LIST_QUERY, "payments.html")


async def show_list(request: DashboardRequest) -> Reply:
    sought = request.query.get("q", "").strip()[:LONGEST_SEARCH].replace("\0", "")
    if not sought:
        return await _list(request)
    if ids.read_id(ids.PAYMENT, sought) is not None:
        return request.redirect(f"/payments/{sought}")
    async with request.backend.heavy.searches.slot(soon=True):
        matches = await request.backend.ask(
            search, request.tenant.id, sought, MOST_MATCHES, request.till
        )
    return await request.long_page(
        "search.html", sought=sought, matches=matches, most=MOST_MATCHES, state_of=shown_state
    )


async def _show(request: DashboardRequest, payment: Payment) -> Reply:
    refunded = await request.backend.ask(refunds.of_payment, payment.id)
    return request.page(
        "payment.html",
        payment=payment,
        refunds=refunded,
        left=left_of(payment),
        actor_of=actor_words,
        reasons=REASONS,
        shape=PAYMENTS.show(payment, request.backend),
        state=shown_state(payment, request.tenant_now),
        entries=await timeline(request, payment, refunded),
    )


async def show_status(request: DashboardRequest) -> Reply:
    """Only the state, for a page that polls."""
    payment = await find_own(request, PAYMENTS)
    state = "not_found" if payment is None else shown_state(payment, request.tenant_now)
    return request.json({"status": state})


show = for_one(PAYMENTS, _show)
_ask, _cancel = ask_cancel(PAYMENTS), cancel(PAYMENTS, api.CANCEL)
ROUTES = [
    PageRoute(DashboardRequest, "/payments", get=show_list, needs="payments.read"),
    PageRoute(DashboardRequest, "/payments/{id}", get=show, needs="payments.read"),
    PageRoute(
        DashboardRequest,
        "/payments/{id}/status",
        get=show_status,
        polled=True,
        needs="payments.read",
    ),
    PageRoute(
        DashboardRequest,
        "/payments/{id}/cancel",
        get=_ask,
        post=_cancel,
        page=show,
        needs="payments.cancel",
    ),
]
