"""Payment requests to the customer: those that wait, and those that have ended."""

from laari.edge.pages.decisions import Asked, all_asked, decided, show_status
from laari.edge.pages.routes import PageRoute, Routes
from laari.edge.pages.spending import blocks_in_words, refused_words
from laari.edge.pages.wallet.request import PAGE, OwnRequest, WalletRequest
from laari.edge.resources import REQUESTS
from laari.http.messages import Reply
from laari.rules.payments.payment_requests import PayRequest, RejectRequest
from laari.rules.records.payments import PaymentRequest
from laari.rules.refusals import Refusal
from laari.rules.wallets import seen_by_customer
from laari.store.reads import payment_requests
from laari.store.reads.listing import Found, Position, Window

OPEN_STATES = ("pending", "processing")
ON_FIRST_PAGE = 3  # requests on the wallet's first page

_WAITING, _ENDED = "requests waiting", "requests ended"  # the two listings


async def first_waiting(request: WalletRequest) -> list[Asked[PaymentRequest]]:
    """The newest requests that can be paid now."""
    found = await _part(request, None, ON_FIRST_PAGE, waiting=True)
    asked = await all_asked(request, found.rows)
    return [each for each in asked if each.state in OPEN_STATES]


async def _part(
    request: WalletRequest, after: Position | None, limit: int = PAGE, *, waiting: bool
) -> Found[PaymentRequest]:
    window = Window(limit, after)
    return await request.backend.page(
        payment_requests.of_account(request.customer.account, window, waiting=waiting)
    )


async def show_all(request: WalletRequest) -> Reply:
    """One list in two parts: first the requests that wait, then those that have ended."""
    in_ended, in_waiting = request.read_place(_ENDED), request.read_place(_WAITING)
    waiting: Found[PaymentRequest] = Found([], None)
    ended: Found[PaymentRequest] = Found([], None)
    if in_ended is None:
        waiting = await _part(request, in_waiting, waiting=True)
    if waiting.next is None:
        ended = await _part(request, in_ended, waiting=False)
    older = request.older(_WAITING, waiting.next) or request.older(_ENDED, ended.next)
    return request.page(
        "requests.html",
        waiting=await all_asked(request, waiting.rows),
        ended=await all_asked(request, ended.rows),
        is_first=in_waiting is None and in_ended is None,
        begins_ended=in_ended is None,
        older=older,
    )


class OwnPaymentRequest(OwnRequest[PaymentRequest]):
    prefix = "/app/requests/{id}"
    open_states = OPEN_STATES
    resource = REQUESTS

    async def refused_words(self, refusal: Refusal, account: int) -> str:
        return await refused_words(self, self.asked, refusal, account)


async def show(request: OwnPaymentRequest) -> Reply:
    wallet_status = await request.backend.wallets.get(request.customer.account)
    assert wallet_status is not None
    return request.page(
        "requests/one.html",
        asked=request.asked,
        payment_request=request.asked.row,
        balance=wallet_status.wallet.balance,
        is_frozen=seen_by_customer(wallet_status.wallet).frozen_at is not None,
        blocks=await blocks_in_words(request, wallet_status, request.asked),
    )


_PAY = decided(PayRequest, "pending", confirmed=True)
_REJECT = decided(RejectRequest, "pending", "closed")  # also the request of a closed shop
ROUTES: Routes = [
    PageRoute(WalletRequest, "/requests", get=show_all),
    PageRoute(OwnPaymentRequest, "", get=show),
    PageRoute(OwnPaymentRequest, "/status", get=show_status, polled=True),
    PageRoute(OwnPaymentRequest, "/pay", post=_PAY, page=show),
    PageRoute(OwnPaymentRequest, "/reject", post=_REJECT, page=show),
]
