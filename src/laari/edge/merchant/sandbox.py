"""Sandbox controls: they stand in for the customer and the clock, so that tests need no person."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from laari.edge.backend import Backend
from laari.edge.fields import Body, boolean, described, integer, text
from laari.edge.merchant.authorizations import shown as authorization_shown
from laari.edge.merchant.operations import ANY_SCOPE, Call, Operation
from laari.edge.merchant.payment_requests import shown as request_shown
from laari.edge.merchant.payments import shown as payment_shown
from laari.rules import ids
from laari.rules.actors import Payer, sandbox_customer
from laari.rules.authorization_shapes import Authorization
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
from laari.rules.records import Tenant, TenantClock, Wallet
from laari.rules.refusals import Refusal, refuse
from laari.rules.sandbox_clock import MAX_OFFSET_SECONDS, MoveClock
from laari.rules.shape_fields import Timestamp
from laari.rules.shapes import HostedPayment, PaymentRequest
from laari.rules.wallets import SetSandboxWallet
from laari.rules.world import local_time
from laari.store.wallet_keys import sandbox_wallet_key


class SandboxWallet(Struct, frozen=True):
    """The merchant's own sandbox customer: balance in laari, tier, key of the wallet interface."""

    balance: int
    tier: str
    api_key: str


class SandboxClock(Struct, frozen=True):
    """The sandbox's time and how far it is from real time."""

    now: Timestamp
    offset_seconds: int


