"""Durations and limits: each number once, with its unit and its reason.

Some are defaults of settings, which an operator changes. Numbers of bank accounts, payouts and
holds are in `rules/banking`, that of saved responses is in `rules/idempotency.py`. How far the
balance of a merchant may fall is `MerchantFunds.lowest` in `rules/records/merchant_funds.py`.
"""
