"""The sandbox's own time, moved by the merchant's tests.

What was spent and charged in the running periods stands on rows that only ever see time go forward.
A clock that is moved may land in any period, so the move itself counts anew from the history.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from laari.rules import limits, wallets
from laari.rules.calendar import local_day
from laari.rules.records import Tenant, TenantClock
from laari.rules.refusals import Refusal, invalid, refuse
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
        needs.charges_of_tenants.add(self.tenant.id)

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
        now = local_time(world.now, moved)
        self._recount_wallet(world, now)
        self._recount_authorizations(world, now)
        return moved

    def _recount_wallet(self, world: World, now: datetime) -> None:
        wallet = world.wallets.get(self.tenant.sandbox_account)
        assert wallet is not None
        spending = Counter(world.spending.get(wallet.account, {}))
        for line in world.transactions:  # of commands before this one in the batch
            if (line.account, line.type, line.status) == (wallet.account, "payment", "success"):
                spending[local_day(line.time)] -= line.amount
        world.wallets.change(wallet.account, wallets.recount(wallet, spending, now))

    def _recount_authorizations(self, world: World, now: datetime) -> None:
        charged = {key: Counter(by_day) for key, by_day in world.charged.items()}
        for payment in world.payments.added.values():
            if payment.authorization_id is not None and payment.paid_at is not None:
                by_day = charged.setdefault(payment.authorization_id, Counter())
                by_day[local_day(payment.paid_at)] += payment.amount
        for key, authorization in list(world.authorizations.seen.items()):
            if authorization.tenant_id == self.tenant.id:
                counted = limits.recount(authorization, charged.get(key, {}), now)
                if counted != authorization:
                    world.authorizations.change(key, counted)
