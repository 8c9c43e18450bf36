"""Resources of the wallet interface as JSON: amounts are exact decimal numbers in MVR."""

from typing import Annotated, Generic, Literal, TypeVar

from msgspec import Meta, Raw, Struct

from laari.rules.calendar import period_after, show
from laari.rules.money import rufiyaa
from laari.rules.periods import Moment
from laari.rules.records.wallets import Tier, Transaction, Wallet
from laari.rules.refusals import Refusal
from laari.rules.shapes.envelopes import to_json
from laari.rules.shapes.fields import NextTid, Timestamp
from laari.rules.wallets import spent_now

T = TypeVar("T")

CURRENCY = "MVR"

# The digits of the number: no float is involved.
Mvr = Annotated[
    Raw,
    Meta(
        description="In MVR, exact.",
        examples=[125.5],
        # Without a format, clients in Go take 32 bits.
        extra_json_schema={"type": "number", "format": "double"},
    ),
]


def mvr(laari: int) -> Raw:
    """The shortest exact form, without trailing zeroes: `1230` → `12.3`, `-500` → `-5`."""
    return Raw(rufiyaa(laari).rstrip("0").removesuffix("."))


def mvr_or_none(laari: int | None) -> Raw | None:
    return None if laari is None else mvr(laari)


class WalletBalance(Struct, frozen=True):
    """A wallet's balance; all of it is available, because there are no holds."""

    account_number: str
    currency: str
    ledger_balance: Mvr
    available_balance: Mvr
    hold_balance: Mvr


class TierLimits(Struct, frozen=True):
    """The limits of the tier; null is no limit."""

    per_transaction: Mvr | None
    daily: Mvr | None
    weekly: Mvr | None
    monthly: Mvr | None


class Spent(Struct, frozen=True):
    daily: Mvr
    weekly: Mvr
    monthly: Mvr


class Remaining(Struct, frozen=True):
    """The amount that can still be spent, never below 0; null if there is no limit."""

    daily: Mvr | None
    weekly: Mvr | None
    monthly: Mvr | None


class ResetAt(Struct, frozen=True):
    daily: Timestamp
    weekly: Timestamp
    monthly: Timestamp


class Usage(Struct, frozen=True):
    """The limits of the wallet's tier, and their current usage."""

    tier: str
    limits: TierLimits
    usage: Spent
    remaining: Remaining
    reset_at: ResetAt


class WalletTransaction(Struct, frozen=True):
    """A line of the history; a failed transaction moved no money."""

    tid: str
    time: Timestamp
    type: Literal["topup", "payment", "refund", "transfer", "withdraw", "adjustment"]
    name: str
    details: str
    amount: Mvr
    status: Literal["success", "failed"]


class WalletData(Struct, Generic[T], frozen=True):
    """One resource, wrapped."""

    success: bool
    data: T


class WalletList(Struct, Generic[T], frozen=True):
    """All resources of one kind."""

    success: bool
    data: list[T]


class WalletPagination(Struct, frozen=True):
    limit: Annotated[int, Meta(examples=[10])]
    has_more: Annotated[bool, Meta(examples=[False])]
    next_cursor: NextTid


class WalletPage(Struct, Generic[T], frozen=True):
    """One page of a listing."""

    success: bool
    data: list[T]
    pagination: WalletPagination


class WalletErrorDetail(Struct, frozen=True):
    code: str
    message: str


class WalletErrorBody(Struct, frozen=True):
    """The wallet interface's error envelope."""

    success: bool
    error: WalletErrorDetail


def wallet_refusal_body(refusal: Refusal) -> bytes:
    detail = WalletErrorDetail(refusal.public_code, refusal.message)
    return to_json(WalletErrorBody(success=False, error=detail))


def balance_shape(wallet: Wallet) -> WalletBalance:
    return WalletBalance(
        account_number=str(wallet.account),
        currency=CURRENCY,
        ledger_balance=mvr(wallet.balance),
        available_balance=mvr(wallet.balance),
        hold_balance=mvr(0),
    )


def usage_shape(wallet: Wallet, tier: Tier, moment: Moment) -> Usage:
    """`tier` has the limits in force."""
    day, week, month = spent_now(wallet, moment)
    spent = (day.spent, week.spent, month.spent)
    limits = (tier.daily, tier.weekly, tier.monthly)
    return Usage(
        tier=tier.name,
        limits=TierLimits(mvr_or_none(tier.per_transaction), *map(mvr_or_none, limits)),
        usage=Spent(*map(mvr, spent)),
        remaining=Remaining(*map(_remaining, limits, spent)),
        reset_at=ResetAt(
            show(period_after(day.start, "day")),
            show(period_after(week.start, "week")),
            show(period_after(month.start, "month")),
        ),
    )


def _remaining(limit: int | None, spent: int) -> Raw | None:
    # After a tier was lowered, more may be spent than it allows.
    return None if limit is None else mvr(max(0, limit - spent))


def transaction_shape(transaction: Transaction) -> WalletTransaction:
    return WalletTransaction(
        tid=transaction.tid,
        time=show(transaction.time),
        type=transaction.type,
        name=transaction.name,
        details=transaction.details,
        amount=mvr(transaction.amount),
        status=transaction.status,
    )
