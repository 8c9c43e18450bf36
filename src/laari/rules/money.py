"""Amounts: integer laari, a hundredth of a rufiyaa. No float ever holds money."""

from __future__ import annotations

MAX_PAYMENT_AMOUNT = 9_999_999_999
MAX_MONEY = 999_999_999_999_999_999  # authorization limits and balances; fits a bigint

BASIS_POINTS = 10_000


def fee_for(amount: int, fee_bps: int, fee_fixed: int) -> int:
    """The merchant's fee: a share rounded half up plus a fixed part, never more than the amount."""
    share = (amount * fee_bps + BASIS_POINTS // 2) // BASIS_POINTS
    return min(share + fee_fixed, amount)


def rufiyaa(laari: int) -> str:
    """Exact decimal text of an amount: `-1234` → `-12.34`."""
    sign = "-" if laari < 0 else ""
    whole, hundredths = divmod(abs(laari), 100)
    return f"{sign}{whole}.{hundredths:02d}"
