"""Time: every tenant has a clock, and the calendar is that of the Maldives (+05:00).

The model cannot know the microsecond at which the service decides; it knows that it lies between
the request and the response. A `Stamp` is such a moment: the service's own, bound when first seen.
Tests move clocks by whole hours and set deadlines on half hours, and no call is sent in the last
seconds of an hour. So every question of "before or after" has one answer within a stamp's bounds.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import TypeAlias

MALDIVES = timezone(timedelta(hours=5))
HOUR = 3600
DAY = 24 * HOUR


@dataclass(frozen=True)
class Stamp:
    """When something happened, on its tenant's clock, in seconds since 1970."""

    key: tuple[object, ...]
    earliest: float
    latest: float


@dataclass(frozen=True)
class Deadline:
    """24 hours after something happened."""

    begun: Stamp


When: TypeAlias = Stamp | Deadline | int  # an int was given by the merchant, to the second


def seconds(when: When) -> float:
    match when:
        case Stamp():
            return when.earliest
        case Deadline():
            return when.begun.earliest + DAY
    return when


def has_passed(when: When | None, now: Stamp) -> bool:
    return when is not None and seconds(when) <= now.earliest


def local(when: When) -> datetime:
    return datetime.fromtimestamp(seconds(when), MALDIVES)


def period_start(when: When, interval: str) -> date:
    """Day at midnight, week on Sunday, month on the first, year on January 1."""
    today = local(when).date()
    match interval:
        case "day":
            return today
        case "week":
            return today - timedelta(days=(today.weekday() + 1) % 7)
        case "month":
            return today.replace(day=1)
    return today.replace(month=1, day=1)


def next_period(when: When, interval: str) -> int:
    """When the next period begins."""
    day = period_start(when, interval) + timedelta(days=1)
    while period_start(_midnight(day), interval) != day:
        day += timedelta(days=1)
    return _midnight(day)


def _midnight(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=MALDIVES).timestamp())


def spent_in_period(spendings: tuple[tuple[Stamp, int], ...], interval: str, now: Stamp) -> int:
    """What was spent in the calendar period of this moment, wherever the clock was meanwhile."""
    current = period_start(now, interval)
    return sum(amount for when, amount in spendings if period_start(when, interval) == current)


def shown(second: int) -> str:
    return datetime.fromtimestamp(second, MALDIVES).isoformat(timespec="seconds")
