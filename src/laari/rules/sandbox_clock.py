"""The sandbox's own time, moved by the merchant's tests."""

from __future__ import annotations

from dataclasses import dataclass

from laari.rules.records import Tenant, TenantClock
from laari.rules.refusals import Refusal, invalid
from laari.rules.world import Needs, World

MAX_OFFSET_SECONDS = 100 * 366 * 86_400  # a hundred years either way keeps every date showable


@dataclass(frozen=True, slots=True)
class MoveClock:
    """Adds to the tenant's offset, or sets it back to real time where `advance_seconds` is None."""

    tenant: Tenant
    advance_seconds: int | None

    def needs(self, needs: Needs) -> None:
        needs.clocks.add(self.tenant.id)

    def decide(self, world: World) -> TenantClock | Refusal:
        clock = world.clocks.get(self.tenant.id)
        assert clock is not None
        offset = (
            0 if self.advance_seconds is None else clock.clock_offset_seconds + self.advance_seconds
        )
        if abs(offset) > MAX_OFFSET_SECONDS:
            return invalid("advance_seconds", "The clock cannot be moved that far.")
        moved = TenantClock(clock.id, offset)
        world.clocks.change(clock.id, moved)
        return moved
