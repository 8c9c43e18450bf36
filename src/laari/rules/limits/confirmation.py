"""How long a person's proof lasts: the password, with a code of the second factor, or a passkey."""

from datetime import timedelta

# Payments, approvals and credentials need a proof that was given within this time.
CONFIRM_AFTER = timedelta(minutes=10)
