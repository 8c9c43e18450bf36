"""Payment requests to the customer: those that wait, and what became of the others.

As on the checkout, only the rules change a request: pressed twice or in two tabs it is paid once.
"""

from collections.abc import Sequence

from laari.edge.pages.asked import Asked, all_asked
from laari.edge.pages.login import is_fresh
from laari.edge.pages.spending import blocks_in_words, refused_words
from laari.edge.pages.visit import Visit
from laari.edge.pages.wallet.frame import PAGE, OwnPages, app_page, app_route, older, read_place
from laari.edge.resources import REQUESTS
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.payment_requests import PayRequest, RejectRequest
from laari.rules.records import PaymentRequest
from laari.store.people.sessions import CustomerSession
from laari.store.reads import payment_requests
from laari.store.reads.listing import Window

ON_FIRST_PAGE = 3  # requests that the wallet's first page names

_WAITING, _ENDED = "requests waiting", "requests ended"  # the two listings, one after the other


class ReceivedRequest(Asked[PaymentRequest]):
    @property
    def address(self) -> str:
        return f"/app/requests/{ids.show_id(ids.PAYMENT_REQUEST, self.row.id)}"


async def first_waiting(visit: Visit, customer: CustomerSession) -> list[ReceivedRequest]:
    """The newest requests that can be paid now."""
    found = await visit.backend.page(
        payment_requests.of_account(customer.account, Window(ON_FIRST_PAGE), waiting=True)
    )
    asked = await all_asked(visit, found.rows, ReceivedRequest)
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
        waiting=await all_asked(visit, waiting, ReceivedRequest),
        ended=await all_asked(visit, ended, ReceivedRequest),
        is_first=in_waiting is None and in_ended is None,
        begins_ended=in_ended is None,
        older=link,
    )


async def _page(
    visit: Visit,
    customer: CustomerSession,
    asked: ReceivedRequest,
    status: int = 200,
    **values: object,
) -> Reply:
    wallet_status = await visit.backend.wallets.get(customer.account)
    assert wallet_status is not None
    shown = {
        "asked": asked,
        "request": asked.row,
        "balance": wallet_status.wallet.balance,
        "is_frozen": wallet_status.wallet.frozen_at is not None,
        "blocks": await blocks_in_words(visit, wallet_status, asked),
        "ask_password": not is_fresh(visit, customer),
        "failed": None,
    }
    return app_page(visit, customer, "requests/one", status, **(shown | values))


PAGES = OwnPages(REQUESTS, ReceivedRequest, _page, refused_words)
ROUTES = [
    app_route("/app/requests", get=show_all),
    app_route("/app/requests/{id}", get=PAGES.shown),
    app_route("/app/requests/{id}/status", get=PAGES.status, polled=True),
    app_route("/app/requests/{id}/pay", post=PAGES.decided(PayRequest, "pending", confirmed=True)),
    # A request of a shop that is closed can be declined too.
    app_route("/app/requests/{id}/reject", post=PAGES.decided(RejectRequest, "pending", "closed")),
]
