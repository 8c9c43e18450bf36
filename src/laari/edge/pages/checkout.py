"""The checkout page behind `payment_url`: log in, pay or decline, and see the result.

An overdue payment is shown as expired and left as it is.
"""

from datetime import timedelta
from uuid import UUID

from laari.edge.pages.cookies import DEVICE, DEVICE_OFFERED
from laari.edge.pages.decisions import LinkedRequest, decided, in_sandbox, linked_routes
from laari.edge.pages.login import is_fresh
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import PageRoute
from laari.edge.pages.spending import blocks_in_words, refused_words
from laari.edge.pages.tills.references import SCAN, is_reference
from laari.edge.pages.wallet.devices import remember_device, suggested_name
from laari.http.messages import Reply
from laari.rules.actors import Payer
from laari.rules.calendar import local_day
from laari.rules.ids import is_token
from laari.rules.limits.remembered_devices import REMEMBER_OFFER_LIFE, REMEMBERED_DEVICE_LIFE
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
from laari.store.reads.people import logins, remembered_devices
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
        if token is None or self.asked.tenant.mode != "live" or not self.device_limit:
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
    can_remember = await _rememberer(request) is not None
    if can_remember:
        seconds = int(REMEMBERED_DEVICE_LIFE.total_seconds())
        request.keep_cookie(DEVICE_OFFERED, payment.id.hex, seconds)
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
        can_remember=can_remember,
        blocks=wallet_status and await blocks_in_words(request, wallet_status, asked),
    )


async def _offered_device(request: CheckoutRequest, payer: CustomerSession | None) -> str | None:
    """Whose device it is, as far as they know themselves, if it may pay this amount now.

    The page does not offer again what was refused.
    """
    was_refused = request.path.endswith("/device")
    is_pending = request.asked.state == "pending"
    device = await request.find_device() if is_pending and not was_refused else None
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
    if device is None or request.asked.state != "pending":
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


async def _rememberer(request: CheckoutRequest) -> CustomerSession | None:
    """The customer who has just paid here with the password, and may let this browser remember it.

    That is offered once, and only in a browser in which the wallet is open. Without a passkey, a
    recent log-in or confirmation was made with the password.
    """
    payment = request.asked.row
    if not request.device_limit or request.asked.tenant.mode != "live":
        return None
    if payment.status != "paid" or payment.paid_at is None:
        return None
    is_recent = request.asked.now - payment.paid_at <= REMEMBER_OFFER_LIFE
    if not is_recent or request.cookie(DEVICE_OFFERED) not in (None, payment.id.hex):
        return None
    customer = await request.find_customer("live", everywhere=True)
    if customer is None or customer.account != payment.payer_account:
        return None
    if customer.has_passkey or not is_fresh(request, customer):
        return None
    if await request.find_device() is not None:
        return None
    return customer


async def _remember(request: CheckoutRequest) -> Reply:
    customer = await _rememberer(request)
    if customer is None:
        return request.go(request.address)
    verified = await request.backend.ask(logins.password_hash_of, customer.whose)
    # Once more after the hash was read: a new password has ended this log-in.
    if verified is None or await _rememberer(request) is None:
        return request.go(request.address)
    name = suggested_name(request) or request.language.text("sessions.unknown").striptags()
    await remember_device(request, customer, name, verified)
    return request.go(f"{request.address}?done=device")


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
    PageRoute(CheckoutRequest, "/remember", post=_remember, page=show),
    PageRoute(CheckoutRequest, "/decline", post=decided(RejectPayment), page=show),
    PageRoute(CheckoutRequest, "/sandbox/{action}", post=_CUSTOMER_CONTROLS, page=show),
]
