"""The code of a new mobile number or email address, and how long the change can be stopped."""

from datetime import timedelta

CONTACT_CODE_LIFE = timedelta(minutes=30)
CONTACT_CODE_DIGITS = 6
CONTACT_CODE_ATTEMPTS = 3  # wrong codes
CONTACT_DELAY_HOURS = 24  # LAARI_CONTACT_DELAY_HOURS: for the customer to stop a change by a thief
