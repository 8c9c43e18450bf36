"""Ranges of days by name: today, last week, a month. Days are those of Maldives time."""

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Final, NamedTuple

from laari.rules.calendar import read_date, start_of, week_start

_MONTH = re.compile(r"\d{4}-\d\d", re.ASCII)
_YEARS = range(1970, 9999)  # ids count from the first; a day after the last is a date too
# A movement that is not committed this long after its time never will be: batches have deadlines.
LATEST_COMMIT = timedelta(minutes=1)


class Days(NamedTuple):
    """Both days are included."""

    first: date
    last: date

    @property
    def begin(self) -> datetime:
        return start_of(self.first)

    @property
    def end(self) -> datetime:
        """The first moment after them."""
        return start_of(self.last + timedelta(days=1))

    def is_final(self, now: datetime) -> bool:
        """Whether no movement can be added to these days any more."""
        return now >= self.end + LATEST_COMMIT


def month_of(day: date) -> Days:
    first = day.replace(day=1)
    return Days(first, (first + timedelta(days=31)).replace(day=1) - timedelta(days=1))


def _month_before(today: date) -> Days:
    return month_of(today.replace(day=1) - timedelta(days=1))


_ONE = timedelta(days=1)
_WEEK = timedelta(days=7)

# The name in an address, the words of the pages, and the days. A running period ends today.
_PRESETS: dict[str, tuple[str, Callable[[date], Days]]] = {
    "today": ("Today", lambda today: Days(today, today)),
    "yesterday": ("Yesterday", lambda today: Days(today - _ONE, today - _ONE)),
    "this_week": ("This week", lambda today: Days(week_start(today), today)),
    "last_week": (
        "Last week",
        lambda today: Days(week_start(today) - _WEEK, week_start(today) - _ONE),
    ),
    "this_month": ("This month", lambda today: Days(today.replace(day=1), today)),
    "last_month": ("Last month", _month_before),
}
PRESETS: Final[dict[str, str]] = {name: words for name, (words, _) in _PRESETS.items()}


def preset(name: str, today: date) -> Days | None:
    found = _PRESETS.get(name)
    return None if found is None else found[1](today)


def last_days(count: int, today: date) -> Days:
    return Days(today - timedelta(days=count - 1), today)


def read_day(text: str) -> date | None:
    """A day of a period, such as 2026-11-17."""
    day = read_date(text)
    return day if day is not None and day.year in _YEARS else None


def read_month(text: str) -> Days | None:
    """A month such as 2026-11."""
    first = read_day(f"{text}-01") if _MONTH.fullmatch(text) else None
    return None if first is None else month_of(first)


def newest_months(today: date, count: int) -> list[date]:
    """The first days of this month and of the months before it, newest first."""
    months = [today.replace(day=1)]
    while len(months) < count:
        months.append(_month_before(months[-1]).first)
    return months
