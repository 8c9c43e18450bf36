"""Sandbox controls: they act as the customer and move the clock, so that tests need no person."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias
from uuid import UUID

from msgspec import Struct

from laari.edge.backend import Backend
from laari.edge.input.fields import NO_BODY, Body, amount, boolean, described, integer, text
from laari.edge.merchant.operations import ANY_SCOPE, Context, Operation, Write
from laari.edge.resources import AUTHORIZATIONS, PAYMENTS, REQUESTS, R, Resource
from laari.rules.actors import Payer, sandbox_customer
from laari.rules.calendar import show
from laari.rules.command import Command
from laari.rules.merchants.sandbox_clock import MAX_OFFSET_SECONDS, MoveClock
from laari.rules.merchants.sandbox_wallet import SetSandboxWallet
from laari.rules.money import MAX_MONEY
from laari.rules.payments.authorizations import (
    ApproveAuthorization,
    RejectAuthorization,
    ResumeAuthorization,
    SuspendAuthorization,
)
from laari.rules.payments.payment_requests import (
    PayRequest,
    RejectRequest,
    ReleaseRequest,
    ReserveRequest,
)
from laari.rules.payments.payments import PayPayment, RejectPayment, ReleasePayment, ReservePayment
from laari.rules.records.tenants import Tenant, TenantSettings, local_time
from laari.rules.records.wallets import Wallet
from laari.rules.refusals import Refusal, RefusalCode, refuse
from laari.rules.shapes.authorizations import Authorization
from laari.rules.shapes.fields import Timestamp
from laari.rules.shapes.payments import HostedPayment
from laari.rules.shapes.requests import PaymentRequest
from laari.store.reads.people.wallet_keys import sandbox_wallet_key


class SandboxWallet(Struct, frozen=True):
    """The merchant's sandbox customer: balance in laari, tier, and key of the wallet interface."""

    balance: int
    tier: str
    api_key: str


class SandboxClock(Struct, frozen=True):
    """The sandbox's time, and its offset from real time."""

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
        "Added to the present offset of the clock.",
    ),
    described(boolean("reset"), "`true` returns to real time."),
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
    return SetSandboxWallet(context.tenant, context.caller.actor, fields.balance, fields.tier)


def wallet_shown(wallet: Wallet, backend: Backend) -> SandboxWallet:
    key = sandbox_wallet_key(backend.master_key, wallet.account)
    return SandboxWallet(wallet.balance, wallet.tier, key)


def move_clock(context: Context, fields: ClockFields) -> MoveClock | Refusal:
    advance, reset = fields.advance_seconds, fields.reset
    if (advance is None) == (not reset):
        return refuse("invalid_request", "Send either advance_seconds or reset: true.")
    return MoveClock(context.tenant, context.caller.actor, None if reset else advance)


def clock_shown(clock: TenantSettings, backend: Backend) -> SandboxClock:
    now = local_time(datetime.now(UTC), clock)
    return SandboxClock(show(now), clock.clock_offset_seconds)


_Control: TypeAlias = tuple[
    str, Callable[[Tenant, UUID, Payer], Command[R]], tuple[RefusalCode, ...]
]


def _controls(
    resource: Resource[R],
    shape: type[Struct],
    refusals: tuple[RefusalCode, ...],
    controls: dict[str, _Control[R]],
) -> dict[str, Write[None, R]]:
    """An operation for each action: its summary, the customer's command, and its refusals."""

    def operation(
        action: str,
        summary: str,
        command: Callable[[Tenant, UUID, Payer], Command[R]],
        more: tuple[RefusalCode, ...],
    ) -> Write[None, R]:
        def make(context: Context, fields: None) -> Command[R]:
            tenant = context.tenant
            return command(tenant, context.id(resource.prefix), sandbox_customer(tenant))

        return Write(
            path=f"/sandbox{resource.path}/{{id}}/{action}",
            name=f"sandbox_{action}_{resource.listing.removesuffix('s')}",
            summary=summary,
            scope=f"{resource.listing}:create",
            body=NO_BODY,
            command=make,
            show=resource.show,
            shape=shape,
            sandbox_only=True,
            refusals=("not_found", *refusals, *more),
        )

    return {action: operation(action, *control) for action, control in controls.items()}


PAY_REFUSALS: tuple[RefusalCode, ...] = ("insufficient_balance", "wallet_limit_exceeded")

PAYMENT_CONTROLS = _controls(
    PAYMENTS,
    HostedPayment,
    ("payment_conflict",),
    {
        "pay": ("Pay as the sandbox customer", PayPayment, PAY_REFUSALS),
        "reject": ("Decline as the sandbox customer", RejectPayment, ()),
        "reserve": ("Start an attempt to pay that stays in processing", ReservePayment, ()),
        "release": ("Release the attempt in processing", ReleasePayment, ()),
    },
)
REQUEST_CONTROLS = _controls(
    REQUESTS,
    PaymentRequest,
    ("payment_request_not_found", "payment_conflict"),
    {
        "pay": ("Pay a request as the sandbox customer", PayRequest, PAY_REFUSALS),
        "reject": ("Decline a request as the sandbox customer", RejectRequest, ()),
        "reserve": (
            "Start an attempt to pay a request that stays in processing",
            ReserveRequest,
            (),
        ),
        "release": ("Release the attempt in processing on a request", ReleaseRequest, ()),
    },
)
AUTHORIZATION_CONTROLS = _controls(
    AUTHORIZATIONS,
    Authorization,
    ("authorization_not_found", "authorization_expired", "authorization_unavailable"),
    {
        "approve": (
            "Approve as the sandbox customer",
            ApproveAuthorization,
            ("authorization_not_pending",),
        ),
        "reject": (
            "Decline as the sandbox customer",
            RejectAuthorization,
            ("authorization_not_pending",),
        ),
        # These two work for any customer of the sandbox, so the merchant is the actor.
        "suspend": (
            "Stop charges until the authorization is resumed",
            lambda tenant, id, customer: SuspendAuthorization(tenant, id, tenant),
            ("authorization_unapproved",),
        ),
        "resume": (
            "Allow charges again",
            lambda tenant, id, customer: ResumeAuthorization(tenant, id, tenant),
            ("authorization_unapproved",),
        ),
    },
)
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
    description="Both fields are optional; `{}` only shows the wallet and its `api_key`.",
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
