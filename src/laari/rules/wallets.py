"""Customers' wallets: how much they can spend, and how money enters and leaves them.

A frozen wallet cannot pay and cannot approve an authorization. Refunds and top-ups still arrive.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

from msgspec.structs import replace

from laari.rules import ledger
from laari.rules.periods import Counted, Moment, Period, running
from laari.rules.records.ledger import Transfer
from laari.rules.records.payments import Payment
from laari.rules.records.tenants import Tenant
from laari.rules.records.wallets import Failure, Tier, Transaction, Wallet
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World


class Spending(NamedTuple):
    """The periods that a wallet's limits apply to, with the amount spent in each."""

    day: Period
    week: Period
    month: Period


def counted(wallet: Wallet) -> tuple[Counted, Counted, Counted]:
    """The periods stored on the wallet."""
    owner, offset = wallet.customer_id, wallet.counted_offset_seconds
    return (
        Counted(owner, "day", wallet.day_start, wallet.day_spent, offset),
        Counted(owner, "week", wallet.week_start, wallet.week_spent, offset),
        Counted(owner, "month", wallet.month_start, wallet.month_spent, offset),
    )


def spent_now(wallet: Wallet, moment: Moment) -> Spending:
    """The amounts that count against the daily, weekly and monthly limits at this moment."""
    day, week, month = counted(wallet)
    return Spending(running(day, moment), running(week, moment), running(month, moment))


LimitName = Literal["per_transaction", "daily", "weekly", "monthly"]


class SpendingBlock(NamedTuple):
    """Why an amount cannot be spent: the balance is too low, or a limit would be exceeded."""

    limit: LimitName | None  # None: the balance
    allowed: int
    left: int  # the amount that can still be spent

    @property
    def refusal(self) -> Refusal:
        return refuse("insufficient_balance" if self.limit is None else "wallet_limit_exceeded")


def limits_in_force(wallet: Wallet, tier: Tier) -> Tier:
    """The limits of the wallet's tier; all are zero while the wallet is frozen."""
    if wallet.frozen_at is None:
        return tier
    return Tier(tier.name, per_transaction=0, daily=0, weekly=0, monthly=0)


def seen_by_customer(wallet: Wallet) -> Wallet:
    """A silent freeze does not show before an attempt: pages and limits stay as they were."""
    if not wallet.frozen_silently:
        return wallet
    return replace(wallet, frozen_at=None, frozen_reason=None, frozen_silently=False)


def spending_blocks(
    wallet: Wallet, tier: Tier, amount: int, spending: Spending
) -> Iterator[SpendingBlock]:
    """All reasons why a wallet cannot spend, in order: the interfaces respond with the first."""
    if wallet.balance < amount:
        yield SpendingBlock(None, wallet.balance, wallet.balance)
    tier = limits_in_force(wallet, tier)
    day, week, month = spending
    limits: tuple[tuple[LimitName, int | None, int], ...] = (
        ("per_transaction", tier.per_transaction, 0),
        ("daily", tier.daily, day.spent),
        ("weekly", tier.weekly, week.spent),
        ("monthly", tier.monthly, month.spent),
    )
    for name, limit, spent in limits:
        if limit is not None and spent + amount > limit:
            # After a tier was lowered, more may be spent than it allows.
            yield SpendingBlock(name, limit, max(0, limit - spent))


def failure_of(wallet: Wallet, block: SpendingBlock) -> Failure:
    """Why an attempt failed, as the operator reads it: the limits of a frozen wallet are zero."""
    if block.limit is None:
        return "insufficient_balance"
    return block.limit if wallet.frozen_at is None else "frozen"


def spend(wallet: Wallet, amount: int, spending: Spending, moment: Moment) -> Wallet:
    """The wallet after a payment, counted in these periods."""
    day, week, month = spending
    return replace(
        wallet,
        balance=wallet.balance - amount,
        day_start=day.start,
        day_spent=day.spent + amount,
        week_start=week.start,
        week_spent=week.spent + amount,
        month_start=month.start,
        month_spent=month.spent + amount,
        counted_offset_seconds=moment.offset_seconds,
    )


