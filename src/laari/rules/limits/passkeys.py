"""How many passkeys a customer has, and how long a log-in with one may take."""

from datetime import timedelta

PASSKEYS = 10  # of one customer that can be used: a page lists all of them
PASSKEY_CHALLENGE_LIFE = timedelta(minutes=5)  # to find the phone, and to unlock it
