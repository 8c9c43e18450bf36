"""How long a payment can be paid and refunded, and how large it is.

A sale at a till has `SALE_LIFE` in `tills`. The limits of a wallet are those of its tier.
"""

from datetime import timedelta

MAX_PAYMENT_AMOUNT = 9_999_999_999  # laari
# Of a payment, a payment request, and an authorization that waits for its customer, if the merchant
# names no other time.
PAYMENT_LIFE_HOURS = 24
PAYMENT_LIFE = timedelta(hours=PAYMENT_LIFE_HOURS)
MOST_REFUNDS = 50  # of one payment
REFUNDABLE_FOR = timedelta(days=365)  # after it was paid
