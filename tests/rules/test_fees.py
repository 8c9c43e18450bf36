"""The fee of a payment, against exact arithmetic of another kind."""

from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laari.rules.limits.payments import MAX_PAYMENT_AMOUNT
from laari.rules.payments.fees import fee_for

amounts = st.integers(1, MAX_PAYMENT_AMOUNT)


@given(amounts, st.integers(0, 10_000), st.integers(0, 10**10))
def test_fee(amount: int, bps: int, fixed: int) -> None:
    share = (Decimal(amount) * bps / 10_000).quantize(Decimal(1), ROUND_HALF_UP)
    fee = fee_for(amount, bps, fixed)
    assert fee == min(int(share) + fixed, amount)
    assert 0 <= fee <= amount


@pytest.mark.parametrize(
    ("amount", "bps", "fixed", "fee"),
    [
        (10_000, 150, 0, 150),
        (1, 4_999, 0, 0),
        (1, 5_000, 0, 1),  # half a laari goes up
        (3, 5_000, 0, 2),  # and does not go to even
        (5, 5_000, 0, 3),
        (100, 0, 0, 0),
        (100, 0, 25, 25),
        (100, 0, 101, 100),
        (100, 10_000, 1, 100),
        (MAX_PAYMENT_AMOUNT, 1, 0, 1_000_000),
        (MAX_PAYMENT_AMOUNT, 10_000, 10**15, MAX_PAYMENT_AMOUNT),
    ],
)
def test_fee_by_example(amount: int, bps: int, fixed: int, fee: int) -> None:
    assert fee_for(amount, bps, fixed) == fee
