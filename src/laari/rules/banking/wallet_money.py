"""The operator moves money into a wallet or out of it: top-ups, corrections, opening balances."""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple
from uuid import UUID

from msgspec import Struct

from laari.rules.actors import Actor
from laari.rules.banking.second_person import (
    Asked,
    Booked,
    Controlled,
    Prepared,
    count_alone,
    needs_day,
    needs_reference,
)
from laari.rules.command import Command
from laari.rules.journal import Act, note_wallet
from laari.rules.money import MAX_MONEY, rufiyaa
from laari.rules.needs import Needs
from laari.rules.people.new_customers import CustomerDraft, needs_contacts, open_wallet, taken
from laari.rules.people.permissions import Permission, lacks
from laari.rules.people.wallet_keys import add_first_key, new_key
from laari.rules.records.tenants import MODES, Tenant
from laari.rules.records.wallets import TopupSlip, Transaction, Wallet
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.wallets import move_outside_money, no_wallet
from laari.rules.world import World

MAX_SLIP = 100  # characters
OPENING = "Opening balance"
NEEDS_SECOND = refuse(
    "conflict",
    "this balance needs a second person: create the wallet without one, and then top it up",
)


class MovedMoney(NamedTuple):
    """A movement of money, and the wallet's balance before and after.

    `repeated`: the slip was entered before, and `transaction` is its first top-up.
    """

    transaction: Transaction
    before: int
    after: int
    repeated: bool = False
    slip: str | None = None


def needs_slip(needs: Needs, slip: str | None) -> None:
    """Everything that may have used a slip; the wallet's mode is known once its row is loaded."""
    needs_reference(needs, slip)
    if slip is not None:
        needs.read(World.bank_lines, slip)
        for mode in MODES:
            needs.read(World.topups, (mode, slip))


def in_statement(world: World, wallet: Wallet, slip: str | None) -> Refusal | None:
    """Why this slip cannot be entered by hand: the statement has booked it."""
    line = None if slip is None or wallet.mode != "live" else world.bank_lines.get(slip)
    if line is None:
        return None
    done = "assign it instead" if line.use == "receipt" else f"its use is {line.use}"
    return refuse("conflict", f"The bank's statement has a line {slip}: {done}.")


def is_too_large(wallet: Wallet, added: int) -> bool:
    return abs(wallet.balance + added) > MAX_MONEY


@dataclass(frozen=True, slots=True)
class MoveMoney(Controlled[MovedMoney]):
    """The operator tops a wallet up, or corrects its balance in either direction.

    `tenant` is for a sandbox's clock. `slip` is the bank's reference of a top-up: it counts once.
    """

    permission = "wallets.move"
    actor: Actor
    tenant: Tenant | None
    account: int
    kind: Literal["topup", "adjustment"]
    amount: int
    details: str
    slip: str | None = None
    below_zero: bool = False
    if_moved: int | None = None

    def rows(self, needs: Needs) -> None:
        needs.lock(World.wallets, self.account)
        needs_slip(needs, self.slip)

    def prepare(self, world: World) -> Prepared[MovedMoney] | MovedMoney | Refusal:
        wallet = world.wallets.get(self.account)
        if wallet is None:
            return no_wallet(self.account)
        if self.slip is not None and (wallet.mode, self.slip) in world.topups:
            return self._again(wallet, world.topups[wallet.mode, self.slip])
        refusal = in_statement(world, wallet, self.slip) or self.refusal(wallet)
        if refusal is not None:
            return refusal
        asked = Asked(
            self.kind,
            wallet.mode,
            self.amount,
            self.details,
            account=self.account,
            reference=self.slip,
            below_zero=self.below_zero,
        )
        return Prepared(asked, lambda: self._book(world, wallet))

    def _book(self, world: World, wallet: Wallet) -> Booked[MovedMoney]:
        before, after = wallet.balance, wallet.balance + self.amount
        moved = move_outside_money(
            world, self.tenant, wallet, self.kind, self.amount, details=self.details
        )
        note_wallet(
            world,
            self.actor,
            f"wallet.{self.kind}",
            wallet,
            world.wallets[self.account],
            merchant_id=None if self.tenant is None else self.tenant.merchant_id,
            moved=moved,
            reason=self.details,
        )
        if self.slip is not None:
            world.topups[wallet.mode, self.slip] = moved
            world.slips.append(TopupSlip(wallet.mode, self.slip, moved.tid))
        return Booked(MovedMoney(moved, before, after, slip=self.slip), moved.tid)

    def refusal(self, wallet: Wallet) -> Refusal | None:
        """Why this amount cannot be moved now."""
        if self.amount == 0 or (self.kind == "topup" and self.amount < 0):
            allowed = "positive" if self.kind == "topup" else "positive or negative, not zero"
            return invalid("amount", f"The amount must be {allowed}.")
        before, after = wallet.balance, wallet.balance + self.amount
        if is_too_large(wallet, self.amount):
            return invalid("amount", "The balance would be too large.")
        if self.amount < 0 and after < 0 and not self.below_zero:
            change = f"from MVR {rufiyaa(before)} to MVR {rufiyaa(after)}"
            message = f"This would change the balance {change}, and below zero is not allowed."
            return invalid("amount", message)
        return None

    def _again(self, wallet: Wallet, first: Transaction) -> MovedMoney | Refusal:
        if (first.account, first.amount) == (self.account, self.amount):
            return MovedMoney(first, wallet.balance, wallet.balance, repeated=True, slip=self.slip)
        used = f"MVR {rufiyaa(first.amount)} to account {first.account} ({first.tid})"
        return refuse("conflict", f"This slip was already used to top up {used}.")


