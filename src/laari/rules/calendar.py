"""Time as the service reads and shows it: Maldives time, +05:00, all year."""

import re
from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache
from typing import Literal

MALDIVES = timezone(timedelta(hours=5))

Interval = Literal["day", "week", "month", "year"]

_TIMESTAMP = re.compile(
    r"(?P<year>\d{4})(?P<day>-\d{2}-\d{2})"
    r"(?:[Tt ](?P<minute>\d{2}:\d{2}):(?P<second>\d{2})(?P<fraction>(?:\.\d+)?)"
    r"(?P<offset>[Zz]|[+-]\d{2}:[0-5]\d)?)?",
    re.ASCII,
)

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)

EARLIEST = datetime.min.replace(tzinfo=UTC)
LATEST = datetime.max.replace(tzinfo=UTC)
LAST_SHOWN = datetime.max.replace(tzinfo=MALDIVES).astimezone(UTC)  # the year has four digits


def read_date(text: str) -> date | None:
    """A date such as 2026-11-17; Python alone would read other forms too."""
    try:
        return date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        return None


def read_timestamp(text: str) -> datetime | None:
    """A date, or a date and time with seconds; without an offset it is Maldives time.

    None if it is neither or no real moment; at most `LATEST` and at least `EARLIEST`.
    """
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, day, minute, second, fraction, offset = match.groups()
    is_leap = second == "60"
    time = f"{minute}:{'59' if is_leap else second}{fraction}" if minute else "00:00"
    # The year 0000 has the calendar of the year 2000, but Python has no datetime for it.
    known_year = "2000" if year == "0000" else year
    try:
        local = datetime.fromisoformat(f"{known_year}{day}T{time}{(offset or '+05:00').upper()}")
    except ValueError:
        return None
    try:
        moment = local.astimezone(UTC) if known_year == year else EARLIEST
        return moment if not is_leap else _after_leap_second(moment)
    except OverflowError:
        return EARLIEST if year == "0001" else LATEST


def _after_leap_second(moment: datetime) -> datetime | None:
    """The moment after a leap second that follows `moment`; our clocks do not have them.

    None if there cannot be one: leap seconds are at the end of a month in UTC.
    """
    after = moment + timedelta(seconds=1)
    starts_month = (after.day, after.hour, after.minute, after.second) == (1, 0, 0, 0)
    return after if starts_month else None


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


# A page of a listing shows sixty times, and `isoformat` takes three times as long for each.
_FIRST_DAY = datetime(1970, 1, 1, tzinfo=UTC)
# In UTC, like stored times: subtracting across zones takes twice as long.
_FIRST_DAY_HERE = datetime(1970, 1, 1, tzinfo=MALDIVES).astimezone(UTC)
_MINUTE = [f"T{minute // 60:02}:{minute % 60:02}" for minute in range(24 * 60)]
_SECOND_HERE = [f":{second:02}+05:00" for second in range(60)]
_SECOND_UTC = [f":{second:02}Z" for second in range(60)]


@lru_cache(maxsize=4096)
def _day(number: int) -> str:
    return (date(1970, 1, 1) + timedelta(days=number)).isoformat()


def local_day(moment: datetime) -> date:
    return moment.astimezone(MALDIVES).date()


def start_of(day: date) -> datetime:
    """The first moment of a Maldivian day."""
    return datetime(day.year, day.month, day.day, tzinfo=MALDIVES)


# All commands of a batch have the same time, and a payment needs this up to seven times.
@lru_cache(maxsize=256)
def week_start(day: date) -> date:
    """The Sunday on or before this day."""
    return day - timedelta(days=day.isoweekday() % 7)


def period_start(moment: datetime, interval: Interval) -> date:
    """The first day of the calendar period with this moment."""
    today = local_day(moment)
    match interval:
        case "day":
            return today
        case "week":
            return week_start(today)
        case "month":
            return today.replace(day=1)
        case "year":
            return today.replace(month=1, day=1)


def period_after(start: date, interval: Interval) -> datetime:
    """The end of the calendar period that began on this day."""
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
