"""Customers' wallets: what they may spend, and how money enters and leaves them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from msgspec.structs import replace

from laari.rules import ledger
from laari.rules.command import TenantCommand
from laari.rules.periods import Counted, Moment, Period, running
from laari.rules.records import Payment, Tenant, Tier, Transaction, Wallet
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import Needs, World


class Spending(NamedTuple):
    """The periods that a wallet's limits count in, and what was spent in each."""

    day: Period
    week: Period
    month: Period


def counted(wallet: Wallet) -> tuple[Counted, Counted, Counted]:
    """The periods that the wallet keeps."""
    owner, offset = wallet.customer_id, wallet.counted_offset_seconds
    return (
        Counted(owner, "day", wallet.day_start, wallet.day_spent, offset),
        Counted(owner, "week", wallet.week_start, wallet.week_spent, offset),
        Counted(owner, "month", wallet.month_start, wallet.month_spent, offset),
    )


def spent_now(wallet: Wallet, moment: Moment) -> Spending:
    """What counts against the daily, weekly and monthly limits at this moment."""
    day, week, month = counted(wallet)
    return Spending(running(day, moment), running(week, moment), running(month, moment))


LimitName = Literal["per_transaction", "daily", "weekly", "monthly"]


class SpendingBlock(NamedTuple):
    """Why an amount cannot be spent: the balance is short, or a limit would be passed.

    `left` is what could be spent instead.
    """

    limit: LimitName | None  # None: the balance
    allowed: int
    left: int

    @property
    def refusal(self) -> Refusal:
        return refuse("insufficient_balance" if self.limit is None else "wallet_limit_exceeded")


def limits_in_force(wallet: Wallet, tier: Tier) -> Tier:
    """The limits of the wallet's tier; while it is frozen they are zero, and nothing leaves it."""
    if wallet.frozen_at is None:
        return tier
    return Tier(tier.name, per_transaction=0, daily=0, weekly=0, monthly=0)


def spending_blocks(
    wallet: Wallet, tier: Tier, amount: int, spending: Spending
) -> Iterator[SpendingBlock]:
    """All that keeps a wallet from spending: its balance, then the limits in force.

    The interfaces answer with the first.
    """
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
            # A tier that was lowered may leave more spent than it allows.
            yield SpendingBlock(name, limit, max(0, limit - spent))


def spend(wallet: Wallet, amount: int, spending: Spending, moment: Moment) -> Wallet:
    """The wallet after a payment, which counts in these periods."""
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
    world: World, tenant: Tenant, account: int, amount: int, details: str
) -> str | Refusal:
    """Takes a payment out of a wallet and records it in the customer's history.

    Returns the transaction reference. A refused attempt is recorded too, as failed.
    """
    moment = world.moment(tenant)
    wallet = world.wallets.get(account)
    assert wallet is not None
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
        )
    )
    if block is not None:
        return block.refusal
    world.enter_periods(tenant, counted(wallet), spending)
    world.wallets.change(account, spend(wallet, amount, spending, moment))
    return tid


def refund_to_wallet(world: World, tenant: Tenant, payment: Payment) -> None:
    """Returns a payment's whole amount from the merchant to the wallet that paid it.

    What the wallet has spent in its periods is not given back: limits count what left it.
    """
    account = payment.payer_account
    assert account is not None
    wallet = world.wallets.get(account)
    assert wallet is not None
    now, tid = world.at(tenant), world.new_tid()
    merchant, payer = ledger.merchant_account(tenant), ledger.wallet_account(wallet)
    ledger.transfer(
        world, "refund", merchant, payer, payment.amount, tid, now, payment_id=payment.id
    )
    world.wallets.change(account, replace(wallet, balance=wallet.balance + payment.amount))
    world.transactions.append(
        Transaction(
            tid=tid,
            account=account,
            time=now,
            type="refund",
            name=tenant.merchant_name,
            details=payment.title or payment.reference,
            amount=payment.amount,
            status="success",
        )
    )


def move_outside_money(
    world: World,
    tenant: Tenant | None,
    wallet: Wallet,
    kind: Literal["topup", "adjustment"],
    amount: int,
    details: str,
) -> Transaction:
    """Brings money into a wallet from outside the books, or takes it out where negative."""
    now, tid = world.at(tenant), world.new_tid()
    outside, own = ledger.outside_account(wallet.mode), ledger.wallet_account(wallet)
    debit, credit = (outside, own) if amount > 0 else (own, outside)
    ledger.transfer(world, kind, debit, credit, abs(amount), tid, now)
    world.wallets.change(wallet.account, replace(wallet, balance=wallet.balance + amount))
    transaction = Transaction(
        tid=tid,
        account=wallet.account,
        time=now,
        type=kind,
        name="Top-up" if kind == "topup" else "Adjustment",
        details=details,
        amount=amount,
        status="success",
    )
    world.transactions.append(transaction)
    return transaction


@dataclass(frozen=True, slots=True)
class SetSandboxWallet(TenantCommand[Wallet]):
    """Gives a merchant's own sandbox customer the balance and tier that a test needs."""

    tenant: Tenant
    balance: int | None
    tier: str | None

    def needs(self, needs: Needs) -> None:
        needs.lock(World.wallets, self.tenant.sandbox_account)

    def decide(self, world: World) -> Wallet | Refusal:
        account = self.tenant.sandbox_account
        wallet = world.wallets.get(account)
        if wallet is None or not world.same_mode(self.tenant, account):
            return refuse("not_found")
        if self.tier is not None and self.tier not in world.tiers:
            return invalid("tier", f"tier must be one of: {', '.join(sorted(world.tiers))}.")
        if self.balance is not None and self.balance != wallet.balance:
            move_outside_money(
                world,
                self.tenant,
                wallet,
                "adjustment",
                self.balance - wallet.balance,
                "Sandbox balance set",
            )
        if self.tier is not None:
            moved = world.wallets.get(account)
            assert moved is not None
            world.wallets.change(account, replace(moved, tier=self.tier))
        changed = world.wallets.get(account)
        assert changed is not None
        return changed
