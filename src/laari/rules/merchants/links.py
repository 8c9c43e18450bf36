"""Reusable links of a shop: many customers pay at one address, each with a payment of their own."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.command import TenantCommand
from laari.rules.journal import Act, write_setting
from laari.rules.limits.payments import MAX_PAYMENT_AMOUNT
from laari.rules.limits.tills import REUSABLE_LINKS
from laari.rules.merchants.access import busy, refusal_for
from laari.rules.money import money_text
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission
from laari.rules.records.merchants import ReusableLink
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import World

MANAGE: Permission = "links.manage"
MAX_TITLE = 255  # characters, as for a payment

NO_LINK = refuse("conflict", "This merchant has no such link.")
CHANGED = refuse("conflict", "The links were changed meanwhile. Look at them, and decide again.")


def _write(world: World, act: Act, tenant: Tenant, link: ReusableLink) -> None:
    merchant_id, mode = tenant.merchant_id, tenant.mode
    write_setting(world, World.reusable_links, link, act, merchant_id=merchant_id, mode=mode)


@dataclass(frozen=True, slots=True)
class CreateReusableLink(TenantCommand[ReusableLink]):
    """Makes a link; without an `amount`, the customer types it.

    `if_count` is the number of links that a page showed, so that no form makes two.
    """

    actor: Actor
    tenant: Tenant
    title: str
    amount: int | None = None
    ends_at: datetime | None = None
    if_count: int | None = None

    def needs(self, needs: Needs) -> None:
        needs.merchant(self.tenant.merchant_id, self.actor)
        needs.read(World.link_counts, self.tenant.id)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> ReusableLink | Refusal:
        count = world.link_counts[self.tenant.id]
        refusal = refusal_for(world, self.actor, self.tenant.merchant_id, MANAGE)
        if refusal is not None:
            return refusal
        if self.if_count not in (None, count):
            return CHANGED
        refusal = self._not_valid(world)
        if refusal is not None:
            return refusal
        if count >= REUSABLE_LINKS:
            most = REUSABLE_LINKS
            return invalid("title", f"A shop has at most {most} reusable links. End one first.")
        link = ReusableLink(
            id=world.new_id(),
            tenant_id=self.tenant.id,
            token=world.new_token(),
            title=self.title,
            amount=self.amount,
            ends_at=self.ends_at,
            created_at=world.now,
        )
        _write(world, Act(self.actor, "reusable_link.create"), self.tenant, link)
        world.link_counts[self.tenant.id] = count + 1
        return link

    def _not_valid(self, world: World) -> Refusal | None:
        if not 1 <= len(self.title) <= MAX_TITLE or not self.title.isprintable():
            return invalid("title", f"A link has a title of 1 to {MAX_TITLE} printable characters.")
        most = min(self.tenant.max_payment or MAX_PAYMENT_AMOUNT, MAX_PAYMENT_AMOUNT)
        if self.amount is not None and not 1 <= self.amount <= most:
            return invalid("amount", f"The amount must be MVR 0.01 to {money_text(most)}.")
        if self.ends_at is not None and self.ends_at <= world.at(self.tenant):
            return invalid("ends_at", "The end must be in the future.")
        return None


@dataclass(frozen=True, slots=True)
class EndReusableLink(TenantCommand[ReusableLink]):
    """Lets the link take no new payments, for good; a second time changes nothing."""

    actor: Actor
    tenant: Tenant
    link_id: UUID

    def needs(self, needs: Needs) -> None:
        needs.merchant(self.tenant.merchant_id, self.actor)
        needs.lock(World.reusable_links, self.link_id)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> ReusableLink | Refusal:
        refusal = refusal_for(world, self.actor, self.tenant.merchant_id, MANAGE)
        if refusal is not None:
            return refusal
        link = world.reusable_links.get(self.link_id)
        if link is None or link.tenant_id != self.tenant.id:
            return NO_LINK
        if link.ended_at is not None:
            return link
        ended = replace(link, ended_at=world.now)
        _write(world, Act(self.actor, "reusable_link.end"), self.tenant, ended)
        return ended
