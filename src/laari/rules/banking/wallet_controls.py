"""The operator's commands about a wallet: set the tier, freeze, unfreeze.

The command line and the operator's desk use them, never a page of a merchant or a customer.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.journal import note_wallet
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission, lacks
from laari.rules.records.wallets import Wallet, WalletFreeze
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.wallets import no_wallet
from laari.rules.world import World


@dataclass(frozen=True, slots=True)
class OneWallet(Command[Wallet]):
    """The operator changes one wallet, locked. A change is in the journal with its reason."""

    verb: ClassVar[str]
    permission: ClassVar[Permission]
    actor: Actor
    account: int

    def needs(self, needs: Needs) -> None:
        needs.lock(World.wallets, self.account)

    def decide(self, world: World) -> Wallet | Refusal:
        refusal = lacks(self.actor, self.permission)
        if refusal is not None:
            return refusal
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
    permission = "customers.change"
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
    permission = "wallets.freeze"
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
    permission = "wallets.freeze"
    reason: str | None = None

    @property
    def why(self) -> str | None:
        return self.reason

    def changed(self, world: World, wallet: Wallet) -> Wallet | Refusal:
        if wallet.frozen_at is None:
            return wallet
        world.freezes.append(WalletFreeze(self.account, world.now, "unfrozen", self.reason))
        return replace(wallet, frozen_at=None, frozen_reason=None, frozen_silently=False)
