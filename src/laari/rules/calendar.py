"""Time as the service reads and shows it: Maldives time, +05:00, all year."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
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
    return moment.astimezone(MALDIVES).isoformat(timespec="seconds")


def show_or_none(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(MALDIVES).isoformat(timespec="seconds")


def show_utc(moment: datetime) -> str:
    """RFC 3339 in UTC with `Z` at second precision, as events carry it."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"


def period_start(moment: datetime, interval: Interval) -> date:
    """The day on which the calendar period containing this moment began; weeks start on Sunday."""
    today = moment.astimezone(MALDIVES).date()
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
    """When the next calendar period begins."""
    start = period_start(moment, interval)
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
