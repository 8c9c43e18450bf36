"""How long a link or code that sets a password works, and how often a code may be wrong.

The code that opens a wallet has the same bounds. How many a person gets is in `messages`.
"""

from datetime import timedelta

from laari.rules.limits.throttle import Throttle

PASSWORD_LINK_LIFE = timedelta(minutes=30)
PASSWORD_CODE_DIGITS = 8  # against guesses at one customer over many requests
PASSWORD_CODE_ATTEMPTS = 3  # wrong codes; then a new one has to be sent
# Codes of one request are counted in the database; this bounds the work of a flood.
CODES_PER_ADDRESS = Throttle(30, 30)
