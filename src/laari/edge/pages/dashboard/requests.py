"""Payment requests: the list with its filters, and a request's own page."""

from __future__ import annotations

from laari.edge.merchant import payment_requests as interface
from laari.edge.merchant.payments import LIST_QUERY
from laari.edge.pages.dashboard.desk import Desk, desk_route
from laari.edge.pages.dashboard.listing import older, read_list, state_of
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.records import PaymentRequest
from laari.rules.refusals import Refusal
from laari.rules.shapes.requests import request_shape
from laari.store.reads import events, payment_requests


async def show_list(desk: Desk) -> Reply:
    asked = read_list(desk, LIST_QUERY, interface.LISTING)
    if isinstance(asked, Refusal):
        written = dict(desk.visit.query)
        return desk.page("requests.html", problem=asked, written=written, rows=[], older=None)
    query = asked.query
    found = await desk.backend.page(
        payment_requests.of_tenant(
            desk.tenant.id,
            desk.now,
            asked.window,
            status=query.status,
            terminal_label=query.terminal_label,
            bill_number=query.bill_number,
        )
    )
    return await desk.long_page(
        "requests.html",
        written=asked.written,
        rows=found.rows,
        older=older(desk, asked, interface.LISTING, found),
        state_of=state_of,
    )


async def _find_one(desk: Desk) -> PaymentRequest | None:
    request_id = desk.id(ids.PAYMENT_REQUEST)
    request = None if request_id is None else await desk.backend.payment_requests.get(request_id)
    return request if request is not None and request.tenant_id == desk.tenant.id else None


async def show(desk: Desk, problem: Refusal | None = None) -> Reply:
    request = await _find_one(desk)
    if request is None:
        return desk.missing()
    return desk.page(
        "request.html",
        problem=problem,
        request=request,
        shape=request_shape(request),
        state=state_of(request, desk.now),
        events=await desk.backend.ask(events.of_object, request.id),
    )


async def ask_cancel(desk: Desk) -> Reply:
    request = await _find_one(desk)
    if request is None:
        return desk.missing()
    return desk.page(
        "cancel.html",
        noun="payment request",
        asked=request,
        state=state_of(request, desk.now),
        back=f"/requests/{desk.visit.params['id']}",
    )


async def cancel(desk: Desk) -> Reply:
    outcome = await desk.run(interface.CANCEL)
    if isinstance(outcome, Refusal):
        return await show(desk, outcome)
    return desk.go(f"/requests/{desk.visit.params['id']}", done="cancelled")


ROUTES = [
    desk_route("/requests", get=show_list),
    desk_route("/requests/{id}", get=show),
    desk_route("/requests/{id}/cancel", get=ask_cancel, post=cancel),
]
