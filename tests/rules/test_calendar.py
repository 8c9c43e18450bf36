"""Timestamps and calendar periods, against slow models that share no code with them."""

import calendar as names
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from laari.rules.calendar import (
    EARLIEST,
    LAST_SHOWN,
    LATEST,
    MALDIVES,
    Interval,
    period_after,
    period_start,
    read_timestamp,
    show,
    show_or_none,
    show_utc,
)

INTERVALS: list[Interval] = ["day", "week", "month", "year"]
moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))
offsets = st.integers(-(23 * 60 + 59), 23 * 60 + 59).map(lambda m: timezone(timedelta(minutes=m)))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-01", datetime(2025, 12, 31, 19, tzinfo=UTC)),
        ("2024-02-29", datetime(2024, 2, 28, 19, tzinfo=UTC)),
        ("2026-01-01T10:20:30", datetime(2026, 1, 1, 5, 20, 30, tzinfo=UTC)),
        ("2026-01-01 10:20:30", datetime(2026, 1, 1, 5, 20, 30, tzinfo=UTC)),
        ("2026-01-01T10:20:30Z", datetime(2026, 1, 1, 10, 20, 30, tzinfo=UTC)),
        ("2026-01-01t10:20:30z", datetime(2026, 1, 1, 10, 20, 30, tzinfo=UTC)),
        ("2026-01-01T10:20:30+05:00", datetime(2026, 1, 1, 5, 20, 30, tzinfo=UTC)),
        ("2026-01-01T10:20:30-03:30", datetime(2026, 1, 1, 13, 50, 30, tzinfo=UTC)),
        ("2026-01-01T10:20:30-00:00", datetime(2026, 1, 1, 10, 20, 30, tzinfo=UTC)),
        ("2026-01-01T10:20:30.5Z", datetime(2026, 1, 1, 10, 20, 30, 500_000, tzinfo=UTC)),
        ("2026-01-01T10:20:30.000001Z", datetime(2026, 1, 1, 10, 20, 30, 1, tzinfo=UTC)),
        ("2026-01-01T10:20:30.123456789", datetime(2026, 1, 1, 5, 20, 30, 123_456, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
        ("0001-01-01T00:00:00-01:00", datetime(1, 1, 1, 1, tzinfo=UTC)),
        ("0001-01-01T05:00:00", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31", datetime(9999, 12, 30, 19, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999999", datetime(9999, 12, 31, 18, 59, 59, 999_999, tzinfo=UTC)),
        ("9999-12-31T23:59:59+23:59", datetime(9999, 12, 31, 0, 0, 59, tzinfo=UTC)),
        ("0000-02-29T12:00:00Z", EARLIEST),
        ("0001-01-01", EARLIEST),  # midnight in the Maldives is still year 0 in UTC
        ("0001-01-01T04:59:59", EARLIEST),
        ("0001-01-01T00:00:00+00:01", EARLIEST),
        ("9999-12-31T23:59:59Z", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("9999-12-31T23:59:59-00:01", LATEST),
        ("9999-12-31T23:59:60Z", LATEST),
        ("2016-12-31T23:59:60Z", datetime(2017, 1, 1, tzinfo=UTC)),
        ("2016-12-31T23:59:60.25Z", datetime(2017, 1, 1, 0, 0, 0, 250_000, tzinfo=UTC)),
        ("1990-12-31T15:59:60-08:00", datetime(1991, 1, 1, tzinfo=UTC)),
        ("2027-07-01T04:59:60", datetime(2027, 7, 1, tzinfo=UTC)),
    ],
)
def test_reading(text: str, moment: datetime) -> None:
    assert read_timestamp(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "now",
        "2026",
        "2026-01",
        "20260101",
        "2026-1-1",
        "26-01-01",
        "12026-01-01",
        "+2026-01-01",
        "2026-02-29",
        "2026-00-01",
        "2026-13-01",
        "2026-01-00",
        "2026-01-32",
        "2026/01/01",
        "2026-W01-1",
        "2026-001",
        "2026-01-01Z",
        "2026-01-01+05:00",
        "2026-01-01T",
        "2026-01-01T10",
        "2026-01-01T10:20",
        "2026-01-01T10:20Z",
        "2026-01-01T102030Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T10:60:00Z",
        "2026-01-01T10:20:60Z",
        "2026-01-01T10:20:30.Z",
        "2026-01-01T10:20:30,5Z",
        "2026-01-01T10:20:30+05",
        "2026-01-01T10:20:30+0500",
        "2026-01-01T10:20:30+24:00",
        "2026-01-01T10:20:30+05:60",
        "2026-01-01T10:20:30+05:00:00",
        "2026-01-01T10:20:30 +05:00",
        "2026-01-01T10:20:30ZZ",
        " 2026-01-01",
        "2026-01-01 ",
        "2026-01-01\n",
        "2026-01-01T10:20:30Z\n",
        "2026-01-01T10:20:30Z\0",
        "\u0662\u0660\u0662\u0666-01-01",  # digits, but not ours
        "\uff12026-01-01",
        "2026\u201001\u201001",
        "1767225600",
        "0000-02-30T12:00:00Z",
        "2016-12-30T23:59:60Z",  # not at the end of a month
        "2016-12-31T23:59:60+05:00",  # not in UTC
        "2016-12-31T23:58:60Z",
        "2016-12-31T23:59:61Z",
    ],
)
def test_what_is_no_timestamp(text: str) -> None:
    assert read_timestamp(text) is None


