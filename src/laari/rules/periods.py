"""The calendar periods that limits apply to, for wallets and for authorizations.

Periods never go backwards: with an earlier clock, spending counts in the period that has begun. A
sandbox's clock may come back to a period, so its row puts the sum aside when it leaves one.
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import NamedTuple, TypeAlias
from uuid import UUID

from laari.rules.calendar import Interval, period_start

# The owner (a customer or an authorization), the length and the first day of a period.
PeriodKey: TypeAlias = tuple[UUID, Interval, date]


class Period(NamedTuple):
    """A period, and the sum counted in it so far."""

    start: date
    spent: int


class Counted(NamedTuple):
    """A period as a row stores it, with the offset of the sandbox's clock at the last count."""

    owner: UUID
    interval: Interval
    start: date | None
    spent: int
    offset_seconds: int


class Moment(NamedTuple):
    """A tenant's time, the offset of its clock, and the sums put aside for other periods.

    `aside` is None in live mode: clocks are not moved, and periods do not come back.
    """

    now: datetime
    offset_seconds: int = 0
    aside: Mapping[PeriodKey, int] | None = None


def running(counted: Counted, moment: Moment) -> Period:
    """The period in which spending at this moment counts."""
    start = period_start(moment.now, counted.interval)
    moved = moment.aside is not None and moment.offset_seconds != counted.offset_seconds
    if counted.start is not None and (
        counted.start == start or (counted.start > start and not moved)
    ):
        return Period(counted.start, counted.spent)
    if moment.aside is None:
        return Period(start, 0)
    # A period that was not looked up is a defect: treating it as empty would lift the limit.
    return Period(start, moment.aside[counted.owner, counted.interval, start])


def others(counted: Iterable[Counted], now: datetime) -> set[PeriodKey]:
    """The periods at this time that these rows do not store: a sandbox looks them up."""
    starts = ((each, period_start(now, each.interval)) for each in counted)
    return {(each.owner, each.interval, start) for each, start in starts if start != each.start}


def left(counted: Counted, period: Period) -> tuple[PeriodKey, int] | None:
    """The sum that a sandbox row puts aside when it moves to this period, if any."""
    if counted.start is None or counted.start == period.start or not counted.spent:
        return None
    return (counted.owner, counted.interval, counted.start), counted.spent
