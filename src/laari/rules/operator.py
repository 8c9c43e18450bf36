"""The operator's commands about a wallet: move money, set the tier, freeze, unfreeze.

The command line and the operator's desk use them, never a page of a merchant or a customer.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.journal import note_wallet
from laari.rules.money import MAX_MONEY, rufiyaa
from laari.rules.records import MODES, Tenant, TopupSlip, Transaction, Wallet, WalletFreeze
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.wallets import move_outside_money
from laari.rules.world import Needs, World


class MovedMoney(NamedTuple):
    """A movement of money, and the wallet's balance before and after.

    `repeated`: the slip was entered before, and `transaction` is its first top-up.
    """

    transaction: Transaction
    before: int
    after: int
    repeated: bool = False


def needs_slip(needs: Needs, slip: str | None) -> None:
    """Everything that may have used a slip; the wallet's mode is known once its row is loaded."""
    if slip is not None:
        needs.read(World.bank_lines, slip)
        for mode in MODES:
            needs.read(World.topups, (mode, slip))


def in_statement(world: World, wallet: Wallet, slip: str | None) -> Refusal | None:
    """Why a slip brings in no money by hand: the bank's statement has done so, if it has."""
    line = None if slip is None or wallet.mode != "live" else world.bank_lines.get(slip)
    if line is None:
        return None
    done = "assign it instead" if line.use == "receipt" else f"its use is {line.use}"
    return refuse("conflict", f"The bank's statement has a line {slip}: {done}.")


def is_too_large(wallet: Wallet, added: int) -> bool:
    return abs(wallet.balance + added) > MAX_MONEY


@dataclass(frozen=True, slots=True)
class MoveMoney(Command[MovedMoney]):
    """The operator tops a wallet up, or corrects its balance in either direction.

    `tenant` is for a sandbox's clock. `slip` is the bank's reference of a top-up: it counts once.
    """

    actor: Actor
    tenant: Tenant | None
    account: int
    kind: Literal["topup", "adjustment"]
    amount: int
    details: str
    slip: str | None = None
    below_zero: bool = False

    def needs(self, needs: Needs) -> None:
        needs.lock(World.wallets, self.account)
        needs_slip(needs, self.slip)

    def decide(self, world: World) -> MovedMoney | Refusal:
        wallet = world.wallets.get(self.account)
        if wallet is None:
            return no_wallet(self.account)
        if self.slip is not None and (wallet.mode, self.slip) in world.topups:
            return self._again(wallet, world.topups[wallet.mode, self.slip])
        refusal = in_statement(world, wallet, self.slip) or self.refusal(wallet)
        if refusal is not None:
            return refusal
        before, after = wallet.balance, wallet.balance + self.amount
        moved = move_outside_money(world, self.tenant, wallet, self.kind, self.amount, self.details)
        note_wallet(
            *(world, self.actor, f"wallet.{self.kind}", wallet, world.wallets[self.account]),
            merchant_id=None if self.tenant is None else self.tenant.merchant_id,
            moved=moved,
            reason=self.details,
        )
        if self.slip is not None:
            world.topups[wallet.mode, self.slip] = moved
            world.slips.append(TopupSlip(wallet.mode, self.slip, moved.tid))
        return MovedMoney(moved, before, after)

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
            return MovedMoney(first, wallet.balance, wallet.balance, repeated=True)
        used = f"MVR {rufiyaa(first.amount)} to account {first.account} ({first.tid})"
        return refuse("conflict", f"This slip was already used to top up {used}.")


@dataclass(frozen=True, slots=True)
class OneWallet(Command[Wallet]):
    """The operator changes one wallet, locked. A change is in the journal with its reason."""

    verb: ClassVar[str]
    actor: Actor
    account: int

    def needs(self, needs: Needs) -> None:
        needs.lock(World.wallets, self.account)

    def decide(self, world: World) -> Wallet | Refusal:
        wallet = world.wallets.get(self.account)
        if wallet is None:
            return no_wallet(self.account)
        changed = self.changed(world, wallet)
        if not isinstance(changed, Refusal) and changed != wallet:
            world.wallets.change(self.account, changed)
            action = f"wallet.{self.verb}"
            note_wallet(world, self.actor, action, wallet, changed, reason=self.why)
        return changed

    @property
    @abstractmethod
    def why(self) -> str | None:
        """The reason for the journal."""

    @abstractmethod
    def changed(self, world: World, wallet: Wallet) -> Wallet | Refusal: ...


@dataclass(frozen=True, slots=True)
class SetTier(OneWallet):
    """Gives a wallet the limits of another tier; its spending stays counted."""

    verb = "set_tier"
    tier: str
    reason: str | None = None

    @property
    def why(self) -> str | None:
        return self.reason

    def changed(self, world: World, wallet: Wallet) -> Wallet | Refusal:
        if self.tier not in world.tiers:
            return invalid("tier", f"The tier must be one of: {', '.join(sorted(world.tiers))}.")
        return replace(wallet, tier=self.tier)


@dataclass(frozen=True, slots=True)
class FreezeWallet(OneWallet):
    """Stops money from leaving a wallet, or changes the reason and silence of its freeze.

    The customer's pages name a freeze unless it is `silent`. A second freeze with other words is
    refused unless it is a `change`: it must not announce a silent freeze by mistake.
    """

    verb = "freeze"
    reason: str
    silent: bool = False
    change: bool = False

    @property
    def why(self) -> str | None:
        return self.reason

    def changed(self, world: World, wallet: Wallet) -> Wallet | Refusal:
        if (wallet.frozen_reason, wallet.frozen_silently) == (self.reason, self.silent):
            return wallet
        if (wallet.frozen_at is not None) is not self.change:
            return _freeze_conflict(wallet)
        freeze = WalletFreeze(self.account, world.now, "frozen", self.reason, self.silent)
        world.freezes.append(freeze)
        return replace(
            wallet,
            frozen_at=wallet.frozen_at or world.now,
            frozen_reason=self.reason,
            frozen_silently=self.silent,
        )


def _freeze_conflict(wallet: Wallet) -> Refusal:
    if wallet.frozen_at is None:
        return refuse("conflict", "The wallet is not frozen.")
    how = "silently" if wallet.frozen_silently else "with a notice to the customer"
    message = f"The wallet is frozen already, {how}: {wallet.frozen_reason}. Change that freeze."
    return refuse("conflict", message)


@dataclass(frozen=True, slots=True)
class UnfreezeWallet(OneWallet):
    """Restores the limits of the wallet's tier."""

    verb = "unfreeze"
    reason: str | None = None

    @property
    def why(self) -> str | None:
        return self.reason

    def changed(self, world: World, wallet: Wallet) -> Wallet | Refusal:
        if wallet.frozen_at is None:
            return wallet
        world.freezes.append(WalletFreeze(self.account, world.now, "unfrozen", self.reason))
        return replace(wallet, frozen_at=None, frozen_reason=None, frozen_silently=False)


def no_wallet(account: int) -> Refusal:
    return refuse("not_found", f"No wallet has the account number {account}.")
