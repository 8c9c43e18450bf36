"""How long links, codes and invitations last, and how many somebody gets."""

from datetime import timedelta

from laari.rules.limits.throttle import Throttle

PASSWORD_LINK_LIFE = timedelta(minutes=30)  # also of the code that opens a wallet
PASSWORD_CODE_DIGITS = 8  # against guesses at one customer over many requests
PASSWORD_CODE_ATTEMPTS = 3  # wrong codes; then a new one has to be sent
# Messages cost money and patience: few to one person, more from a shared address.
LINKS_PER_PERSON = Throttle(3, 600)
LINKS_PER_PERSON_EVERYWHERE = Throttle(5, 1800)
LINKS_PER_ADDRESS = Throttle(20, 60)
# Codes of one request are counted in the database; this bounds the work of a flood.
CODES_PER_ADDRESS = Throttle(30, 30)
INVITATION_LIFE = timedelta(hours=24)
OPEN_INVITATIONS = 50  # of one merchant
INVITATIONS_A_DAY = 10  # to one address in 24 hours, of all merchants
RECEIPTS_A_DAY = 20  # that a customer can have sent in 24 hours: an SMS costs money
CONTACT_DELAY_HOURS = 24  # LAARI_CONTACT_DELAY_HOURS: for the customer to stop a change by a thief
# A trusted person still gets messages after the customer ended it: a thief cannot switch it off.
TRUST_END = timedelta(days=1)
