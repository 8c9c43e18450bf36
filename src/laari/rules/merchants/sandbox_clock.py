"""The sandbox's clock. A move changes no other row.

`World.at` adds the offset to the time of each command, so that rows become overdue
(`rules/lifecycle.py`). Usage is looked up later (`rules/periods.py`).
"""

from dataclasses import dataclass
from typing import ClassVar

from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.command import TenantCommand
from laari.rules.journal import Act, note_of_tenant
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission, may_not
from laari.rules.records.tenants import Tenant, TenantSettings
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import World

MAX_OFFSET_SECONDS = 100 * 366 * 86_400  # a hundred years either way keeps every date showable


@dataclass(frozen=True, slots=True)
class MoveClock(TenantCommand[TenantSettings]):
    """Adds to the tenant's offset, or returns to real time if `advance_seconds` is None."""

    permission: ClassVar[Permission] = "sandbox.control"
    tenant: Tenant
    actor: Actor
    advance_seconds: int | None

    def needs(self, needs: Needs) -> None:
        needs.lock(World.tenant_settings, self.tenant.id)
        needs.role(self.tenant.merchant_id, self.actor)

    def decide(self, world: World) -> TenantSettings | Refusal:
        refusal = may_not(world, self.actor, self.tenant.merchant_id, self.permission)
        if refusal is not None:
            return refusal
        clock = world.tenant_settings.get(self.tenant.id)
        if clock is None or self.tenant.mode != "sandbox":
            return refuse("not_found")
        offset = (
            0 if self.advance_seconds is None else clock.clock_offset_seconds + self.advance_seconds
        )
        if abs(offset) > MAX_OFFSET_SECONDS:
            return invalid("advance_seconds", "The clock cannot be moved more than 100 years.")
        moved = replace(clock, clock_offset_seconds=offset)
        world.tenant_settings.change(clock.id, moved)
        if moved != clock:
            note_of_tenant(
                world,
                Act(self.actor, "sandbox.move_clock"),
                self.tenant,
                "sandbox_clock",
                str(clock.id),
                before={"offset_seconds": clock.clock_offset_seconds},
                after={"offset_seconds": offset},
            )
        return moved
