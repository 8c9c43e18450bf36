"""The calendar periods that limits count in: one rule, for wallets and for authorizations.

A row keeps what was counted in one period of each length. Time goes forward, and with it the
period: what a server with an earlier clock spends counts in the period that has already begun,
since to go back would forget what was counted there.

A sandbox's clock may be moved to any time, by a merchant who then finds the usage of that time
again. A sandbox row that leaves a period therefore puts its sum aside, and a row that comes to a
period takes up what was put aside for it. Moving the clock itself touches no row at all.
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import NamedTuple, TypeAlias
from uuid import UUID

from laari.rules.calendar import Interval, period_start

# Whose period, how long it is, and when it began. The owner is a customer or an authorization.
PeriodKey: TypeAlias = tuple[UUID, Interval, date]


class Period(NamedTuple):
    """The period that something counts in, and what was counted in it before."""

    start: date
    spent: int


class Counted(NamedTuple):
    """What a row keeps: one period, and how far the sandbox's clock was moved when it counted."""

    owner: UUID
    interval: Interval
    start: date | None
    spent: int
    offset_seconds: int


class Moment(NamedTuple):
    """A tenant's time, how far its clock is moved, and what was put aside for other periods.

    `aside` is None in live mode, where no clock is moved and no period comes back.
    """

    now: datetime
    offset_seconds: int = 0
    aside: Mapping[PeriodKey, int] | None = None


def running(counted: Counted, moment: Moment) -> Period:
    """The period that something which happens at this moment counts in."""
    start = period_start(moment.now, counted.interval)
    moved = moment.aside is not None and moment.offset_seconds != counted.offset_seconds
    if counted.start is not None and (
        counted.start == start or (counted.start > start and not moved)
    ):
        return Period(counted.start, counted.spent)
    if moment.aside is None:
        return Period(start, 0)
    # A period that was not looked up is a defect: to take it for an empty one would lift the limit.
    return Period(start, moment.aside[counted.owner, counted.interval, start])


def others(counted: Iterable[Counted], now: datetime) -> set[PeriodKey]:
    """The periods at this time that these rows do not hold: what to look up in a sandbox."""
    starts = ((each, period_start(now, each.interval)) for each in counted)
    return {(each.owner, each.interval, start) for each, start in starts if start != each.start}


def left(counted: Counted, period: Period) -> tuple[PeriodKey, int] | None:
    """What a sandbox row puts aside when it moves to this period, if anything."""
    if counted.start is None or counted.start == period.start or not counted.spent:
        return None
    return (counted.owner, counted.interval, counted.start), counted.spent
