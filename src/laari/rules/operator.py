"""The operator, and what the operator does to a wallet: money, its tier, and freezing it.

Only the command line imports this: whoever can run it on the machine is the operator.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from laari.rules.command import Command
from laari.rules.money import MAX_MONEY, rufiyaa
from laari.rules.records import MODES, Tenant, TopupSlip, Transaction, Wallet, WalletFreeze
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.wallets import move_outside_money
from laari.rules.world import Needs, World


class Operator(Struct, frozen=True):
    """The one who runs the service."""


OPERATOR = Operator()


class MovedMoney(NamedTuple):
    """Money that was moved, and the wallet's balance before and after.

    `repeated` is a top-up whose bank slip was entered before: the first one, and nothing moved now.
    """

    transaction: Transaction
    before: int
    after: int
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class MoveMoney(Command[MovedMoney]):
    """The operator tops a wallet up, or corrects it in either direction.

    `tenant` is the merchant whose sandbox the wallet belongs to, for its clock. `slip` is the
    bank's reference of the transfer behind a top-up: it brings its money in once.
    """

    operator: Operator
    tenant: Tenant | None
    account: int
    kind: Literal["topup", "adjustment"]
    amount: int
    details: str
    slip: str | None = None
    below_zero: bool = False

    def needs(self, needs: Needs) -> None:
        needs.lock(World.wallets, self.account)
        if self.slip is not None:
            for mode in MODES:  # the wallet's, which only its row says
                needs.read(World.topups, (mode, self.slip))

    def decide(self, world: World) -> MovedMoney | Refusal:
        wallet = world.wallets.get(self.account)
        if wallet is None:
            return _no_wallet(self.account)
        if self.amount == 0 or (self.kind == "topup" and self.amount < 0):
            return invalid("amount", "The amount must move money in the right direction.")
        if self.slip is not None and (wallet.mode, self.slip) in world.topups:
            return self._again(wallet, world.topups[wallet.mode, self.slip])
        before, after = wallet.balance, wallet.balance + self.amount
        if abs(after) > MAX_MONEY:
            return invalid("amount", "The balance would be too large.")
        if self.amount < 0 and after < 0 and not self.below_zero:
            shown = f"MVR {rufiyaa(before)}, and would be MVR {rufiyaa(after)}"
            return invalid("amount", f"The balance is {shown}: it does not go below zero unasked.")
        moved = move_outside_money(world, self.tenant, wallet, self.kind, self.amount, self.details)
        if self.slip is not None:
            world.topups[wallet.mode, self.slip] = moved
            world.slips.append(TopupSlip(wallet.mode, self.slip, moved.tid))
        return MovedMoney(moved, before, after)

    def _again(self, wallet: Wallet, first: Transaction) -> MovedMoney | Refusal:
        if (first.account, first.amount) == (self.account, self.amount):
            return MovedMoney(first, wallet.balance, wallet.balance, repeated=True)
        was = f"MVR {rufiyaa(first.amount)} into account {first.account}"
        return refuse("conflict", f"This slip was entered before, for {was}: {first.tid}.")


@dataclass(frozen=True, slots=True)
class SetTier(Command[Wallet]):
    """Puts a wallet under the limits of another tier; what it has spent stays counted."""

    operator: Operator
    account: int
    tier: str

    def needs(self, needs: Needs) -> None:
        needs.lock(World.wallets, self.account)

    def decide(self, world: World) -> Wallet | Refusal:
        wallet = world.wallets.get(self.account)
        if wallet is None:
            return _no_wallet(self.account)
        if self.tier not in world.tiers:
            return invalid("tier", f"The tier must be one of: {', '.join(sorted(world.tiers))}.")
        return _changed(world, replace(wallet, tier=self.tier))


@dataclass(frozen=True, slots=True)
class FreezeWallet(Command[Wallet]):
    """Stops money from leaving a wallet; frozen again it stays as it was frozen first."""

    operator: Operator
    account: int
    reason: str

    def needs(self, needs: Needs) -> None:
        needs.lock(World.wallets, self.account)

    def decide(self, world: World) -> Wallet | Refusal:
        wallet = world.wallets.get(self.account)
        if wallet is None:
            return _no_wallet(self.account)
        if wallet.frozen_at is not None:
            return wallet
        world.freezes.append(WalletFreeze(self.account, world.now, "frozen", self.reason))
        return _changed(world, replace(wallet, frozen_at=world.now, frozen_reason=self.reason))


@dataclass(frozen=True, slots=True)
class UnfreezeWallet(Command[Wallet]):
    """Puts a wallet's own limits back in force."""

    operator: Operator
    account: int

    def needs(self, needs: Needs) -> None:
        needs.lock(World.wallets, self.account)

    def decide(self, world: World) -> Wallet | Refusal:
        wallet = world.wallets.get(self.account)
        if wallet is None:
            return _no_wallet(self.account)
        if wallet.frozen_at is None:
            return wallet
        world.freezes.append(WalletFreeze(self.account, world.now, "unfrozen", None))
        return _changed(world, replace(wallet, frozen_at=None, frozen_reason=None))


def _changed(world: World, wallet: Wallet) -> Wallet:
    world.wallets.change(wallet.account, wallet)
    return wallet


def _no_wallet(account: int) -> Refusal:
    return refuse("not_found", f"No wallet has the account number {account}.")
