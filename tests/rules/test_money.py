"""Amounts as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laari.rules.limits.payments import MAX_PAYMENT_AMOUNT
from laari.rules.money import MAX_MONEY, read_rufiyaa, rufiyaa


@given(st.integers(-(10**30), 10**30))
def test_rufiyaa_is_exact(laari: int) -> None:
    text = rufiyaa(laari)
    whole, hundredths = text.removeprefix("-").split(".")
    assert len(hundredths) == 2
    assert str(int(whole)) == whole
    assert int(whole + hundredths) == abs(laari)
    assert text.startswith("-") == (laari < 0)


@pytest.mark.parametrize(
    ("laari", "text"),
    [
        (0, "0.00"),
        (5, "0.05"),
        (-5, "-0.05"),
        (100, "1.00"),
        (-1234, "-12.34"),
        (2**53 + 1, "90071992547409.93"),
        (MAX_MONEY, "9999999999999999.99"),
    ],
)
def test_rufiyaa_by_example(laari: int, text: str) -> None:
    assert rufiyaa(laari) == text


def test_limits_are_those_of_the_specification() -> None:
    assert MAX_PAYMENT_AMOUNT == 9_999_999_999
    assert MAX_MONEY == 999_999_999_999_999_999 < 2**63


@given(st.integers(-MAX_MONEY, MAX_MONEY))
def test_an_amount_is_read_as_it_is_written(laari: int) -> None:
    assert read_rufiyaa(rufiyaa(laari)) == laari
    assert read_rufiyaa(f" {laari:,} ") == laari * 100 or abs(laari) >= 10**16


@pytest.mark.parametrize(("text", "laari"), [("1250.5", 125_050), ("1,250", 125_000), ("0", 0)])
def test_an_amount_as_people_write_it(text: str, laari: int) -> None:
    assert read_rufiyaa(text) == laari


@pytest.mark.parametrize(
    "text", ["", "-", "1.", ".5", "1.234", "1,2", "12,50.00", "1e3", "+1", "٣", "MVR 5", "1 000"]
)
def test_what_is_no_amount(text: str) -> None:
    assert read_rufiyaa(text) is None
