"""The checkout page behind `payment_url`: see, log in, pay or decline, and what became of it.

Only stored states are changed, and only by the rules: a payment is paid once however often and from
however many tabs the button is pressed. An overdue payment is shown as expired and left as it is.
"""

from laari.edge.pages.asked import one_asked
from laari.edge.pages.linked import Linked, LinkedPage, leads_back, seconds_until
from laari.edge.pages.login import customer_in, is_fresh
from laari.edge.pages.spending import blocks_in_words, refused_words
from laari.edge.pages.visit import Visit, page_route
from laari.http.messages import Reply
from laari.rules.ids import is_token
from laari.rules.payments import PayPayment, RejectPayment, ReleasePayment, ReservePayment
from laari.rules.records import Payment


class Checkout(LinkedPage[Payment]):
    @property
    def is_open(self) -> bool:
        return self.state in ("pending", "processing")

    @property
    def address(self) -> str:
        return f"/pay/{self.row.token}"

    @property
    def leads_back(self) -> bool:
        payment = self.row
        ended = payment.refunded_at or payment.paid_at or payment.rejected_at
        return leads_back(ended, self.now)

    @property
    def seconds_left(self) -> int | None:
        deadline = self.row.expires_at
        return None if deadline is None else seconds_until(deadline, self.now)


async def _find(visit: Visit) -> Checkout | None:
    token = visit.params["token"]
    payment = await visit.backend.payments_by_token.get(token) if is_token(token) else None
    if payment is None or payment.kind == "charge":  # a charge has no page
        return None
    return await one_asked(visit, payment, Checkout)


async def _page(visit: Visit, checkout: Checkout, status: int = 200, **values: object) -> Reply:
    payer = wallet_status = sandbox = None
    if checkout.is_open:
        payer = await customer_in(visit, checkout.tenant.mode)
        if payer is not None:
            wallet_status = await visit.backend.wallets.get(payer.account)
        if checkout.tenant.mode == "sandbox":
            sandbox = await visit.backend.wallets.get(checkout.tenant.sandbox_account)
    shown: dict[str, object] = {
        "checkout": checkout,
        "payment": checkout.row,
        "merchant": checkout.tenant.merchant_name,
        "payer": payer,
        "wallet_status": wallet_status,
        "sandbox": sandbox,
        "ask_password": payer is not None and not is_fresh(visit, payer),
        "blocks": wallet_status and await blocks_in_words(visit, wallet_status, checkout),
        "failed": None,
        "login_problem": None,
        "identity": "",
    }
    return visit.page("checkout.html", status, **(shown | values))


LINK = Linked(_find, _page, refused_words)
ROUTES = [
    *LINK.routes("/pay/{token}"),
    page_route("/pay/{token}/pay", post=LINK.decided(PayPayment, confirmed=True)),
    page_route("/pay/{token}/decline", post=LINK.decided(RejectPayment)),
    page_route(
        "/pay/{token}/sandbox/{action}",
        post=LINK.in_sandbox(
            pay=PayPayment, decline=RejectPayment, hold=ReservePayment, release=ReleasePayment
        ),
    ),
]