class NewCustomer(Struct, frozen=True):
    """A new customer; the key is shown only now."""

    id: UUID
    account: int
    api_key: str


@dataclass(frozen=True, slots=True)
class CreateCustomer(Command[NewCustomer]):
    """Makes a customer with a wallet, its first API key and its opening balance.

    A live balance counts as a top-up for the rule of the second person, and is refused above it.
    """

    permission: ClassVar[Permission] = "customers.change"
    actor: Actor
    id: UUID
    draft: CustomerDraft
    tier: str
    balance: int = 0

    def needs(self, needs: Needs) -> None:
        needs.read(World.new_accounts, str(self.id))
        needs_contacts(needs, self.draft)
        if self.balance:
            needs_day(needs, self.actor)

    def decide(self, world: World) -> NewCustomer | Refusal:
        refusal = self._refusal(world)
        if refusal is not None:
            return refusal
        account = world.new_accounts[str(self.id)]
        act = Act(self.actor, "customer.create")
        wallet = open_wallet(world, act, self.draft, self.id, account, tier=self.tier)
        if self.balance:
            open_with(world, self.actor, wallet, self.balance, reason=OPENING)
        api_key = new_key(world)
        add_first_key(world, self.actor, account, api_key)
        return NewCustomer(self.id, account, api_key)

    def _refusal(self, world: World) -> Refusal | None:
        """The sum of the day comes last: it is counted here."""
        refusal = lacks(self.actor, self.permission) or taken(world, self.draft)
        if refusal is None and self.balance:
            refusal = lacks(self.actor, MoveMoney.permission)
        if refusal is not None:
            return refusal
        if self.tier not in world.tiers:
            return invalid("tier", f"no tier is called {self.tier}")
        if not 0 <= self.balance <= MAX_MONEY:
            return invalid("balance", f"The balance must be from 0 to {MAX_MONEY} laari.")
        if not self.balance or self.draft.mode != "live":
            return None
        return None if count_alone(world, self.actor, self.balance) else NEEDS_SECOND


def open_with(
    world: World,
    actor: Actor,
    wallet: Wallet,
    balance: int,
    *,
    merchant_id: str | None = None,
    reason: str | None = None,
) -> None:
    """Books the first money of a wallet like any other from outside."""
    moved = move_outside_money(world, None, wallet, "topup", balance, details=OPENING)
    note_wallet(
        world,
        actor,
        "wallet.topup",
        wallet,
        world.wallets[wallet.account],
        merchant_id=merchant_id,
        moved=moved,
        reason=reason,
    )
