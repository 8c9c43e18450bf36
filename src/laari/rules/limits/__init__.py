"""Durations and limits of people and access: each number once, with its unit and its reason.

Some are defaults of settings, which an operator changes. Other numbers are beside their rules:
payments and refunds in `rules/payments`; bank accounts, payouts and holds in `rules/banking`. How
far a merchant's balance may fall is `MerchantFunds.lowest` in `rules/records/payouts.py`.
"""
