"""The counter of one till: amount, code, paid, next. For a paired device and for a cashier.

A sale is made with a reference that its form carries: pressed twice or sent again after a lost
connection, it is the same payment.
"""

from datetime import UTC, datetime
from typing import TypeVar

from laari.edge.load.live import Key, OneDevice, OnePayment, OneTill
from laari.edge.load.token_buckets import throttle_bucket
from laari.edge.pages.dashboard.request import DashboardRequest, home_of
from laari.edge.pages.devices import device_of
from laari.edge.pages.login import throttle
from laari.edge.pages.render import money
from laari.edge.pages.request import Access, PageRequest, RefusedForm
from laari.edge.pages.routes import PageRoute, Routes
from laari.edge.pages.tills.references import SALE, is_reference, new_reference
from laari.edge.pages.tills.shell import HOME, shell_of
from laari.edge.resources import PAYMENTS
from laari.http.client_addresses import client_prefix
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.calendar import local_day
from laari.rules.lifecycle import shown_state
from laari.rules.limits.payments import MAX_PAYMENT_AMOUNT
from laari.rules.limits.sessions import SESSION_SEEN_EVERY
from laari.rules.limits.tills import PAIRINGS_PER_ADDRESS, SALE_LIFE, TILL_DEVICE_LIFE
from laari.rules.merchants.offline import secret_context
from laari.rules.merchants.tills import PairDevice
from laari.rules.money import read_rufiyaa
from laari.rules.payments.payments import CancelPayment, CreatePayment, PaymentDraft
from laari.rules.people.permissions import Permission
from laari.rules.records.payments import Payment
from laari.rules.records.tenants import Tenant, local_time
from laari.rules.refusals import Refusal
from laari.store.counters import till_devices
from laari.store.reads import figures, holders
from laari.store.reads.figures import Figures, Span
from laari.store.reads.tills import records, sales
from laari.store.reads.tills.records import DeviceSession
from laari.store.secrets import opened

PAIR = f"{HOME}/pair"
ENDED = "ended"  # instead of a state: the visitor may no longer see it
NONE = Figures()


def read_amount(request: PageRequest, tenant: Tenant) -> int:
    """The form's amount, within the limit of the shop."""
    amount = read_rufiyaa(request.form.get("amount", ""))
    most = min(tenant.max_payment or MAX_PAYMENT_AMOUNT, MAX_PAYMENT_AMOUNT)
    if amount is None or amount < 1:
        raise RefusedForm(422, request.language.text("choice.no_amount"))
    if amount > most:
        raise RefusedForm(422, request.language.text("counter.too_much", most=money(most)))
    return amount


async def make_sale(
    request: PageRequest, tenant: Tenant, kind: str, draft: PaymentDraft
) -> Payment:
    """The payment of a form, made now or before; its reference is of this kind."""
    if not is_reference(kind, draft.reference):
        raise RefusedForm(400, request.language.text("problem.unreadable"))
    made = await request.backend.spine.submit(CreatePayment(tenant, draft))
    if isinstance(made, Refusal) and made.code != "reference_conflict":
        raise RefusedForm.of(made)
    wanted = (draft.terminal_label, draft.title)
    if isinstance(made, Refusal) or (made.terminal_label, made.title) != wanted:
        # The form made a sale of another amount before, as after Back in the browser.
        raise RefusedForm(409, request.language.text("counter.made_already"))
    return made


class CounterRequest(PageRequest):
    """A request of somebody who sells at one till."""

    tenant: Tenant
    tenant_now: datetime

    @property
    def label(self) -> str:
        """The till, as its payments name it."""
        raise NotImplementedError

    @property
    def counter(self) -> str:
        """The address of the keypad."""
        raise NotImplementedError

    @property
    def seller(self) -> Actor:
        raise NotImplementedError

    @property
    def keys(self) -> list[Key]:
        """The changes that every page of this counter waits for."""
        return []

    @property
    def offline_secret(self) -> str | None:
        """What the device keeps, to sell while it has no connection."""
        return None

    def refund_page(self, payment: Payment) -> str | None:
        """The dashboard's form that refunds a sale; None if this seller can never use it."""
        raise NotImplementedError


