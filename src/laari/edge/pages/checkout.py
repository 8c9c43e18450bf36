"""The checkout page behind `payment_url`: log in, pay or decline, and see the result.

An overdue payment is shown as expired and left as it is.
"""

from datetime import timedelta
from uuid import UUID

from laari.edge.pages.cookies import DEVICE
from laari.edge.pages.decisions import LinkedRequest, decided, in_sandbox, linked_routes
from laari.edge.pages.login import is_fresh
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import PageRoute
from laari.edge.pages.spending import blocks_in_words, refused_words
from laari.edge.pages.tills.references import SCAN, is_reference
from laari.http.messages import Reply
from laari.rules.actors import Payer
from laari.rules.calendar import local_day
from laari.rules.ids import is_token
from laari.rules.limits.tills import OFFLINE_DIGITS_SHOWN
from laari.rules.merchants.offline import digits_of, minute_of, secret_context
from laari.rules.payments.device_payments import PayWithDevice, running_day
from laari.rules.payments.payments import PayPayment, RejectPayment, ReleasePayment, ReservePayment
from laari.rules.people.contacts import masked_payer
from laari.rules.records.payments import Payment, Refund
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal
from laari.rules.wallets import seen_by_customer
from laari.store.counters.sessions import CustomerSession
from laari.store.reads import refunds
from laari.store.reads.people import remembered_devices
from laari.store.reads.people.remembered_devices import DeviceSession
from laari.store.reads.tills import records
from laari.store.secrets import opened


class CheckoutRequest(LinkedRequest[Payment]):
    prefix = "/pay/{token}"
    open_states = ("pending", "processing")

    async def find_row(self) -> Payment | None:
        token = self.params["token"]
        payment = await self.backend.payments_by_token.get(token) if is_token(token) else None
        return payment if payment is not None and payment.kind != "charge" else None

    async def find_device(self) -> DeviceSession | None:
        """The device that the customer lets pay without the password, if it is remembered."""
        token = self.cookie(DEVICE)
        is_live = self.asked.tenant.mode == "live" and self.asked.state == "pending"
        if token is None or not is_live or not self.device_limit:
            return None
        find = remembered_devices.session
        found = await self.backend.ask(find, self.backend.master_key, token, self.now)
        if found is not None:
            self.count(found.customer_id)
        return found

    @property
    def device_limit(self) -> int:
        return self.backend.settings.remembered_device_daily_limit

    async def refused_words(self, refusal: Refusal, account: int) -> str:
        return await refused_words(self, self.asked, refusal, account)


async def show(request: CheckoutRequest) -> Reply:
    asked, payment = request.asked, request.asked.row
    wallets = request.backend.wallets
    payer = await request.decider() if request.is_open else None
    ask_password = payer is not None and not is_fresh(request, payer)
    wallet_status = payer and await wallets.get(payer.account)
    has_controls = request.is_open and asked.tenant.mode == "sandbox"
    sandbox = await wallets.get(asked.tenant.sandbox_account) if has_controls else None
    return request.page(
        "checkout.html",
        asked=asked,
        payment=payment,
        refunds=await _refunds(request, payment),
        digits=await _digits(request, payment),
        leads_back=asked.leads_back(payment.refunded_at or payment.paid_at or payment.rejected_at),
        seconds_left=payment.expires_at and asked.seconds_until(payment.expires_at),
        payer=payer,
        wallet_status=wallet_status,
        is_frozen=wallet_status and seen_by_customer(wallet_status.wallet).frozen_at,
        sandbox=sandbox,
        ask_password=ask_password,
        device=await _offered_device(request, payer) if payer is None or ask_password else None,
        blocks=wallet_status and await blocks_in_words(request, wallet_status, asked),
    )


async def _offered_device(request: CheckoutRequest, payer: CustomerSession | None) -> str | None:
    """Whose device it is, as far as they know themselves, if it may pay this amount now.

    The page does not offer again what was refused.
    """
    was_refused = request.path.endswith("/device")
    device = None if was_refused else await request.find_device()
    if device is None or (payer is not None and payer.customer_id != device.customer_id):
        return None
    left = request.device_limit - running_day(device.last, local_day(request.now)).spent
    is_frozen = device.frozen_at is not None and not device.frozen_silently
    if is_frozen or request.asked.row.amount > left:
        return None
    return masked_payer(device.customer, device.mobile, device.account)


async def _pay_with_device(request: CheckoutRequest) -> Reply:
    """The reason of a refusal would tell something about the wallet: it is not said."""
    device = await request.find_device()
    if device is None:
        return request.go(request.address)

    def pay(tenant: Tenant, payment_id: UUID, payer: Payer) -> PayWithDevice:
        return PayWithDevice(
            tenant,
            payment_id,
            payer,
            device_id=device.id,
            digest=device.digest,
            customer_id=device.customer_id,
            daily_limit=request.device_limit,
        )

    try:
        return await request.decide(pay, device.payer)
    except RefusedForm as refused:
        again = refused.problem.retry_after
        raise RefusedForm(409, request.language.text("devices.refused"), again) from None


async def _digits(request: CheckoutRequest, payment: Payment) -> str | None:
    """For a till that has no connection, of a payment by its static code a moment ago."""
    paid_at, label, tenant = payment.paid_at, payment.terminal_label, request.asked.tenant
    if payment.status != "paid" or payment.refunded_amount or paid_at is None or label is None:
        return None
    is_new = request.asked.now - paid_at < OFFLINE_DIGITS_SHOWN
    if not is_new or not is_reference(SCAN, payment.reference):
        return None
    till = await request.backend.ask(records.named, tenant.id, label)
    if till is None:
        return None
    secret = opened(request.backend.master_key, till.secret_encrypted, secret_context(till.id))
    if secret is None:
        return None
    minute = minute_of(paid_at - timedelta(seconds=tenant.clock_offset_seconds))
    return digits_of(secret.decode(), payment.amount, minute)


async def _refunds(request: CheckoutRequest, payment: Payment) -> list[Refund]:
    """The parts that came back; most payments have none and need no look-up."""
    if payment.refunded_amount is None:
        return []
    return await request.backend.ask(refunds.of_payment, payment.id)


_CUSTOMER_CONTROLS = in_sandbox(
    pay=PayPayment, decline=RejectPayment, hold=ReservePayment, release=ReleasePayment
)
_PAY = decided(PayPayment, confirmed=True)
ROUTES = [
    # The button says the amount: one answer of the authenticator logs in and pays.
    *linked_routes(CheckoutRequest, show, then=_PAY),
    PageRoute(CheckoutRequest, "/pay", post=_PAY, page=show),
    PageRoute(CheckoutRequest, "/device", post=_pay_with_device, page=show),
    PageRoute(CheckoutRequest, "/decline", post=decided(RejectPayment), page=show),
    PageRoute(CheckoutRequest, "/sandbox/{action}", post=_CUSTOMER_CONTROLS, page=show),
]
