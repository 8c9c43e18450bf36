"""Closing a till: a person fixes its sums since the previous closing.

Not by calendar day: a till may close at one in the morning. Later movements, and those committed
later, belong to the next closing.
"""

from dataclasses import dataclass
from typing import ClassVar

from msgspec.structs import replace

from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.command import TenantCommand
from laari.rules.journal import Act, note
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission, may_not
from laari.rules.records.tenants import Tenant
from laari.rules.records.tills import OpenTill, TillClosing
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import World


@dataclass(frozen=True, slots=True)
class CloseTill(TenantCommand[TillClosing]):
    """Closes a till; an empty name is for the payments that name none.

    `if_number` is the number that a person saw: a form that is sent twice closes once.
    """

    permission: ClassVar[Permission] = "tills.close"
    tenant: Tenant
    till: str
    actor: Actor
    note: str | None = None
    if_number: int | None = None

    def needs(self, needs: Needs) -> None:
        needs.read(World.open_tills, (self.tenant.id, self.till))
        needs.role(self.tenant.merchant_id, self.actor)

    def decide(self, world: World) -> TillClosing | Refusal:
        refusal = may_not(world, self.actor, self.tenant.merchant_id, self.permission)
        if refusal is not None:
            return refusal
        found = world.open_tills.get((self.tenant.id, self.till))
        if found is None:
            return invalid("till", "Nothing was paid at this till yet.")
        if self.if_number not in (None, found.number):
            message = "The till was closed meanwhile. Look at its sums, and decide again."
            return refuse("payment_conflict", message)
        if not found.moved:
            return invalid("till", f"Nothing has moved since closing {found.number - 1}.")
        return self._close(world, found)

    def _close(self, world: World, found: OpenTill) -> TillClosing:
        now = world.at(self.tenant)
        closing = TillClosing(
            id=world.new_id(),
            tenant_id=self.tenant.id,
            till=self.till,
            number=found.number,
            payments=found.payments,
            gross=found.gross,
            fees=found.fees,
            refunds=found.refunds,
            refunded=found.refunded,
            note=self.note,
            actor_kind=self.actor.kind,
            actor_name=self.actor.name,
            snapshot=found.snapshot,
            created_at=now,
        )
        world.till_closings.append(closing)
        # For another closing in the same batch: nothing has moved since this one.
        world.open_tills[self.tenant.id, self.till] = replace(
            found,
            number=found.number + 1,
            since=now,
            payments=0,
            gross=0,
            fees=0,
            refunds=0,
            refunded=0,
        )
        note(
            world,
            Act(self.actor, "till.close"),
            "till_closing",
            ids.show_id(ids.TILL_CLOSING, closing.id),
            merchant_id=self.tenant.merchant_id,
            mode=self.tenant.mode,
            before=None,
            after={
                "till": closing.till,
                "number": closing.number,
                "payments": closing.payments,
                "gross": closing.gross,
                "fees": closing.fees,
                "refunds": closing.refunds,
                "refunded": closing.refunded,
                "note": closing.note,
                "snapshot": closing.snapshot,
            },
        )
        return closing
