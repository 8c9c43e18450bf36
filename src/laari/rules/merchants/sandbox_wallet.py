"""The wallet of a merchant's sandbox customer, as its tests set it."""

from dataclasses import dataclass
from typing import ClassVar

from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.command import TenantCommand
from laari.rules.journal import note_wallet
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission, may_not
from laari.rules.records.tenants import Tenant
from laari.rules.records.wallets import Wallet
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.wallets import move_outside_money
from laari.rules.world import World


@dataclass(frozen=True, slots=True)
class SetSandboxWallet(TenantCommand[Wallet]):
    """Sets the balance and the tier of a merchant's sandbox customer, for tests."""

    permission: ClassVar[Permission] = "sandbox.control"
    tenant: Tenant
    actor: Actor
    balance: int | None
    tier: str | None

    def needs(self, needs: Needs) -> None:
        needs.lock(World.wallets, self.tenant.sandbox_account)
        needs.role(self.tenant.merchant_id, self.actor)

    def decide(self, world: World) -> Wallet | Refusal:
        refusal = may_not(world, self.actor, self.tenant.merchant_id, self.permission)
        if refusal is not None:
            return refusal
        account = self.tenant.sandbox_account
        wallet = world.wallets.get(account)
        if wallet is None or not world.same_mode(self.tenant, account):
            return refuse("not_found")
        if self.tier is not None and self.tier not in world.tiers:
            return invalid("tier", f"tier must be one of: {', '.join(sorted(world.tiers))}.")
        moved = None
        if self.balance is not None and self.balance != wallet.balance:
            change, details = self.balance - wallet.balance, "Sandbox balance set"
            moved = move_outside_money(
                world, self.tenant, wallet, "adjustment", change, details=details
            )
        if self.tier is not None:
            world.wallets.change(account, replace(world.wallets[account], tier=self.tier))
        after = world.wallets[account]
        if after != wallet:
            note_wallet(
                world,
                self.actor,
                "sandbox.set_wallet",
                wallet,
                after,
                merchant_id=self.tenant.merchant_id,
                moved=moved,
            )
        return after