class PairingRequest(PageRequest):
    """Anybody with a pairing code."""

    prefix = PAIR
    folders = ("counter/",)
    session_cookie = "laari-till"


class DeviceRequest(CounterRequest):
    """A request of a paired device. It can open nothing but these pages."""

    prefix = HOME
    folders = ("counter/",)
    session_cookie = "laari-till"
    device: DeviceSession

    async def enter(self, access: Access) -> Reply | None:
        token = self.cookie(self.session_cookie)
        ask, master = self.backend.ask, self.backend.master_key
        device = None
        if token is not None:
            device = await ask(records.session, master, token, self.now)
        if device is None:
            return self.json({"status": ENDED}) if access.polled else self.go(PAIR)
        self.count(device.digest)
        self.device, self.tenant = device, device.tenant
        self.tenant_now = local_time(self.now, device.tenant)
        seen = device.last_seen_at
        if seen is None or self.now - seen > SESSION_SEEN_EVERY:
            await self.note_seen(till_devices.note_seen, device.digest, self.now)
        if not device.tenant.active:
            return self.json({"status": ENDED}) if access.polled else self.page("closed.html", 403)
        return None

    @property
    def label(self) -> str:
        return self.device.till.name

    @property
    def counter(self) -> str:
        return HOME

    @property
    def seller(self) -> Actor:
        return Actor("till", self.label, address=self.http.client)

    @property
    def keys(self) -> list[Key]:
        return [OneDevice(self.device.digest)]

    @property
    def offline_secret(self) -> str | None:
        till, master = self.device.till, self.backend.master_key
        secret = opened(master, till.secret_encrypted, secret_context(till.id))
        return None if secret is None else secret.decode()

    def refund_page(self, payment: Payment) -> str:
        """A device refunds nothing: this page asks for a log-in, and for a role."""
        home = home_of(self.tenant.merchant_id, self.tenant.mode)
        return f"{home}/payments/{ids.show_id(ids.PAYMENT, payment.id)}/refund"


class CashierRequest(CounterRequest, DashboardRequest):
    """A request of a cashier, who has one till."""

    prefix = f"{DashboardRequest.prefix}{HOME}"
    folders = ("counter/", *DashboardRequest.folders)

    async def enter(self, access: Access) -> Reply | None:
        stopped = await super().enter(access)
        return self.missing() if stopped is None and self.till is None else stopped

    @property
    def label(self) -> str:
        assert self.till is not None  # `enter` looked
        return self.till

    @property
    def counter(self) -> str:
        return self.url(HOME)

    @property
    def seller(self) -> Actor:
        return self.actor

    def refund_page(self, payment: Payment) -> str | None:
        if not self.may("payments.refund"):
            return None
        return self.url(f"/payments/{ids.show_id(ids.PAYMENT, payment.id)}/refund")


C = TypeVar("C", bound=CounterRequest)


async def ask_code(request: PairingRequest) -> Reply:
    """A link in the picture of a code may bring the code along."""
    code = (request.form or request.query).get("code", "")[:20]
    return request.page("pair.html", code=code)


async def pair(request: PairingRequest) -> Reply:
    address = client_prefix(request.http.client)
    throttle(request, [throttle_bucket(PAIRINGS_PER_ADDRESS, "pairing", address)])
    digest = records.code_digest(request.backend.master_key, request.form.get("code", "")[:20])
    name = device_of(request.http.headers.get(b"user-agent", "")) or ""
    paired = await request.backend.spine.submit(PairDevice(digest, name, request.http.client))
    if isinstance(paired, Refusal):
        raise RefusedForm(422, request.language.text("counter.not_paired"))
    life = int(TILL_DEVICE_LIFE.total_seconds())
    request.keep_cookie(request.session_cookie, paired.token, life)
    return request.go(HOME)


async def _newest(request: CounterRequest) -> str:
    """Changes with every sale and refund at the till."""
    return _mark(await request.backend.ask(sales.latest, request.tenant.id, request.label))


def _mark(latest: list[sales.Sale]) -> str:
    if not latest:
        return "none"
    refunded = sum(sale.payment.refunded_amount or 0 for sale in latest)
    return f"{latest[0].payment.id.hex}-{refunded}"