@given(moments, offsets)
def test_every_offset_names_the_same_moment(moment: datetime, zone: timezone) -> None:
    assert read_timestamp(moment.astimezone(zone).isoformat()) == moment
    assert read_timestamp(moment.astimezone(MALDIVES).replace(tzinfo=None).isoformat()) == moment


@given(st.text("0123456789-:+.TZ ", max_size=30) | st.text(max_size=30))
def test_junk_never_raises(text: str) -> None:
    moment = read_timestamp(text)
    if moment is not None and moment <= LAST_SHOWN:
        assert read_timestamp(show(moment)) == moment.replace(microsecond=0)


@given(
    st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 18, 59, 59), timezones=st.just(UTC)),
    offsets,
)
@example(datetime(1, 1, 1, tzinfo=UTC), UTC)
@example(datetime(987, 6, 5, tzinfo=UTC), UTC)
@example(datetime(9998, 1, 1, 0, 0, 0, 999_999, UTC), UTC)
def test_showing_cuts_to_the_second(moment: datetime, zone: timezone) -> None:
    whole = moment.replace(microsecond=0)
    with suppress(OverflowError):  # at the ends of the calendar only some zones can name it
        moment = moment.astimezone(zone)
    assert show(moment).endswith("+05:00")
    assert len(show(moment)) == len("2026-01-01T00:00:00+05:00")
    assert datetime.fromisoformat(show(moment)) == whole
    assert show_or_none(moment) == show(moment)
    assert len(show_utc(moment)) == len("2026-01-01T00:00:00Z")
    assert datetime.strptime(show_utc(moment), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC) == whole


def test_showing_nothing() -> None:
    assert show_or_none(None) is None


def midnight(day: date) -> datetime:
    return datetime.combine(day, time(), timezone(timedelta(hours=5)))


def begins(day: date, interval: Interval) -> bool:
    """Whether a period begins on this day."""
    return {
        "day": True,
        "week": names.day_name[day.weekday()] == "Sunday",
        "month": day.day == 1,
        "year": (day.month, day.day) == (1, 1),
    }[interval]


@given(moments, st.sampled_from(INTERVALS))
@example(datetime(2026, 1, 31, 19, tzinfo=UTC), "month")  # midnight of 1 February in the Maldives
@example(datetime(2025, 12, 31, 18, 59, 59, 999_999, tzinfo=UTC), "year")
@example(datetime(2024, 2, 29, 12, tzinfo=UTC), "year")
@example(datetime(2026, 1, 3, 19, tzinfo=UTC), "week")  # Sunday has just begun
def test_periods_against_counting_days(moment: datetime, interval: Interval) -> None:
    """Walks day by day to the boundaries around a moment."""
    day = (moment + timedelta(hours=5)).date()
    while not begins(day, interval):
        day -= timedelta(days=1)
    assert period_start(moment, interval) == day
    day += timedelta(days=1)
    while not begins(day, interval):
        day += timedelta(days=1)
    assert period_after(period_start(moment, interval), interval) == midnight(day)


@given(moments, st.sampled_from(INTERVALS))
def test_a_period_ends_where_the_next_begins(moment: datetime, interval: Interval) -> None:
    first = period_start(moment, interval)
    start, end = midnight(first), period_after(first, interval)
    assert start <= moment < end
    assert midnight(period_start(end, interval)) == end
    assert midnight(period_start(end - timedelta(microseconds=1), interval)) == start
