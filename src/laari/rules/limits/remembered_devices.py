"""How many devices of a customer are remembered, and for how long.

Without the password a device pays up to LAARI_REMEMBERED_DEVICE_DAILY_LIMIT laari a day.
"""

from datetime import timedelta

REMEMBERED_DEVICES = 10  # of one customer that can be used: a page lists all of them
REMEMBERED_DEVICE_LIFE = timedelta(days=90)  # then the customer enters the password again
# After a payment, in which the checkout page offers to remember the device.
REMEMBER_OFFER_LIFE = timedelta(minutes=10)