async def _today(request: CounterRequest) -> Figures:
    """Of this till, since midnight."""
    day, tenant_id = local_day(request.tenant_now), request.tenant.id
    found = await request.backend.ask(figures.of_days, Span(tenant_id, day, day))
    return next((each.figures for each in found if each.terminal_label == request.label), NONE)


async def show_keypad(request: CounterRequest) -> Reply:
    ask, label = request.backend.ask, request.label
    latest = await ask(sales.latest, request.tenant.id, label)
    written = request.form.get("reference", "")
    is_kept = request.problem is not None and request.problem.status == 422
    return request.page(
        "keypad.html",
        sales=latest,
        mark=_mark(latest),
        day=await _today(request),
        amount=request.form.get("amount", ""),
        reference=written if is_kept and is_reference(SALE, written) else new_reference(SALE),
        clock=int(request.now.timestamp() * 1000),
        worker=shell_of(request.language.code).worker_address,
    )


async def show_news(request: CounterRequest) -> Reply:
    till = OneTill(request.tenant.id, request.label)
    return await request.state_reply(lambda: _newest(request), till, *request.keys)


async def sell(request: CounterRequest) -> Reply:
    amount = read_amount(request, request.tenant)
    draft = PaymentDraft(
        request.form.get("reference", ""),
        amount,
        terminal_label=request.label,
        expires_at=request.tenant_now + SALE_LIFE,
    )
    made = await make_sale(request, request.tenant, SALE, draft)
    return request.go(_page_of(request, made))


def _page_of(request: CounterRequest, payment: Payment) -> str:
    return f"{request.counter}/sales/{ids.show_id(ids.PAYMENT, payment.id)}"


async def _find(request: CounterRequest) -> Payment | None:
    """The payment in the address, if it is one of this till."""
    found = await PAYMENTS.of_tenant(request.backend, request.tenant, request.params["id"])
    return found if found is not None and found.terminal_label == request.label else None


async def show_sale(request: CounterRequest) -> Reply:
    payment = await _find(request)
    if payment is None:
        return request.go(request.counter)
    state = shown_state(payment, request.tenant_now)
    return request.page(
        "sale.html",
        payment=payment,
        state=state,
        refund=request.refund_page(payment) if state == "paid" else None,
        page=_page_of(request, payment),
        payer=await request.backend.ask(holders.payer_of, payment),
    )


async def show_sale_status(request: CounterRequest) -> Reply:
    async def read() -> str:
        payment = await _find(request)
        if payment is None:
            return ENDED
        return shown_state(payment, local_time(datetime.now(UTC), request.tenant))

    payment_id = ids.read_id(ids.PAYMENT, request.params["id"])
    own = [] if payment_id is None else [OnePayment(payment_id)]
    return await request.state_reply(read, *own, *request.keys)


async def cancel(request: CounterRequest) -> Reply:
    """A sale that was paid meanwhile stays paid: its page says so."""
    payment = await _find(request)
    if payment is None:
        return request.go(request.counter)
    command = CancelPayment(request.tenant, payment.id, request.seller)
    outcome = await request.backend.spine.submit(command)
    is_cancelled = not isinstance(outcome, Refusal)
    return request.go(request.counter if is_cancelled else _page_of(request, payment))


def _routes(
    kind: type[C], create: Permission | None, cancelling: Permission | None
) -> list[PageRoute[C]]:
    sale = "/sales/{id}"
    return [
        PageRoute(kind, "", get=show_keypad, needs=create),
        PageRoute(kind, "/news", get=show_news, polled=True, needs=create),
        PageRoute(kind, "/sales", post=sell, page=show_keypad, needs=create),
        PageRoute(kind, sale, get=show_sale, needs=create),
        PageRoute(kind, f"{sale}/status", get=show_sale_status, polled=True, needs=create),
        PageRoute(kind, f"{sale}/cancel", post=cancel, page=show_sale, needs=cancelling),
    ]


ROUTES: Routes = [
    PageRoute(PairingRequest, "", get=ask_code, post=pair),
    *_routes(DeviceRequest, None, None),
    *_routes(CashierRequest, "payments.create", "payments.cancel"),
]
