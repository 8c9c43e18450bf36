"""Durations and limits: each number once, with its unit and its reason.

Some are defaults of settings, which an operator changes; `settings.py` has the limits of payouts
and of the second person. Numbers of bank accounts and holds are in `rules/banking`, the one for
saved responses is in `rules/idempotency.py`, those of `laari health` are in `rules/health.py`. How
far the balance of a merchant may fall is `MerchantFunds.lowest` in
`rules/records/merchant_funds.py`.
"""
