"""The checkout page behind `payment_url`: see, log in, pay or decline, and what became of it.

Only stored states are changed, and only by the rules: a payment is paid once however often and from
however many tabs the button is pressed. An overdue payment is shown as expired and left as it is.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from markupsafe import Markup
from starlette.responses import Response

from laari.edge.pages.login import (
    STATUSES,
    confirm_failed,
    confirm_password,
    customer_in,
    is_fresh,
    log_in_customer,
)
from laari.edge.pages.render import money
from laari.edge.pages.visit import Visit, page_route
from laari.rules.ids import is_token
from laari.rules.payments import (
    PayPayment,
    RejectPayment,
    ReleasePayment,
    ReservePayment,
    is_overdue,
)
from laari.rules.records import Payment, Tenant
from laari.rules.refusals import Refusal
from laari.rules.wallets import spent_now
from laari.rules.world import local_time
from laari.store.wallets import Standing

# A payment that ended longer ago is looked at as a receipt: nobody is sent away from it.
LEAD_BACK_WITHIN = timedelta(minutes=2)

Decision: TypeAlias = PayPayment | RejectPayment | ReservePayment | ReleasePayment


class Checkout(NamedTuple):
    """The payment of the page, and the time on its merchant's clock."""

    payment: Payment
    tenant: Tenant
    now: datetime

    @property
    def state(self) -> str:
        if is_overdue(self.payment, self.now):
            return "expired"
        if self.payment.status == "pending" and not self.tenant.active:
            return "closed"
        if self.payment.reserved_at is not None:
            return "processing"
        return self.payment.status

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
        return ended is not None and self.now - ended < LEAD_BACK_WITHIN

    @property
    def seconds_left(self) -> int | None:
        deadline = self.payment.expires_at
        return None if deadline is None else max(0, int((deadline - self.now).total_seconds()))


async def _find(visit: Visit) -> Checkout | None:
    token = visit.params["token"]
    payment = await visit.backend.payments_by_token.get(token) if is_token(token) else None
    if payment is None or payment.kind == "charge":  # a charge has no page
        return None
    tenant = await visit.backend.tenants.get(payment.tenant_id)
    assert tenant is not None
    return Checkout(payment, tenant, local_time(visit.now, tenant))


async def _page(visit: Visit, checkout: Checkout, status: int = 200, **values: Any) -> Response:
    payer = standing = sandbox = None
    if checkout.is_open:
        payer = await customer_in(visit, checkout.tenant.mode)
        if payer is not None:
            standing = await visit.backend.wallets.get(payer.account)
        if checkout.tenant.mode == "sandbox":
            sandbox = await visit.backend.wallets.get(checkout.tenant.sandbox_account)
    shown: dict[str, Any] = {
        "checkout": checkout,
        "payment": checkout.payment,
        "merchant": checkout.tenant.merchant_name,
        "payer": payer,
        "standing": standing,
        "sandbox": sandbox,
        "ask_password": payer is not None and not is_fresh(visit, payer),
        "obstacle": standing and obstacle(visit, standing, checkout.payment.amount, checkout.now),
        "failed": None,
        "login_problem": None,
        "identity": "",
    }
    return visit.page("checkout.html", status, **(shown | values))


def obstacle(visit: Visit, standing: Standing, amount: int, now: datetime) -> Markup | None:
    """What keeps this wallet from paying, in the order of the rules, and what to do about it."""
    text, wallet, tier = visit.language.text, standing.wallet, standing.tier
    if wallet.balance < amount:
        return text("checkout.short_balance", missing=money(amount - wallet.balance))
    day, week, month = spent_now(wallet, now)
    for name, limit, spent in (
        ("per_transaction", tier.per_transaction, 0),
        ("daily", tier.daily, day),
        ("weekly", tier.weekly, week),
        ("monthly", tier.monthly, month),
    ):
        if limit is not None and spent + amount > limit:
            left = money(max(0, limit - spent))
            return text(f"checkout.limit_{name}", limit=money(limit), left=left)
    return None