SET_WALLET = Body(
    described(integer("balance", -MAX_MONEY, MAX_MONEY), "In laari."),
    described(text("tier", 40), "The verification tier, which sets the wallet's limits."),
    name="SandboxWalletSet",
    examples={
        "balance and tier": {"balance": 10_000_000, "tier": "verified"},
        "only look": {},
    },
)
MOVE_CLOCK = Body(
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


def set_wallet(call: Call, fields: dict[str, Any]) -> SetSandboxWallet:
    return SetSandboxWallet(call.caller.tenant, fields.get("balance"), fields.get("tier"))


def wallet_shown(wallet: Wallet, backend: Backend) -> SandboxWallet:
    key = sandbox_wallet_key(backend.master_key, wallet.account)
    return SandboxWallet(wallet.balance, wallet.tier, key)


def move_clock(call: Call, fields: dict[str, Any]) -> MoveClock | Refusal:
    advance, reset = fields.get("advance_seconds"), fields.get("reset", False)
    if (advance is None) == (not reset):
        return refuse("invalid_request", "Send either advance_seconds or reset: true.")
    return MoveClock(call.caller.tenant, None if reset else advance)


def clock_shown(clock: TenantClock, backend: Backend) -> SandboxClock:
    now = local_time(datetime.now(UTC), clock)
    return SandboxClock(show(now), clock.clock_offset_seconds)


def _as_customer(command: Callable[[Tenant, UUID, Payer], Command[object]], prefix: str) -> Any:
    """The command as the merchant's own sandbox customer would give it."""

    def make(call: Call, fields: dict[str, Any]) -> Command[object]:
        tenant = call.caller.tenant
        return command(tenant, call.id(prefix), sandbox_customer(tenant))

    return make


def _as_merchant(command: Callable[[Tenant, UUID, Tenant], Command[object]], prefix: str) -> Any:
    """The command for whichever customer it concerns: a sandbox is the merchant's own."""

    def make(call: Call, fields: dict[str, Any]) -> Command[object]:
        return command(call.caller.tenant, call.id(prefix), call.caller.tenant)

    return make


def _control(
    path: str,
    name: str,
    summary: str,
    scope: str,
    *,
    command: Any,
    shape: Any,
    answers: Any,
    refusals: tuple[str, ...] = (),
    body: Body | None = None,
    description: str = "",
) -> Operation:
    return Operation(
        "POST",
        f"/sandbox/{path}",
        name,
        summary,
        scope,
        command=command,
        shape=shape,
        body=body,
        sandbox_only=True,
        answers=answers,
        refusals=("not_found", *refusals),
        description=description,
    )


def _payment_control(
    action: str, summary: str, command: Any, refusals: tuple[str, ...] = ()
) -> Operation:
    return _control(
        f"payments/{{id}}/{action}",
        f"sandbox_{action}_payment",
        summary,
        "payments:create",
        command=_as_customer(command, ids.PAYMENT),
        shape=payment_shown,
        answers=HostedPayment,
        refusals=("payment_conflict", *refusals),
    )


def _request_control(
    action: str, summary: str, command: Any, refusals: tuple[str, ...] = ()
) -> Operation:
    return _control(
        f"payment-requests/{{id}}/{action}",
        f"sandbox_{action}_payment_request",
        summary,
        "payment_requests:create",
        command=_as_customer(command, ids.PAYMENT_REQUEST),
        shape=request_shown,
        answers=PaymentRequest,
        refusals=("payment_request_not_found", "payment_conflict", *refusals),
    )


def _authorization_control(
    action: str, summary: str, command: Any, refusals: tuple[str, ...] = ()
) -> Operation:
    return _control(
        f"authorizations/{{id}}/{action}",
        f"sandbox_{action}_authorization",
        summary,
        "authorizations:create",
        command=command,
        shape=authorization_shown,
        answers=Authorization,
        refusals=(
            "authorization_not_found",
            "authorization_expired",
            "authorization_unavailable",
            *refusals,
        ),
    )


PAY_REFUSALS = ("insufficient_balance", "wallet_limit_exceeded")

OPERATIONS = (
    _payment_control("pay", "The sandbox customer pays", PayPayment, PAY_REFUSALS),
    _payment_control("reject", "The sandbox customer declines", RejectPayment),
    _payment_control("reserve", "An attempt to pay starts and stays processing", ReservePayment),
    _payment_control("release", "The attempt in processing is given up", ReleasePayment),
    _request_control("pay", "The sandbox customer pays a request", PayRequest, PAY_REFUSALS),
    _request_control("reject", "The sandbox customer declines a request", RejectRequest),
    _request_control(
        "reserve", "An attempt to pay a request starts and stays processing", ReserveRequest
    ),
    _request_control(
        "release", "The attempt in processing on a request is given up", ReleaseRequest
    ),
    _authorization_control(
        "approve",
        "The sandbox customer approves",
        _as_customer(ApproveAuthorization, ids.AUTHORIZATION),
        ("authorization_not_pending",),
    ),
    _authorization_control(
        "reject",
        "The sandbox customer declines",
        _as_customer(RejectAuthorization, ids.AUTHORIZATION),
        ("authorization_not_pending",),
    ),
    _authorization_control(
        "suspend",
        "Charges are stopped until the authorization is resumed",
        _as_merchant(SuspendAuthorization, ids.AUTHORIZATION),
        ("authorization_unapproved",),
    ),
    _authorization_control(
        "resume",
        "Charges are let go on",
        _as_merchant(ResumeAuthorization, ids.AUTHORIZATION),
        ("authorization_unapproved",),
    ),
    _control(
        "wallet",
        "sandbox_set_wallet",
        "Set the sandbox customer's balance and tier",
        ANY_SCOPE,
        command=set_wallet,
        shape=wallet_shown,
        answers=SandboxWallet,
        body=SET_WALLET,
        description="Either field may be left out; `{}` only shows the wallet and its `api_key`.",
    ),
    _control(
        "clock",
        "sandbox_move_clock",
        "Move the sandbox's time",
        ANY_SCOPE,
        command=move_clock,
        shape=clock_shown,
        answers=SandboxClock,
        body=MOVE_CLOCK,
        description="Creation times, expiries, token life and key retention follow it. "
        "Send either `advance_seconds` or `reset`.",
    ),
)
