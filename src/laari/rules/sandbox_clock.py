"""The sandbox's own time, moved by the merchant's tests.

What was spent in the running periods stands on rows that only ever see time go forward. A clock
that is moved may land in any period, so the move itself counts anew from the history.
"""

from __future__ import annotations

from dataclasses import dataclass

from laari.rules.records import Tenant, TenantClock
from laari.rules.refusals import Refusal, invalid
from laari.rules.wallets import recount
from laari.rules.world import Needs, World, local_time

MAX_OFFSET_SECONDS = 100 * 366 * 86_400  # a hundred years either way keeps every date showable


@dataclass(frozen=True, slots=True)
class MoveClock:
    """Adds to the tenant's offset, or sets it back to real time where `advance_seconds` is None."""

    tenant: Tenant
    advance_seconds: int | None

    def needs(self, needs: Needs) -> None:
        needs.clocks.add(self.tenant.id)
        needs.wallets.add(self.tenant.sandbox_account)
        needs.spending_of.add(self.tenant.sandbox_account)

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
        wallet = world.wallets.get(self.tenant.sandbox_account)
        assert wallet is not None
        spending = world.spending.get(wallet.account, {})
        world.wallets.change(
            wallet.account, recount(wallet, spending, local_time(world.now, moved))
        )
        return moved