async def show(visit: Visit) -> Response:
    checkout = await _find(visit)
    if checkout is None:
        return visit.refusal(404, "not_found")
    return await _page(visit, checkout)


async def status(visit: Visit) -> Response:
    """The state alone, for the page to watch."""
    checkout = await _find(visit)
    return visit.json({"status": "not_found" if checkout is None else checkout.state})


async def log_in(visit: Visit) -> Response:
    checkout = await _find(visit)
    if checkout is None:
        return visit.refusal(404, "not_found")
    problem = await log_in_customer(visit, checkout.tenant.mode)
    if problem is None:
        return visit.go(checkout.address)
    return await _page(
        visit,
        checkout,
        STATUSES[problem],
        login_problem=problem,
        identity=visit.form.get("identity", ""),
    )


async def log_out(visit: Visit) -> Response:
    await visit.end_session()
    return visit.go(visit.home)


async def pay(visit: Visit) -> Response:
    checkout = await _find(visit)
    if checkout is None:
        return visit.refusal(404, "not_found")
    payer = await customer_in(visit, checkout.tenant.mode)
    if payer is None:  # logged out in the meantime: the page asks to log in
        return visit.go(checkout.address)
    if not is_fresh(visit, payer):
        problem = await confirm_password(visit, payer)
        if problem is not None:
            failed = confirm_failed(visit, problem)
            return await _page(visit, checkout, STATUSES[problem], failed=failed)
    command = PayPayment(checkout.tenant, checkout.payment.id, payer.account)
    return await _decide(visit, checkout, command)


async def decline(visit: Visit) -> Response:
    checkout = await _find(visit)
    if checkout is None:
        return visit.refusal(404, "not_found")
    payer = await customer_in(visit, checkout.tenant.mode)
    if payer is None:
        return visit.go(checkout.address)
    command = RejectPayment(checkout.tenant, checkout.payment.id, payer.account)
    return await _decide(visit, checkout, command)


SANDBOX_ACTIONS: dict[str, type[Decision]] = {
    "pay": PayPayment,
    "decline": RejectPayment,
    "hold": ReservePayment,
    "release": ReleasePayment,
}


async def act_in_sandbox(visit: Visit) -> Response:
    """As the merchant's own sandbox customer, without a log-in: there is no money behind it."""
    checkout = await _find(visit)
    action = SANDBOX_ACTIONS.get(visit.params["action"])
    if checkout is None or checkout.tenant.mode != "sandbox" or action is None:
        return visit.refusal(404, "not_found")
    command = action(checkout.tenant, checkout.payment.id, checkout.tenant.sandbox_account)
    return await _decide(visit, checkout, command)


async def _decide(visit: Visit, checkout: Checkout, command: Decision) -> Response:
    outcome = await visit.backend.spine.submit(command)
    if not isinstance(outcome, Refusal):
        return visit.go(checkout.address)
    now = await _find(visit)
    if now is None or not now.is_open or now.state != checkout.state:
        # Paid in another tab, cancelled, expired …: the page says how it stands.
        return visit.go(checkout.address)
    why = None
    if outcome.code in ("insufficient_balance", "wallet_limit_exceeded"):
        standing = await visit.backend.wallets.get(command.account)
        why = standing and obstacle(visit, standing, now.payment.amount, now.now)
    failed = Markup(" ").join(
        (why, visit.language.text("checkout.untouched"))
        if why
        else (visit.language.text("checkout.busy"),)
    )
    return await _page(visit, now, outcome.status, failed=failed)


ROUTES = [
    page_route("/pay/{token}", get=show),
    page_route("/pay/{token}/status", get=status),
    page_route("/pay/{token}/login", post=log_in),
    page_route("/pay/{token}/logout", post=log_out),
    page_route("/pay/{token}/pay", post=pay),
    page_route("/pay/{token}/decline", post=decline),
    page_route("/pay/{token}/sandbox/{action}", post=act_in_sandbox),
]
