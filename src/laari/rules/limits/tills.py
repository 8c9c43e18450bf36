"""How many tills and links a shop has, and what their devices and codes may do."""

from datetime import timedelta

from laari.rules.limits.throttle import Throttle

PAIRING_LIFE = timedelta(minutes=10)  # of the code that pairs a device: to walk to the till
PAIRING_LETTERS = 8  # about 40 bits: guesses are bounded by address, and a code has few minutes
PAIRINGS_PER_ADDRESS = Throttle(10, 30)
TILL_DEVICE_LIFE = timedelta(weeks=8)  # a till nobody logs in to; then it is paired again
TILL_SALES_PER_ADDRESS = Throttle(20, 5)  # from a static code; many customers share one address
TILL_SALES = Throttle(60, 1)  # from one static code: strangers must not fill a shop's lists
# Without a connection a till accepts the digits of the present minute and of four before it: the
# time to type them. One guess in 200,000 is right, and five wrong ones stop it for a while.
OFFLINE_MINUTES = 5
OFFLINE_TRIES = 5
OFFLINE_TRIES_WITHIN = timedelta(minutes=15)
OFFLINE_DIGITS_SHOWN = timedelta(minutes=15)  # on the page of the customer, after the payment
SALE_LIFE = timedelta(minutes=15)  # of a payment at a till: the customer stands at the counter
SALES_SHOWN = 10  # on a counter, the newest first
REUSABLE_LINKS = 200  # of one merchant in one mode that nobody has ended: a page lists them
TILLS = 200  # of one merchant in one mode: a page lists all of them
