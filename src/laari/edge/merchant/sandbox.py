"""Sandbox controls: they stand in for the customer and the clock, so that tests need no person."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic
from uuid import UUID

from msgspec import Struct

from laari.edge.backend import Backend
from laari.edge.input.fields import NO_BODY, Body, amount, boolean, described, integer, text
from laari.edge.merchant.operations import ANY_SCOPE, Context, Operation, Write
from laari.edge.resources import AUTHORIZATIONS, PAYMENTS, REQUESTS, R, Resource
from laari.rules.actors import Payer, sandbox_customer
from laari.rules.authorizations import (
    ApproveAuthorization,
    RejectAuthorization,
    ResumeAuthorization,
    SuspendAuthorization,
)
from laari.rules.calendar import show
from laari.rules.command import Command
from laari.rules.money import MAX_MONEY
from laari.rules.payment_requests import (
    PayRequest,
    RejectRequest,
    ReleaseRequest,
    ReserveRequest,
)
from laari.rules.payments import PayPayment, RejectPayment, ReleasePayment, ReservePayment
from laari.rules.records import Authorization as AuthorizationRecord
from laari.rules.records import Payment, Tenant, TenantClock, Wallet
from laari.rules.records import PaymentRequest as RequestRecord
from laari.rules.refusals import Refusal, RefusalCode, refuse
from laari.rules.sandbox_clock import MAX_OFFSET_SECONDS, MoveClock
from laari.rules.shapes.authorizations import Authorization
from laari.rules.shapes.fields import Timestamp
from laari.rules.shapes.payments import HostedPayment
from laari.rules.shapes.requests import PaymentRequest
from laari.rules.wallets import SetSandboxWallet
from laari.rules.world import local_time
from laari.store.people.wallet_keys import sandbox_wallet_key


class SandboxWallet(Struct, frozen=True):
    """The merchant's own sandbox customer: balance in laari, tier, key of the wallet interface."""

    balance: int
    tier: str
    api_key: str


class SandboxClock(Struct, frozen=True):
    """The sandbox's time and how far it is from real time."""

    now: Timestamp
    offset_seconds: int


class WalletFields(Struct, frozen=True):
    balance: int | None = None
    tier: str | None = None


class ClockFields(Struct, frozen=True):
    advance_seconds: int | None = None
    reset: bool = False


WALLET_BODY = Body(
    WalletFields,
    described(amount("balance", -MAX_MONEY, MAX_MONEY), "In laari."),
    described(text("tier", 40), "The verification tier, which sets the wallet's limits."),
    name="SandboxWalletSet",
    examples={
        "balance and tier": {"balance": 10_000_000, "tier": "verified"},
        "only look": {},
    },
)
CLOCK_BODY = Body(
    ClockFields,
    described(
        integer("advance_seconds", -MAX_OFFSET_SECONDS, MAX_OFFSET_SECONDS),
        "Adds to what the clock was moved before.",
    ),
    described(boolean("reset"), "`true` goes back to real time."),
    name="SandboxClockMove",
    examples={"a day ahead": {"advance_seconds": 86_400}, "real time": {"reset": True}},
    rule={
        "if": {
            "required": ["advance_seconds"],
            "properties": {"advance_seconds": {"not": {"type": "null"}}},
        },
        "then": {"properties": {"reset": {"enum": [False, None]}}},
        "else": {"required": ["reset"], "properties": {"reset": {"const": True}}},
    },
)


def set_wallet(context: Context, fields: WalletFields) -> SetSandboxWallet:
    return SetSandboxWallet(context.tenant, fields.balance, fields.tier)


def wallet_shown(wallet: Wallet, backend: Backend) -> SandboxWallet:
    key = sandbox_wallet_key(backend.master_key, wallet.account)
    return SandboxWallet(wallet.balance, wallet.tier, key)


def move_clock(context: Context, fields: ClockFields) -> MoveClock | Refusal:
    advance, reset = fields.advance_seconds, fields.reset
    if (advance is None) == (not reset):
        return refuse("invalid_request", "Send either advance_seconds or reset: true.")
    return MoveClock(context.tenant, None if reset else advance)


def clock_shown(clock: TenantClock, backend: Backend) -> SandboxClock:
    now = local_time(datetime.now(UTC), clock)
    return SandboxClock(show(now), clock.clock_offset_seconds)


