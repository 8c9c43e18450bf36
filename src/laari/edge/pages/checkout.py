"""The checkout page behind `payment_url`: see, log in, pay or decline, and what became of it.

Only stored states are changed, and only by the rules: a payment is paid once however often and from
however many tabs the button is pressed. An overdue payment is shown as expired and left as it is.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, TypeAlias

from markupsafe import Markup

from laari.edge.pages.linked import Linked, leads_back, seconds_until
from laari.edge.pages.login import customer_in, is_fresh
from laari.edge.pages.spending import blocks_in_words, refused_words
from laari.edge.pages.visit import Visit, page_route
from laari.http.messages import Reply
from laari.rules.actors import sandbox_customer
from laari.rules.ids import is_token
from laari.rules.lifecycle import shown_state
from laari.rules.payments import (
    PayPayment,
    RejectPayment,
    ReleasePayment,
    ReservePayment,
)
from laari.rules.records import Payment, Tenant
from laari.rules.refusals import Refusal
from laari.rules.world import local_time
from laari.store.people.sessions import CustomerSession
from laari.store.reads.wallets import Standing

Decision: TypeAlias = PayPayment | RejectPayment | ReservePayment | ReleasePayment


class Checkout(NamedTuple):
    """The payment of the page, and the time on its merchant's clock."""

    payment: Payment
    tenant: Tenant
    now: datetime

    @property
    def state(self) -> str:
        return shown_state(self.payment, self.now, active=self.tenant.active)

    @property
    def is_open(self) -> bool:
        return self.state in ("pending", "processing")

    @property
    def address(self) -> str:
        return f"/pay/{self.payment.token}"

    @property
    def leads_back(self) -> bool:
        payment = self.payment
        ended = payment.refunded_at or payment.paid_at or payment.rejected_at
        return leads_back(ended, self.now)

    @property
    def seconds_left(self) -> int | None:
        deadline = self.payment.expires_at
        return None if deadline is None else seconds_until(deadline, self.now)


async def _find(visit: Visit) -> Checkout | None:
    token = visit.params["token"]
    payment = await visit.backend.payments_by_token.get(token) if is_token(token) else None
    if payment is None or payment.kind == "charge":  # a charge has no page
        return None
    tenant = await visit.backend.tenants.get(payment.tenant_id)
    assert tenant is not None
    return Checkout(payment, tenant, local_time(visit.now, tenant))


async def _page(visit: Visit, checkout: Checkout, status: int = 200, **values: object) -> Reply:
    payer = standing = sandbox = None
    if checkout.is_open:
        payer = await customer_in(visit, checkout.tenant.mode)
        if payer is not None:
            standing = await visit.backend.wallets.get(payer.account)
        if checkout.tenant.mode == "sandbox":
            sandbox = await visit.backend.wallets.get(checkout.tenant.sandbox_account)
    shown: dict[str, object] = {
        "checkout": checkout,
        "payment": checkout.payment,
        "merchant": checkout.tenant.merchant_name,
        "payer": payer,
        "standing": standing,
        "sandbox": sandbox,
        "ask_password": payer is not None and not is_fresh(visit, payer),
        "blocks": standing and await _blocks(visit, standing, checkout),
        "failed": None,
        "login_problem": None,
        "identity": "",
    }
    return visit.page("checkout.html", status, **(shown | values))


async def _blocks(visit: Visit, standing: Standing, checkout: Checkout) -> list[Markup]:
    amount = checkout.payment.amount
    return await blocks_in_words(visit, standing, checkout.tenant, amount, checkout.now)


async def pay(visit: Visit, checkout: Checkout, payer: CustomerSession) -> Reply:
    command = PayPayment(checkout.tenant, checkout.payment.id, payer.payer)
    return await _decide(visit, checkout, command)


async def decline(visit: Visit, checkout: Checkout, payer: CustomerSession) -> Reply:
    command = RejectPayment(checkout.tenant, checkout.payment.id, payer.payer)
    return await _decide(visit, checkout, command)


SANDBOX_ACTIONS: dict[str, type[Decision]] = {
    "pay": PayPayment,
    "decline": RejectPayment,
    "hold": ReservePayment,
    "release": ReleasePayment,
}


async def act_in_sandbox(visit: Visit, checkout: Checkout) -> Reply:
    """As the merchant's own sandbox customer, without a log-in: there is no money behind it."""
    action = SANDBOX_ACTIONS.get(visit.params["action"])
    if checkout.tenant.mode != "sandbox" or action is None:
        return visit.refusal(404, "not_found")
    command = action(checkout.tenant, checkout.payment.id, sandbox_customer(checkout.tenant))
    return await _decide(visit, checkout, command)


async def _decide(visit: Visit, checkout: Checkout, command: Decision) -> Reply:
    outcome = await visit.backend.spine.submit(command)
    if not isinstance(outcome, Refusal):
        return visit.go(checkout.address)
    now = await _find(visit)
    if now is None or not now.is_open or now.state != checkout.state:
        # Paid in another tab, cancelled, expired …: the page says how it stands.
        return visit.go(checkout.address)
    why: list[Markup] = []
    if outcome.code in ("insufficient_balance", "wallet_limit_exceeded"):
        standing = await visit.backend.wallets.get(command.payer.account)
        why = await _blocks(visit, standing, now) if standing else []
    failed = refused_words(visit, why)
    return await _page(visit, now, outcome.status, failed=failed)


LINK = Linked(_find, _page)
ROUTES = [
    *LINK.routes("/pay/{token}"),
    page_route("/pay/{token}/pay", post=LINK.decided(pay, confirmed=True)),
    page_route("/pay/{token}/decline", post=LINK.decided(decline)),
    page_route("/pay/{token}/sandbox/{action}", post=LINK.found(act_in_sandbox)),
]
