"""The limits of wallets in a new installation, by tier."""

from typing import NamedTuple


class TierLimits(NamedTuple):
    """In laari; None is no limit."""

    per_transaction: int | None
    daily: int | None
    weekly: int | None
    monthly: int | None


# `laari tier` changes them. The first rows of the schema are the same, and a test compares them.
DEFAULT_TIERS = {
    "basic": TierLimits(500_000, 1_000_000, 3_000_000, 5_000_000),  # a mobile number is known
    "verified": TierLimits(5_000_000, 10_000_000, 30_000_000, 50_000_000),  # and the identity
    "business": TierLimits(None, None, None, None),  # the contract limits it
}
