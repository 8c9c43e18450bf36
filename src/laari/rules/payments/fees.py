"""The fee of a payment. `laari.rules.merchants.fee_terms` sets its share and fixed part."""

from laari.rules.money import BASIS_POINTS


def fee_for(amount: int, fee_bps: int, fee_fixed: int) -> int:
    """The merchant's fee: a share rounded half up plus a fixed part, never more than the amount."""
    share = (amount * fee_bps + BASIS_POINTS // 2) // BASIS_POINTS
    return min(share + fee_fixed, amount)
