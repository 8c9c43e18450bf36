"""Payments: the list with its filters, the search, and the page of one payment."""

from laari.edge.merchant import payments as api
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.dashboard.timeline import timeline
from laari.edge.pages.dashboard.views import ask_cancel, cancel, find_own, for_one, list_page
from laari.edge.pages.request import Problem
from laari.edge.pages.routes import PageRoute
from laari.edge.resources import PAYMENTS
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.lifecycle import shown_state
from laari.rules.records import Payment
from laari.rules.refunds import RefundPayment
from laari.rules.refusals import Refusal
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
    return request.page(
        "payment.html",
        payment=payment,
        shape=PAYMENTS.show(payment, request.backend),
        state=shown_state(payment, request.tenant_now),
        entries=await timeline(request, payment),
    )


async def show_status(request: DashboardRequest) -> Reply:
    """Only the state, for a page that polls."""
    payment = await find_own(request, PAYMENTS)
    state = "not_found" if payment is None else shown_state(payment, request.tenant_now)
    return request.json({"status": state})


async def _ask_refund(request: DashboardRequest, payment: Payment) -> Reply:
    return request.page("refund.html", payment=payment)


async def _refund(request: DashboardRequest, payment: Payment) -> Reply | Problem:
    if problem := await request.confirm(always=request.tenant.mode == "live"):
        return problem
    command = RefundPayment(request.tenant, payment.id, request.actor)
    outcome = await request.backend.spine.submit(command)
    if isinstance(outcome, Refusal):
        return outcome
    return request.redirect(request.resource_path, done="refunded")


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
    PageRoute(
        DashboardRequest,
        "/payments/{id}/refund",
        get=for_one(PAYMENTS, _ask_refund),
        post=for_one(PAYMENTS, _refund),
        needs="payments.refund",
    ),
]
