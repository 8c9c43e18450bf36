"""Payment requests to the customer: those that wait, and what became of the others.

As on the checkout, only the rules change a request: pressed twice or in two tabs it is paid once.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from markupsafe import Markup

from laari.edge.pages.login import is_fresh, unconfirmed
from laari.edge.pages.spending import blocks_in_words, refused_words
from laari.edge.pages.visit import Visit
from laari.edge.pages.wallet.frame import (
    PAGE,
    app_page,
    app_route,
    for_one,
    older,
    own_row,
    read_place,
    tenants_of,
)
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.lifecycle import shown_state
from laari.rules.payment_requests import PayRequest, RejectRequest
from laari.rules.records import PaymentRequest, Tenant
from laari.rules.refusals import Refusal
from laari.rules.world import local_time
from laari.store.people.sessions import CustomerSession
from laari.store.reads import payment_requests
from laari.store.reads.listing import Window
from laari.store.reads.wallets import Standing

ON_FIRST_PAGE = 3  # requests that the wallet's first page names

_WAITING, _ENDED = "requests waiting", "requests ended"  # the two listings, one after the other


class ReceivedRequest(NamedTuple):
    """A request, who asks, and the time on that merchant's clock."""

    request: PaymentRequest
    tenant: Tenant
    now: datetime

    @property
    def state(self) -> str:
        return shown_state(self.request, self.now, active=self.tenant.active)

    @property
    def address(self) -> str:
        return f"/app/requests/{ids.show_id(ids.PAYMENT_REQUEST, self.request.id)}"


async def _received(visit: Visit, requests: Sequence[PaymentRequest]) -> list[ReceivedRequest]:
    tenants = await tenants_of(visit, requests)
    return [
        ReceivedRequest(request, tenant, local_time(visit.now, tenant))
        for request in requests
        for tenant in (tenants[request.tenant_id],)
    ]


async def first_waiting(visit: Visit, customer: CustomerSession) -> list[ReceivedRequest]:
    """The newest requests that can be paid now."""
    found = await visit.backend.page(
        payment_requests.of_account(customer.account, Window(ON_FIRST_PAGE), waiting=True)
    )
    asked = await _received(visit, found.rows)
    return [each for each in asked if each.state in ("pending", "processing")]


async def show_all(visit: Visit, customer: CustomerSession) -> Reply:
    """One list of two parts: what waits comes before what has ended, each newest first."""
    account = customer.account
    waiting: Sequence[PaymentRequest] = ()
    ended: Sequence[PaymentRequest] = ()
    link = None
    in_ended = read_place(visit, _ENDED, customer)
    in_waiting = read_place(visit, _WAITING, customer)
    if in_ended is None:
        window = Window(PAGE, in_waiting)
        found = await visit.backend.page(payment_requests.of_account(account, window, waiting=True))
        waiting, link = found.rows, older(visit, _WAITING, customer, found.next)
    if link is None:
        window = Window(PAGE, in_ended)
        found = await visit.backend.page(
            payment_requests.of_account(account, window, waiting=False)
        )
        ended, link = found.rows, older(visit, _ENDED, customer, found.next)
    return app_page(
        visit,
        customer,
        "requests",
        waiting=await _received(visit, waiting),
        ended=await _received(visit, ended),
        is_first=in_waiting is None and in_ended is None,
        begins_ended=in_ended is None,
        older=link,
    )


async def _find(visit: Visit, customer: CustomerSession) -> ReceivedRequest | None:
    rows = visit.backend.payment_requests
    request = await own_row(visit, customer, ids.PAYMENT_REQUEST, rows)
    return None if request is None else (await _received(visit, [request]))[0]


async def _page(
    visit: Visit,
    customer: CustomerSession,
    asked: ReceivedRequest,
    status: int = 200,
    **values: object,
) -> Reply:
    standing = await visit.backend.wallets.get(customer.account)
    assert standing is not None
    shown = {
        "asked": asked,
        "request": asked.request,
        "balance": standing.wallet.balance,
        "is_frozen": standing.wallet.frozen_at is not None,
        "blocks": await _blocks(visit, standing, asked),
        "ask_password": not is_fresh(visit, customer),
        "failed": None,
    }
    return app_page(visit, customer, "requests/one", status, **(shown | values))


async def _blocks(visit: Visit, standing: Standing, asked: ReceivedRequest) -> list[Markup]:
    return await blocks_in_words(visit, standing, asked.tenant, asked.request.amount, asked.now)


async def status(visit: Visit, customer: CustomerSession) -> Reply:
    """The state alone, for the page to watch."""
    asked = await _find(visit, customer)
    return visit.json({"status": "not_found" if asked is None else asked.state})


async def pay(visit: Visit, customer: CustomerSession, asked: ReceivedRequest) -> Reply:
    if asked.state != "pending":  # in another tab, or by the merchant: the page says what it is
        return visit.go(asked.address)
    problem = await unconfirmed(visit, customer)
    if problem is not None:
        return await _page(visit, customer, asked, problem.status, failed=problem.words)
    command = PayRequest(asked.tenant, asked.request.id, customer.payer)
    return await _decide(visit, customer, asked, command)


async def reject(visit: Visit, customer: CustomerSession, asked: ReceivedRequest) -> Reply:
    if asked.state not in ("pending", "closed"):  # of a shop that is closed it can be declined
        return visit.go(asked.address)
    command = RejectRequest(asked.tenant, asked.request.id, customer.payer)
    return await _decide(visit, customer, asked, command)


async def _decide(
    visit: Visit,
    customer: CustomerSession,
    asked: ReceivedRequest,
    command: PayRequest | RejectRequest,
) -> Reply:
    outcome = await visit.backend.spine.submit(command)
    if not isinstance(outcome, Refusal):
        return visit.go(asked.address)
    now = await _find(visit, customer)
    if now is None or now.state != asked.state:  # paid in another tab, cancelled, expired …
        return visit.go(asked.address)
    why: list[Markup] = []
    if outcome.code in ("insufficient_balance", "wallet_limit_exceeded"):
        standing = await visit.backend.wallets.get(customer.account)
        why = await _blocks(visit, standing, now) if standing else []
    failed = refused_words(visit, why)
    return await _page(visit, customer, now, outcome.status, failed=failed)


ROUTES = [
    app_route("/app/requests", get=show_all),
    app_route("/app/requests/{id}", get=for_one(_find, _page)),
    app_route("/app/requests/{id}/status", get=status, polled=True),
    app_route("/app/requests/{id}/pay", post=for_one(_find, pay)),
    app_route("/app/requests/{id}/reject", post=for_one(_find, reject)),
]
