"""Payments: the list with its filters, the search, and the page of one payment."""

from laari.edge.load.live import OnePayment
from laari.edge.merchant import payments as api
from laari.edge.merchant.lists import ListQuery
from laari.edge.pages.dashboard.days import DAY_FIELDS
from laari.edge.pages.dashboard.refunds import REASONS
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.dashboard.resource_pages import (
    ListRequest,
    ask_cancel,
    cancel,
    find_own,
    for_one,
    list_page,
    listing_of,
    refused_list,
)
from laari.edge.pages.dashboard.timeline import timeline
from laari.edge.pages.person import long
from laari.edge.pages.routes import PageRoute
from laari.edge.resources import PAYMENTS
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.actors import name_for_merchants
from laari.rules.lifecycle import shown_state
from laari.rules.payments.refunds import left_of
from laari.rules.records.payments import Payment
from laari.rules.refusals import invalid
from laari.store.reads import holders, payments, refunds
from laari.store.reads.search import search

MOST_MATCHES = 50
LONGEST_SEARCH = 100

# The list by another day than that of creation is a list of movements.
BY = {"created": "Created", "moved": "Paid or refunded", "paid": "Paid", "refunded": "Refunded"}
_ONLY_CREATED = ("status", "reference", "bill_number")


async def _sums(request: DashboardRequest, asked: ListRequest[ListQuery]) -> dict[str, object]:
    """Of a filtered list; adding up all payments of a merchant would take long."""
    shown: dict[str, object] = {"by": BY, "sums": None, "is_filtered": False}
    if asked.written.keys() - {"after", "done", "limit", "by"}:
        listing = listing_of(request, PAYMENTS, asked)
        async with request.searching():
            shown["sums"] = await request.backend.ask(payments.sums, listing)
        shown["is_filtered"] = True
    return shown


_list = list_page(PAYMENTS, api.LIST_QUERY, "payments.html", _sums)


@long
async def show_list(request: DashboardRequest) -> Reply:
    sought = request.query.get("q", "").strip()[:LONGEST_SEARCH]
    if not sought:
        return await _list_by(request)
    if ids.read_id(ids.PAYMENT, sought) is not None:
        return request.redirect(f"/payments/{sought}")
    async with request.searching():
        matches = await request.backend.ask(
            search, request.tenant.id, sought, MOST_MATCHES, request.till
        )
    return await request.long_page(
        "search.html", sought=sought, matches=matches, most=MOST_MATCHES, state_of=shown_state
    )


async def _list_by(request: DashboardRequest) -> Reply:
    by = request.query.get("by", "").strip() or "created"
    if by not in BY:
        problem = invalid("by", "Payments are listed by the day created, paid or refunded.")
        return refused_list(request, "payments.html", problem)
    if by == "created":
        return await _list(request)
    if any(request.query.get(name, "").strip() for name in _ONLY_CREATED):
        problem = invalid("by", "Status and references filter by the day of creation only.")
        return refused_list(request, "payments.html", problem)
    kept = {
        name: value
        for name in (*DAY_FIELDS, "terminal_label")
        if (value := request.query.get(name, "").strip())
    }
    return request.redirect("/payments/movements", **kept, **({} if by == "moved" else {"by": by}))


async def _show(request: DashboardRequest, payment: Payment) -> Reply:
    refunded = await request.backend.ask(refunds.of_payment, payment.id)
    history = (
        [] if request.only_sells else await timeline(request, request.tenant, payment, refunded)
    )
    return request.page(
        "payment.html",
        payment=payment,
        refunds=refunded,
        left=left_of(payment),
        actor_of=name_for_merchants,
        reasons=REASONS,
        shape=PAYMENTS.show(payment, request.backend),
        state=shown_state(payment, request.tenant_now),
        payer=await request.backend.ask(holders.payer_of, payment),
        entries=history,
    )


async def show_status(request: DashboardRequest) -> Reply:
    """Only the state, for a page that waits."""

    async def read() -> str:
        payment = await find_own(request, PAYMENTS)
        return "not_found" if payment is None else shown_state(payment, request.tenant_now)

    payment_id = ids.read_id(ids.PAYMENT, request.params["id"])
    keys = [] if payment_id is None else [OnePayment(payment_id)]
    return await request.state_reply(read, *keys)


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
