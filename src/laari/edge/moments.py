"""The moment at which a page or a reply shows usage, as a command would see it."""

from collections.abc import Iterable
from datetime import datetime

from laari.edge.backend import Backend
from laari.rules.periods import Counted, Moment, others
from laari.rules.records import Mode, Tenant, TenantClock
from laari.store.batch import sandbox_periods


async def moment_at(
    backend: Backend,
    mode: Mode,
    clock: Tenant | TenantClock | None,
    now: datetime,
    counted: Iterable[Counted],
) -> Moment:
    """`now` is the time on that clock; None is real time."""
    if mode == "live":
        return Moment(now)
    wanted = others(counted, now)
    aside = await backend.ask(sandbox_periods.put_aside, wanted) if wanted else {}
    return Moment(now, 0 if clock is None else clock.clock_offset_seconds, aside)
