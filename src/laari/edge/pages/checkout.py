"""The checkout page behind `payment_url`: log in, pay or decline, and see the result.

An overdue payment is shown as expired and left as it is.
"""

from laari.edge.pages.decisions import LinkedRequest, decided, in_sandbox, linked_routes
from laari.edge.pages.login import is_fresh
from laari.edge.pages.routes import PageRoute
from laari.edge.pages.spending import blocks_in_words, refused_words
from laari.http.messages import Reply
from laari.rules.ids import is_token
from laari.rules.payments.payments import PayPayment, RejectPayment, ReleasePayment, ReservePayment
from laari.rules.records import Payment, Refund
from laari.rules.refusals import Refusal
from laari.rules.wallets import seen_by_customer
from laari.store.reads import refunds


class CheckoutRequest(LinkedRequest[Payment]):
    prefix = "/pay/{token}"
    open_states = ("pending", "processing")

    async def find_row(self) -> Payment | None:
        token = self.params["token"]
        payment = await self.backend.payments_by_token.get(token) if is_token(token) else None
        return payment if payment is not None and payment.kind != "charge" else None

    async def refused_words(self, refusal: Refusal, account: int) -> str:
        return await refused_words(self, self.asked, refusal, account)


async def show(request: CheckoutRequest) -> Reply:
    asked, payment = request.asked, request.asked.row
    wallets = request.backend.wallets
    payer = await request.decider() if request.is_open else None
    wallet_status = payer and await wallets.get(payer.account)
    has_controls = request.is_open and asked.tenant.mode == "sandbox"
    sandbox = await wallets.get(asked.tenant.sandbox_account) if has_controls else None
    return request.page(
        "checkout.html",
        asked=asked,
        payment=payment,
        refunds=await _refunds(request, payment),
        leads_back=asked.leads_back(payment.refunded_at or payment.paid_at or payment.rejected_at),
        seconds_left=payment.expires_at and asked.seconds_until(payment.expires_at),
        payer=payer,
        wallet_status=wallet_status,
        is_frozen=wallet_status and seen_by_customer(wallet_status.wallet).frozen_at,
        sandbox=sandbox,
        ask_password=payer is not None and not is_fresh(request, payer),
        blocks=wallet_status and await blocks_in_words(request, wallet_status, asked),
    )


async def _refunds(request: CheckoutRequest, payment: Payment) -> list[Refund]:
    """The parts that came back; most payments have none and need no look-up."""
    if payment.refunded_amount is None:
        return []
    return await request.backend.ask(refunds.of_payment, payment.id)


_CUSTOMER_CONTROLS = in_sandbox(
    pay=PayPayment, decline=RejectPayment, hold=ReservePayment, release=ReleasePayment
)
ROUTES = [
    *linked_routes(CheckoutRequest, show),
    PageRoute(CheckoutRequest, "/pay", post=decided(PayPayment, confirmed=True), page=show),
    PageRoute(CheckoutRequest, "/decline", post=decided(RejectPayment), page=show),
    PageRoute(CheckoutRequest, "/sandbox/{action}", post=_CUSTOMER_CONTROLS, page=show),
]
