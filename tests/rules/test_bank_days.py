from datetime import UTC, date, datetime

import pytest

from laari.rules.banking.bank_days import bank_day_from, cut_off_of, is_bank_day

THURSDAY = date(2026, 11, 19)
HOLIDAYS = {date(2026, 11, 22)}  # a Sunday


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        (THURSDAY, THURSDAY),
        (date(2026, 11, 20), date(2026, 11, 23)),  # Friday, before a holiday on Sunday
        (date(2026, 11, 21), date(2026, 11, 23)),
        (date(2026, 11, 22), date(2026, 11, 23)),
        (date(2026, 12, 31), date(2026, 12, 31)),
    ],
)
def test_banks_rest_on_friday_saturday_and_holidays(day: date, expected: date) -> None:
    assert bank_day_from(day, HOLIDAYS) == expected
    assert is_bank_day(day, HOLIDAYS) == (day == expected)


def test_a_day_ends_at_midnight_in_the_maldives() -> None:
    assert cut_off_of(date(2026, 12, 31)) == datetime(2026, 12, 31, 19, 0, tzinfo=UTC)
