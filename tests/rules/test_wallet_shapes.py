"""Amounts of the wallet interface are exact; usage follows the limits and the calendar."""

import json
import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from laari.rules.calendar import MALDIVES
from laari.rules.periods import Moment
from laari.rules.records.wallets import Tier, Wallet
from laari.rules.shapes.envelopes import to_json
from laari.rules.shapes.wallet import balance_shape, mvr, usage_shape

LONG_AGO = date(1970, 1, 1)
WALLET = Wallet(
    7700000000001, UUID(int=1), "live", "basic", 0, LONG_AGO, 0, LONG_AGO, 0, LONG_AGO, 0
)
BASIC = Tier("basic", 500_000, 1_000_000, 3_000_000, 5_000_000)
FREE = Tier("business", None, None, None, None)
SATURDAY = datetime(2026, 1, 31, 23, 59, 59, tzinfo=MALDIVES)


def read(shape: Any) -> Any:
    """As a careful client reads it: numbers as decimals, null as None."""
    return json.loads(to_json(shape), parse_float=Decimal, parse_int=Decimal)


@given(st.integers(-(10**30), 10**30))
def test_amounts_are_exact_json_numbers_in_their_shortest_form(laari: int) -> None:
    written = to_json(mvr(laari)).decode()
    assert re.fullmatch(r"-?(0|[1-9]\d*)(\.\d?[1-9])?", written)
    assert Fraction(written) * 100 == laari


@pytest.mark.parametrize(
    ("laari", "written"),
    [
        (0, "0"),
        (1, "0.01"),
        (10, "0.1"),
        (-5, "-0.05"),
        (100, "1"),
        (100_000, "1000"),
        (-12_340, "-123.4"),
        (999_999_999_999_999_999, "9999999999999999.99"),
        (2**53 * 100 + 1, "9007199254740992.01"),
    ],
)
def test_amounts_as_they_are_written(laari: int, written: str) -> None:
    assert to_json(mvr(laari)).decode() == written


@given(st.integers(-(10**18), 10**18))
def test_a_balance_is_all_available(laari: int) -> None:
    shown = read(balance_shape(replace(WALLET, balance=laari)))
    assert shown["ledger_balance"] == shown["available_balance"] == Decimal(laari) / 100
    assert shown["hold_balance"] == 0
    assert (shown["account_number"], shown["currency"]) == ("7700000000001", "MVR")


@given(
    st.integers(0, 10**20),
    st.integers(0, 10**20),
    st.integers(0, 10**20),
    st.none() | st.integers(0, 10**18),
)
def test_remaining_is_what_the_limit_leaves_and_never_negative(
    day: int, week: int, month: int, limit: int | None
) -> None:
    wallet = replace(
        WALLET,
        day_start=date(2026, 1, 31),
        day_spent=day,
        week_start=date(2026, 1, 25),
        week_spent=week,
        month_start=date(2026, 1, 1),
        month_spent=month,
    )
    shown = read(usage_shape(wallet, Tier("t", limit, limit, limit, limit), Moment(SATURDAY)))
    for period, spent in (("daily", day), ("weekly", week), ("monthly", month)):
        assert shown["usage"][period].scaleb(2) == spent
        if limit is None:
            assert shown["limits"][period] is None
            assert shown["remaining"][period] is None
        else:
            assert shown["limits"][period].scaleb(2) == limit
            assert shown["remaining"][period].scaleb(2) == max(0, limit - spent)


def test_a_tier_without_limits_still_shows_what_is_used() -> None:
    shown = read(usage_shape(WALLET, FREE, Moment(SATURDAY)))
    assert set(shown["limits"].values()) == {None}
    assert set(shown["remaining"].values()) == {None}
    assert set(shown["usage"].values()) == {0}


def test_usage_ends_with_its_period() -> None:
    wallet = replace(
        WALLET,
        day_start=date(2026, 1, 31),
        day_spent=700,
        week_start=date(2026, 1, 25),
        week_spent=800,
        month_start=date(2026, 1, 1),
        month_spent=900,
    )
    before = read(usage_shape(wallet, BASIC, Moment(SATURDAY)))
    assert before["usage"] == {"daily": 7, "weekly": 8, "monthly": 9}
    assert before["remaining"] == {"daily": 9_993, "weekly": 29_992, "monthly": 49_991}
    assert before["reset_at"] == {
        "daily": "2026-02-01T00:00:00+05:00",
        "weekly": "2026-02-01T00:00:00+05:00",
        "monthly": "2026-02-01T00:00:00+05:00",
    }
    after = read(usage_shape(wallet, BASIC, Moment(SATURDAY + timedelta(seconds=1))))
    assert after["usage"] == {"daily": 0, "weekly": 0, "monthly": 0}
    assert after["reset_at"] == {
        "daily": "2026-02-02T00:00:00+05:00",
        "weekly": "2026-02-08T00:00:00+05:00",
        "monthly": "2026-03-01T00:00:00+05:00",
    }
