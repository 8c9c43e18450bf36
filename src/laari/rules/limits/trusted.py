"""How long a trusted person gets messages."""

from datetime import timedelta

# After the customer ended it: a thief cannot switch the messages off at once.
TRUST_END = timedelta(days=1)