@dataclass(frozen=True)
class ControlTarget(Generic[R]):
    """What a control acts on, and how it is shown."""

    section: str  # of the path
    noun: str  # of the operation's name
    resource: Resource[R]
    scope: str
    shape: type[Struct]
    refusals: tuple[RefusalCode, ...]

    def by_customer(
        self,
        action: str,
        summary: str,
        command: Callable[[Tenant, UUID, Payer], Command[R]],
        *refusals: RefusalCode,
    ) -> Write[None, R]:
        """The command as the merchant's own sandbox customer would give it."""

        def make(context: Context, fields: None) -> Command[R]:
            tenant = context.tenant
            return command(tenant, context.id(self.resource.prefix), sandbox_customer(tenant))

        return self._control(action, summary, make, refusals)

    def by_merchant(
        self,
        action: str,
        summary: str,
        command: Callable[[Tenant, UUID, Tenant], Command[R]],
        *refusals: RefusalCode,
    ) -> Write[None, R]:
        """The command for whichever customer it concerns: a sandbox is the merchant's own."""

        def make(context: Context, fields: None) -> Command[R]:
            return command(context.tenant, context.id(self.resource.prefix), context.tenant)

        return self._control(action, summary, make, refusals)

    def _control(
        self,
        action: str,
        summary: str,
        make: Callable[[Context, None], Command[R]],
        refusals: tuple[RefusalCode, ...],
    ) -> Write[None, R]:
        return Write(
            path=f"/sandbox/{self.section}/{{id}}/{action}",
            name=f"sandbox_{action}_{self.noun}",
            summary=summary,
            scope=self.scope,
            body=NO_BODY,
            command=make,
            show=self.resource.show,
            shape=self.shape,
            sandbox_only=True,
            refusals=("not_found", *self.refusals, *refusals),
        )


PAYMENT = ControlTarget(
    section="payments",
    noun="payment",
    resource=PAYMENTS,
    scope="payments:create",
    shape=HostedPayment,
    refusals=("payment_conflict",),
)
REQUEST = ControlTarget(
    section="payment-requests",
    noun="payment_request",
    resource=REQUESTS,
    scope="payment_requests:create",
    shape=PaymentRequest,
    refusals=("payment_request_not_found", "payment_conflict"),
)
AUTHORIZATION = ControlTarget(
    section="authorizations",
    noun="authorization",
    resource=AUTHORIZATIONS,
    scope="authorizations:create",
    shape=Authorization,
    refusals=("authorization_not_found", "authorization_expired", "authorization_unavailable"),
)

PAY_REFUSALS: tuple[RefusalCode, ...] = ("insufficient_balance", "wallet_limit_exceeded")

PAYMENT_CONTROLS: dict[str, Write[None, Payment]] = {
    "pay": PAYMENT.by_customer("pay", "The sandbox customer pays", PayPayment, *PAY_REFUSALS),
    "reject": PAYMENT.by_customer("reject", "The sandbox customer declines", RejectPayment),
    "reserve": PAYMENT.by_customer(
        "reserve", "An attempt to pay starts and stays processing", ReservePayment
    ),
    "release": PAYMENT.by_customer(
        "release", "The attempt in processing is given up", ReleasePayment
    ),
}
REQUEST_CONTROLS: dict[str, Write[None, RequestRecord]] = {
    "pay": REQUEST.by_customer(
        "pay", "The sandbox customer pays a request", PayRequest, *PAY_REFUSALS
    ),
    "reject": REQUEST.by_customer(
        "reject", "The sandbox customer declines a request", RejectRequest
    ),
    "reserve": REQUEST.by_customer(
        "reserve", "An attempt to pay a request starts and stays processing", ReserveRequest
    ),
    "release": REQUEST.by_customer(
        "release", "The attempt in processing on a request is given up", ReleaseRequest
    ),
}
AUTHORIZATION_CONTROLS: dict[str, Write[None, AuthorizationRecord]] = {
    "approve": AUTHORIZATION.by_customer(
        "approve",
        "The sandbox customer approves",
        ApproveAuthorization,
        "authorization_not_pending",
    ),
    "reject": AUTHORIZATION.by_customer(
        "reject", "The sandbox customer declines", RejectAuthorization, "authorization_not_pending"
    ),
    "suspend": AUTHORIZATION.by_merchant(
        "suspend",
        "Charges are stopped until the authorization is resumed",
        SuspendAuthorization,
        "authorization_unapproved",
    ),
    "resume": AUTHORIZATION.by_merchant(
        "resume", "Charges are let go on", ResumeAuthorization, "authorization_unapproved"
    ),
}
SET_WALLET = Write(
    path="/sandbox/wallet",
    name="sandbox_set_wallet",
    summary="Set the sandbox customer's balance and tier",
    scope=ANY_SCOPE,
    body=WALLET_BODY,
    command=set_wallet,
    show=wallet_shown,
    shape=SandboxWallet,
    sandbox_only=True,
    refusals=("not_found",),
    description="Either field may be left out; `{}` only shows the wallet and its `api_key`.",
)
MOVE_CLOCK = Write(
    path="/sandbox/clock",
    name="sandbox_move_clock",
    summary="Move the sandbox's time",
    scope=ANY_SCOPE,
    body=CLOCK_BODY,
    command=move_clock,
    show=clock_shown,
    shape=SandboxClock,
    sandbox_only=True,
    refusals=("not_found",),
    description="Creation times, expiries, token life and key retention follow it. "
    "Send either `advance_seconds` or `reset`.",
)

OPERATIONS: tuple[Operation, ...] = (
    *PAYMENT_CONTROLS.values(),
    *REQUEST_CONTROLS.values(),
    *AUTHORIZATION_CONTROLS.values(),
    SET_WALLET,
    MOVE_CLOCK,
)
