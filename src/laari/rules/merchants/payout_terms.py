"""The operator's terms of payouts for a merchant in one mode."""

from dataclasses import dataclass
from typing import ClassVar

from msgspec import UNSET, Struct, UnsetType, structs
from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.journal import Act, write_setting
from laari.rules.merchants.access import busy, refusal_for
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission
from laari.rules.records.payouts import PayoutTerms
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World


class NewTerms(Struct, frozen=True):
    """New values; those that are not given stay. No reason means no pause."""

    minimum: int | UnsetType = UNSET
    fee: int | UnsetType = UNSET
    on_request: bool | UnsetType = UNSET
    paused_reason: str | UnsetType | None = UNSET


@dataclass(frozen=True, slots=True)
class ChangePayoutTerms(Command[PayoutTerms]):
    permission: ClassVar[Permission] = "fees.change"
    actor: Actor
    tenant_id: int
    terms: NewTerms

    def needs(self, needs: Needs) -> None:
        def follow(needs: Needs, world: World) -> None:
            tenant = world.tenants.get(self.tenant_id)
            if tenant is not None:  # the lock lets only one make the first terms
                needs.merchant(tenant.merchant_id, self.actor)

        needs.read(World.tenants, self.tenant_id)
        needs.then(World.tenants, follow)
        needs.lock(World.payout_terms, self.tenant_id)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> PayoutTerms | Refusal:
        tenant = world.tenants.get(self.tenant_id)
        if tenant is None:
            return refuse("not_found")
        refusal = refusal_for(world, self.actor, tenant.merchant_id, self.permission)
        if refusal is not None:
            return refusal
        given = {
            name: each for name, each in structs.asdict(self.terms).items() if each is not UNSET
        }
        before = world.payout_terms.get(tenant.id) or PayoutTerms(tenant.id)
        changed = replace(before, **given)
        reason = self.terms.paused_reason
        act = Act(self.actor, "payout_terms.change", None if reason is UNSET else reason)
        write_setting(
            world,
            World.payout_terms,
            changed,
            act,
            merchant_id=tenant.merchant_id,
            mode=tenant.mode,
        )
        return changed
