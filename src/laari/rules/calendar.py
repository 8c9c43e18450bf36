"""Time as the service reads and shows it: Maldives time, +05:00, all year."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache
from typing import Literal

MALDIVES = timezone(timedelta(hours=5))

Interval = Literal["day", "week", "month", "year"]

_TIMESTAMP = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})"
    r"(?:[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?([Zz]|[+-]\d{2}:\d{2})?)?",
    re.ASCII,
)


def read_timestamp(text: str) -> datetime | None:
    """A date, or a date and time with seconds; without an offset it is Maldives time.

    None where the text is neither, or names no instant that a calendar or the database has.
    """
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, offset = match.groups()
    zone = MALDIVES
    if offset in ("Z", "z"):
        zone = UTC
    elif offset:
        hours, minutes = int(offset[1:3]), int(offset[4:6])
        if hours > 23 or minutes > 59:
            return None
        shift = timedelta(hours=hours, minutes=minutes)
        zone = timezone(-shift if offset[0] == "-" else shift)
    try:
        moment = datetime(
            int(year),
            int(month),
            int(day),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
            int((fraction or "0")[:6].ljust(6, "0")),
            zone,
        ).astimezone(UTC)
        moment.astimezone(MALDIVES)  # the last hours of year 9999 cannot be shown
    except (ValueError, OverflowError):
        return None
    return moment


def show(moment: datetime) -> str:
    """RFC 3339 in Maldives time at second precision."""
    since = moment - _FIRST_DAY_HERE
    minute, second = divmod(since.seconds, 60)
    return _day(since.days) + _MINUTE[minute] + _SECOND_HERE[second]


def show_or_none(moment: datetime | None) -> str | None:
    return None if moment is None else show(moment)


def show_utc(moment: datetime) -> str:
    """RFC 3339 in UTC with `Z` at second precision, as events carry it."""
    since = moment - _FIRST_DAY
    minute, second = divmod(since.seconds, 60)
    return _day(since.days) + _MINUTE[minute] + _SECOND_UTC[second]


# A page of a listing shows sixty times. `isoformat` would take three times as long for each.
_FIRST_DAY = datetime(1970, 1, 1, tzinfo=UTC)
# In UTC as stored moments are: to subtract across zones takes twice as long.
_FIRST_DAY_HERE = datetime(1970, 1, 1, tzinfo=MALDIVES).astimezone(UTC)
_MINUTE = [f"T{minute // 60:02}:{minute % 60:02}" for minute in range(24 * 60)]
_SECOND_HERE = [f":{second:02}+05:00" for second in range(60)]
_SECOND_UTC = [f":{second:02}Z" for second in range(60)]


@lru_cache(maxsize=4096)
def _day(number: int) -> str:
    return (date(1970, 1, 1) + timedelta(days=number)).isoformat()


def local_day(moment: datetime) -> date:
    return moment.astimezone(MALDIVES).date()


# All commands of a batch live at one moment, and each payment asks for it up to seven times.
@lru_cache(maxsize=256)
def period_start(moment: datetime, interval: Interval) -> date:
    """The day on which the calendar period containing this moment began; weeks start on Sunday."""
    today = local_day(moment)
    match interval:
        case "day":
            return today
        case "week":
            return today - timedelta(days=today.isoweekday() % 7)
        case "month":
            return today.replace(day=1)
        case "year":
            return today.replace(month=1, day=1)


def period_end(moment: datetime, interval: Interval) -> datetime:
    """When the calendar period after the one of this moment begins."""
    return period_after(period_start(moment, interval), interval)


def period_after(start: date, interval: Interval) -> datetime:
    """When the calendar period that began on this day ends, and the next one begins."""
    match interval:
        case "day":
            following = start + timedelta(days=1)
        case "week":
            following = start + timedelta(days=7)
        case "month":
            following = (start + timedelta(days=31)).replace(day=1)
        case "year":
            following = start.replace(year=start.year + 1)
    return datetime(following.year, following.month, following.day, tzinfo=MALDIVES)
