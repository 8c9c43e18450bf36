"""The fee terms of a merchant: in force at once, or from a later moment on.

`laari.rules.payments.fees` computes the fee of a payment.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.calendar import local_day
from laari.rules.command import Command
from laari.rules.journal import Act, remove_setting, write_setting
from laari.rules.merchants.access import busy, refusal_for
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission
from laari.rules.records.merchants import ScheduledFees
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import World

STARTER = Actor("service", "scheduled fees")


@dataclass(frozen=True, slots=True)
class SetFees(Command[bool]):
    """Sets the fees now, or from a later moment on; the same moment again replaces them.

    The result says whether they begin later. A moment of today that has passed is now.
    """

    permission: ClassVar[Permission] = "fees.change"
    actor: Actor
    merchant_id: str
    fee_bps: int
    fee_fixed: int
    starts_at: datetime | None = None
    reason: str | None = None

    def needs(self, needs: Needs) -> None:
        needs.merchant(self.merchant_id, self.actor)
        if self.starts_at is not None:
            needs.lock(World.scheduled_fees, (self.merchant_id, self.starts_at))

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> bool | Refusal:
        refusal = refusal_for(world, self.actor, self.merchant_id, self.permission)
        if refusal is not None:
            return refusal
        starts_at = self.starts_at
        if starts_at is not None and starts_at > world.now:
            self._schedule(world, starts_at)
            return True
        if starts_at is not None and local_day(starts_at) != local_day(world.now):
            return invalid("from", "The first day has passed. Fees cannot begin in the past.")
        act = Act(self.actor, "merchant.set_fees", self.reason)
        _set(world, act, self.merchant_id, self.fee_bps, self.fee_fixed)
        return False

    def _schedule(self, world: World, starts_at: datetime) -> None:
        scheduled = ScheduledFees(
            merchant_id=self.merchant_id,
            starts_at=starts_at,
            fee_bps=self.fee_bps,
            fee_fixed=self.fee_fixed,
            scheduled_by=self.actor.name,
            scheduled_at=world.now,
        )
        act = Act(self.actor, "fees.schedule", self.reason)
        write_setting(world, World.scheduled_fees, scheduled, act, merchant_id=self.merchant_id)


@dataclass(frozen=True, slots=True)
class CancelFees(Command[ScheduledFees]):
    """Removes fees that have not begun."""

    permission: ClassVar[Permission] = "fees.change"
    actor: Actor
    merchant_id: str
    starts_at: datetime

    def needs(self, needs: Needs) -> None:
        needs.merchant(self.merchant_id, self.actor)
        needs.lock(World.scheduled_fees, (self.merchant_id, self.starts_at))

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> ScheduledFees | Refusal:
        refusal = refusal_for(world, self.actor, self.merchant_id, self.permission)
        if refusal is not None:
            return refusal
        found = world.scheduled_fees.get((self.merchant_id, self.starts_at))
        if found is None:
            return refuse("conflict", "These fees are not scheduled, or have begun.")
        _remove(world, Act(self.actor, "fees.cancel"), found)
        return found


@dataclass(frozen=True, slots=True)
class StartFees(Command[ScheduledFees]):
    """Sets scheduled fees whose moment has come."""

    merchant_id: str
    starts_at: datetime

    def needs(self, needs: Needs) -> None:
        needs.lock(World.merchant_settings, self.merchant_id)
        needs.lock(World.scheduled_fees, (self.merchant_id, self.starts_at))

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> ScheduledFees | Refusal:
        due = world.scheduled_fees.get((self.merchant_id, self.starts_at))
        if due is None or due.starts_at > world.now:
            return refuse("not_found")
        _remove(world, Act(STARTER, "fees.start"), due)
        act = Act(STARTER, "merchant.set_fees")
        _set(world, act, due.merchant_id, due.fee_bps, due.fee_fixed)
        return due


def _set(world: World, act: Act, merchant_id: str, fee_bps: int, fee_fixed: int) -> None:
    merchant = world.merchant_settings[merchant_id]
    changed = replace(merchant, fee_bps=fee_bps, fee_fixed=fee_fixed)
    write_setting(world, World.merchant_settings, changed, act, merchant_id=merchant_id)


def _remove(world: World, act: Act, fees: ScheduledFees) -> None:
    remove_setting(world, World.scheduled_fees, fees, act, merchant_id=fees.merchant_id)