def take_payment(
    world: World,
    tenant: Tenant,
    account: int,
    amount: int,
    details: str,
    *,
    payable_id: UUID | None = None,
) -> str | Refusal:
    """Takes a payment out of a wallet and adds it to the customer's history.

    Returns the transaction reference. A refused attempt is added too, as failed. `payable_id` is
    the payment or request to pay; a charge that fails makes none.
    """
    moment, wallet = world.moment(tenant), world.wallets[account]
    spending = spent_now(wallet, moment)
    block = next(spending_blocks(wallet, world.tiers[wallet.tier], amount, spending), None)
    tid = world.new_tid()
    world.transactions.append(
        Transaction(
            tid=tid,
            account=account,
            time=moment.now,
            type="payment",
            name=tenant.merchant_name,
            details=details,
            amount=-amount,
            status="success" if block is None else "failed",
            failure=None if block is None else failure_of(wallet, block),
            unpaid_id=None if block is None else payable_id,
        )
    )
    if block is not None:
        return block.refusal
    world.enter_periods(tenant, counted(wallet), spending)
    world.wallets.change(account, spend(wallet, amount, spending, moment))
    return tid


def refund_to_wallet(
    world: World, tenant: Tenant, payment: Payment, wallet: Wallet, amount: int
) -> Transaction:
    """Returns an amount of a payment from the merchant to the wallet that paid it.

    Its spending stays counted in the periods: limits apply to all money that left the wallet.
    """
    merchant, details = ledger.merchant_account(tenant), payment.title or payment.reference
    now, name = world.at(tenant), tenant.merchant_name
    moved = _move_money(
        world,
        wallet,
        "refund",
        merchant,
        amount,
        now=now,
        words=_Words(name, details),
        payment_id=payment.id,
    )
    return moved.transaction


def move_outside_money(
    world: World,
    tenant: Tenant | None,
    wallet: Wallet,
    kind: Literal["topup", "adjustment"],
    amount: int,
    *,
    details: str,
) -> Transaction:
    """Moves money into a wallet, or out of it if the amount is negative.

    A top-up comes from the bank account; an adjustment corrects the books alone.
    """
    now, mode = world.at(tenant), wallet.mode
    if kind == "topup":
        name, other = "Top-up", ledger.outside_account(mode)
    else:
        name, other = "Adjustment", ledger.corrections_account(mode)
    words = _Words(name, details)
    return _move_money(world, wallet, kind, other, amount, now=now, words=words).transaction


def add_received_money(world: World, wallet: Wallet, amount: int, details: str) -> Transaction:
    """Tops a wallet up with money that the bank account has received before."""
    received = ledger.unallocated_account(wallet.mode)
    words = _Words("Top-up", details)
    moved = _move_money(world, wallet, "topup", received, amount, now=world.now, words=words)
    return moved.transaction


def move_withdrawal(
    world: World, account: int, other: ledger.Account, amount: int, details: str
) -> Transfer:
    """Moves money of a withdrawal out of the wallet, or back if the amount is positive.

    The limits of the tier are for payments: they do not count it.
    """
    wallet, words = world.wallets[account], _Words("Withdrawal", details)
    moved = _move_money(world, wallet, "withdrawal", other, amount, now=world.now, words=words)
    return moved.transfer


class _Words(NamedTuple):
    """The words of a movement in the customer's history."""

    name: str
    details: str


class _Moved(NamedTuple):
    """Money that entered or left a wallet: in the books, and in the customer's history."""

    transfer: Transfer
    transaction: Transaction


def _move_money(
    world: World,
    wallet: Wallet,
    kind: Literal["refund", "topup", "adjustment", "withdrawal"],
    other: ledger.Account,
    amount: int,
    *,
    now: datetime,
    words: _Words,
    payment_id: UUID | None = None,
) -> _Moved:
    tid, own = world.new_tid(), ledger.wallet_account(wallet)
    debit, credit = (other, own) if amount > 0 else (own, other)
    transfer = ledger.transfer(
        world, kind, debit, credit, abs(amount), tid=tid, created_at=now, payment_id=payment_id
    )
    world.wallets.change(wallet.account, replace(wallet, balance=wallet.balance + amount))
    transaction = Transaction(
        tid=tid,
        account=wallet.account,
        time=now,
        type="withdraw" if kind == "withdrawal" else kind,
        name=words.name,
        details=words.details,
        amount=amount,
        status="success",
    )
    world.transactions.append(transaction)
    return _Moved(transfer, transaction)


def no_wallet(account: int) -> Refusal:
    return refuse("not_found", f"No wallet has the account number {account}.")
