"""Payments: the list with its filters, the search, and a payment's own page."""

from __future__ import annotations

from urllib.parse import urlencode

from laari.edge.merchant import payments as interface
from laari.edge.merchant.lists import ListQuery
from laari.edge.pages.dashboard.desk import Desk, desk_route
from laari.edge.pages.dashboard.listing import ListRequest, older, read_list, state_of
from laari.edge.pages.dashboard.timeline import timeline
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.payments import RefundPayment
from laari.rules.records import Payment
from laari.rules.refusals import Refusal
from laari.store.reads import payments
from laari.store.reads.listing import Listing
from laari.store.reads.search import search

MOST_MATCHES = 50
LONGEST_SEARCH = 100


async def show_list(desk: Desk) -> Reply:
    sought = desk.visit.query.get("q", "").strip()[:LONGEST_SEARCH].replace("\0", "")
    if sought:
        return await _show_matches(desk, sought)
    asked = read_list(desk, interface.LIST_QUERY, interface.LISTING)
    if isinstance(asked, Refusal):
        written = dict(desk.visit.query)
        return desk.page("payments.html", problem=asked, written=written, rows=[], older=None)
    found = await desk.backend.page(listing_of(desk, asked))
    filters = {name: value for name, value in asked.written.items() if name != "after"}
    return await desk.long_page(
        "payments.html",
        written=asked.written,
        rows=found.rows,
        older=older(desk, asked, interface.LISTING, found),
        export=urlencode(filters),
        state_of=state_of,
    )


def listing_of(desk: Desk, asked: ListRequest[ListQuery]) -> Listing[Payment]:
    query = asked.query
    return payments.of_tenant(
        desk.tenant.id,
        desk.now,
        asked.window,
        status=query.status,
        terminal_label=query.terminal_label,
        bill_number=query.bill_number,
    )


async def _show_matches(desk: Desk, sought: str) -> Reply:
    payment_id = ids.read_id(ids.PAYMENT, sought)
    if payment_id is not None:
        return desk.go(f"/payments/{sought}")
    async with desk.backend.heavy.searches.slot(soon=True):
        matches = await desk.backend.ask(search, desk.tenant.id, sought, MOST_MATCHES)
    return await desk.long_page(
        "search.html", sought=sought, matches=matches, most=MOST_MATCHES, state_of=state_of
    )


async def _find_one(desk: Desk) -> Payment | None:
    payment_id = desk.id(ids.PAYMENT)
    payment = None if payment_id is None else await desk.backend.payments.get(payment_id)
    return payment if payment is not None and payment.tenant_id == desk.tenant.id else None


async def show(desk: Desk, problem: Refusal | None = None) -> Reply:
    payment = await _find_one(desk)
    if payment is None:
        return desk.missing()
    return desk.page(
        "payment.html",
        problem=problem,
        payment=payment,
        shape=interface.shown(payment, desk.backend),
        state=state_of(payment, desk.now),
        entries=await timeline(desk, payment),
    )


async def status(desk: Desk) -> Reply:
    """The state alone, for the page to watch."""
    payment = await _find_one(desk)
    state = "not_found" if payment is None else state_of(payment, desk.now)
    return desk.visit.json({"status": state})


async def ask_cancel(desk: Desk) -> Reply:
    payment = await _find_one(desk)
    if payment is None:
        return desk.missing()
    return desk.page(
        "cancel.html",
        noun="payment",
        asked=payment,
        state=state_of(payment, desk.now),
        back=f"/payments/{desk.visit.params['id']}",
    )


async def cancel(desk: Desk) -> Reply:
    outcome = await desk.run(interface.CANCEL)
    if isinstance(outcome, Refusal):
        return await show(desk, outcome)
    return desk.go(f"/payments/{desk.visit.params['id']}", done="cancelled")


async def ask_refund(desk: Desk, problem: Refusal | None = None) -> Reply:
    payment = await _find_one(desk)
    if payment is None:
        return desk.missing()
    return desk.page("refund.html", problem=problem, payment=payment)


async def refund(desk: Desk) -> Reply:
    payment = await _find_one(desk)
    if payment is None:
        return desk.missing()
    problem = await desk.confirm(always=desk.tenant.mode == "live")
    if problem is not None:
        return await ask_refund(desk, problem)
    outcome = await desk.submit(RefundPayment(desk.tenant, payment.id, desk.tenant))
    if isinstance(outcome, Refusal):
        return await ask_refund(desk, outcome)
    return desk.go(f"/payments/{desk.visit.params['id']}", done="refunded")


ROUTES = [
    desk_route("/payments", get=show_list),
    desk_route("/payments/{id}", get=show),
    desk_route("/payments/{id}/status", get=status, polled=True),
    desk_route("/payments/{id}/cancel", get=ask_cancel, post=cancel),
    desk_route("/payments/{id}/refund", get=ask_refund, post=refund),
]
