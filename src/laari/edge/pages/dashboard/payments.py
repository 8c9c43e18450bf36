"""Payments: the list with its filters, the search, and a payment's own page."""

from laari.edge.merchant import payments as interface
from laari.edge.pages.dashboard.desk import Desk, desk_route
from laari.edge.pages.dashboard.timeline import timeline
from laari.edge.pages.dashboard.views import ask_cancel, cancel, for_one, list_page
from laari.edge.resources import PAYMENTS
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.lifecycle import shown_state
from laari.rules.payments import RefundPayment
from laari.rules.records import Payment
from laari.rules.refusals import Refusal
from laari.store.reads.search import search

MOST_MATCHES = 50
LONGEST_SEARCH = 100


_list = list_page(PAYMENTS, interface.LIST_QUERY, "payments.html")


async def show_list(desk: Desk) -> Reply:
    sought = desk.visit.query.get("q", "").strip()[:LONGEST_SEARCH].replace("\0", "")
    return await _show_matches(desk, sought) if sought else await _list(desk)


async def _show_matches(desk: Desk, sought: str) -> Reply:
    payment_id = ids.read_id(ids.PAYMENT, sought)
    if payment_id is not None:
        return desk.go(f"/payments/{sought}")
    async with desk.backend.heavy.searches.slot(soon=True):
        matches = await desk.backend.ask(search, desk.tenant.id, sought, MOST_MATCHES)
    return await desk.long_page(
        "search.html", sought=sought, matches=matches, most=MOST_MATCHES, state_of=shown_state
    )


async def _show(desk: Desk, payment: Payment, problem: Refusal | None) -> Reply:
    return desk.page(
        "payment.html",
        problem=problem,
        payment=payment,
        shape=PAYMENTS.show(payment, desk.backend),
        state=shown_state(payment, desk.now),
        entries=await timeline(desk, payment),
    )


async def status(desk: Desk) -> Reply:
    """The state alone, for the page to watch."""
    payment = await PAYMENTS.of_tenant(desk.backend, desk.tenant, desk.visit.params["id"])
    state = "not_found" if payment is None else shown_state(payment, desk.now)
    return desk.visit.json({"status": state})


async def ask_refund(desk: Desk, payment: Payment, problem: Refusal | None) -> Reply:
    return desk.page("refund.html", problem=problem, payment=payment)


async def refund(desk: Desk, payment: Payment, problem: Refusal | None) -> Reply:
    problem = await desk.confirm(always=desk.tenant.mode == "live")
    if problem is not None:
        return await ask_refund(desk, payment, problem)
    outcome = await desk.submit(RefundPayment(desk.tenant, payment.id, desk.tenant))
    if isinstance(outcome, Refusal):
        return await ask_refund(desk, payment, outcome)
    return desk.go(desk.resource_path, done="refunded")


show = for_one(PAYMENTS, _show)
ROUTES = [
    desk_route("/payments", get=show_list),
    desk_route("/payments/{id}", get=show),
    desk_route("/payments/{id}/status", get=status, polled=True),
    desk_route(
        "/payments/{id}/cancel", get=ask_cancel(PAYMENTS), post=cancel(interface.CANCEL, show)
    ),
    desk_route(
        "/payments/{id}/refund", get=for_one(PAYMENTS, ask_refund), post=for_one(PAYMENTS, refund)
    ),
]
