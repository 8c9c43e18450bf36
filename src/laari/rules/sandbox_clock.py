"""The sandbox's own time, moved by the merchant's tests.

Only the clock changes. What counts in the periods around the new time is found when a wallet or an
authorization is next used or looked at (rules/periods.py), so that a move costs the same however
much has happened in the sandbox.
"""

from dataclasses import dataclass

from laari.rules.command import TenantCommand
from laari.rules.records import Tenant, TenantClock
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import Needs, World

MAX_OFFSET_SECONDS = 100 * 366 * 86_400  # a hundred years either way keeps every date showable


@dataclass(frozen=True, slots=True)
class MoveClock(TenantCommand[TenantClock]):
    """Adds to the tenant's offset, or sets it back to real time where `advance_seconds` is None."""

    tenant: Tenant
    advance_seconds: int | None

    def needs(self, needs: Needs) -> None:
        needs.lock(World.clocks, self.tenant.id)

    def decide(self, world: World) -> TenantClock | Refusal:
        clock = world.clocks.get(self.tenant.id)
        if clock is None or self.tenant.mode != "sandbox":
            return refuse("not_found")
        offset = (
            0 if self.advance_seconds is None else clock.clock_offset_seconds + self.advance_seconds
        )
        if abs(offset) > MAX_OFFSET_SECONDS:
            return invalid("advance_seconds", "The clock cannot be moved that far.")
        moved = TenantClock(clock.id, offset)
        world.clocks.change(clock.id, moved)
        return moved
