"""The days on which banks work: not on Friday and Saturday, and not on holidays."""

from collections.abc import Collection
from datetime import date, datetime, time, timedelta

from laari.rules.calendar import MALDIVES, local_day

FRIDAY, SATURDAY = 5, 6  # as `date.isoweekday` counts
_WEEKEND = frozenset({FRIDAY, SATURDAY})


def is_bank_day(day: date, holidays: Collection[date]) -> bool:
    return day.isoweekday() not in _WEEKEND and day not in holidays


def bank_day_from(day: date, holidays: Collection[date]) -> date:
    """This day if banks work on it, or else the next day on which they do."""
    while not is_bank_day(day, holidays):
        day += timedelta(days=1)
    return day


def has_ended(day: date, now: datetime) -> bool:
    """Whether a day is over in Maldivian time: only then it can be paid out or signed off."""
    return day < local_day(now)


def cut_off_of(day: date) -> datetime:
    """The end of a day in Maldivian time: movements before this moment belong to the day."""
    return datetime.combine(day + timedelta(days=1), time(), MALDIVES)
