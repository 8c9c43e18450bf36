"""Customers' wallets: what they may spend, and how money enters and leaves them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from msgspec.structs import replace

from laari.rules import ids, ledger
from laari.rules.calendar import period_start, total_in_period
from laari.rules.money import MAX_MONEY
from laari.rules.records import Payment, Tenant, Tier, Transaction, Wallet
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import Needs, World


def spent_now(wallet: Wallet, now: datetime) -> tuple[int, int, int]:
    """What counts against the daily, weekly and monthly limits at this moment."""

    def current(start: date, spent: int, running: date) -> int:
        return spent if start == running else 0

    return (
        current(wallet.day_start, wallet.day_spent, period_start(now, "day")),
        current(wallet.week_start, wallet.week_spent, period_start(now, "week")),
        current(wallet.month_start, wallet.month_spent, period_start(now, "month")),
    )


def may_spend(wallet: Wallet, tier: Tier, amount: int, now: datetime) -> Refusal | None:
    """Balance first, then the limits of the wallet's tier."""
    if wallet.balance < amount:
        return refuse("insufficient_balance")
    day, week, month = spent_now(wallet, now)
    for limit, used in (
        (tier.per_transaction, 0),
        (tier.daily, day),
        (tier.weekly, week),
        (tier.monthly, month),
    ):
        if limit is not None and used + amount > limit:
            return refuse("wallet_limit_exceeded")
    return None


def spend(wallet: Wallet, amount: int, now: datetime) -> Wallet:
    day, week, month = spent_now(wallet, now)
    return replace(
        wallet,
        balance=wallet.balance - amount,
        day_start=period_start(now, "day"),
        day_spent=day + amount,
        week_start=period_start(now, "week"),
        week_spent=week + amount,
        month_start=period_start(now, "month"),
        month_spent=month + amount,
    )


def recount(wallet: Wallet, spending: Mapping[date, int], now: datetime) -> Wallet:
    """The wallet with what it spent in the periods around this moment, from its days' totals."""

    day_start, day_spent = total_in_period(spending, now, "day")
    week_start, week_spent = total_in_period(spending, now, "week")
    month_start, month_spent = total_in_period(spending, now, "month")
    return replace(
        wallet,
        day_start=day_start,
        day_spent=day_spent,
        week_start=week_start,
        week_spent=week_spent,
        month_start=month_start,
        month_spent=month_spent,
    )


def take_payment(
    world: World, tenant: Tenant, account: int, amount: int, details: str
) -> str | Refusal:
    """Takes a payment out of a wallet and records it in the customer's history.

    Answers the transaction reference. A refused attempt is recorded too, as failed.
    """
    now = world.at(tenant)
    wallet = world.wallets.get(account)
    assert wallet is not None
    refusal = may_spend(wallet, world.tiers[wallet.tier], amount, now)
    tid = ids.new_tid()
    world.transactions.append(
        Transaction(
            tid=tid,
            account=account,
            time=now,
            type="payment",
            name=tenant.merchant_name,
            details=details,
            amount=-amount,
            status="success" if refusal is None else "failed",
        )
    )
    if refusal is not None:
        return refusal
    world.wallets.change(account, spend(wallet, amount, now))
    return tid


def give_back(world: World, tenant: Tenant, payment: Payment) -> None:
    """Returns a payment's whole amount from the merchant to the wallet that paid it.

    What the wallet has spent in its periods is not given back: limits count what left it.
    """
    account = payment.payer_account
    assert account is not None
    wallet = world.wallets.get(account)
    assert wallet is not None
    now, tid = world.at(tenant), ids.new_tid()
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
    now, tid = world.at(tenant), ids.new_tid()
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
class MoveMoney:
    """The operator tops a wallet up, or corrects it in either direction.

    `tenant` is the merchant whose sandbox the wallet belongs to, for its clock.
    """

    tenant: Tenant | None
    account: int
    kind: Literal["topup", "adjustment"]
    amount: int
    details: str

    def needs(self, needs: Needs) -> None:
        needs.wallets.add(self.account)

    def decide(self, world: World) -> Transaction | Refusal:
        wallet = world.wallets.get(self.account)
        if wallet is None:
            return refuse("not_found", f"No wallet has the account number {self.account}.")
        if self.amount == 0 or (self.kind == "topup" and self.amount < 0):
            return invalid("amount", "The amount must move money in the right direction.")
        if abs(wallet.balance + self.amount) > MAX_MONEY:
            return invalid("amount", "The balance would be too large.")
        return move_outside_money(world, self.tenant, wallet, self.kind, self.amount, self.details)


@dataclass(frozen=True, slots=True)
class SetSandboxWallet:
    """Gives a merchant's own sandbox customer the balance and tier that a test needs."""

    tenant: Tenant
    balance: int | None
    tier: str | None

    def needs(self, needs: Needs) -> None:
        needs.wallets.add(self.tenant.sandbox_account)

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
