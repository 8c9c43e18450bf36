"""How long a password is, and how often one may be wrong."""

from laari.rules.limits.throttle import Throttle

MIN_PASSWORD_LENGTH = 10  # characters
MAX_PASSWORD_LENGTH = 1024

# Attempts at one person from one address, or from a browser in which that person has logged in.
PASSWORDS_PER_PERSON = Throttle(10, 30)
# Confirmations of one person in all sessions: each log-in opens another one.
CONFIRMATIONS_PER_PERSON = Throttle(30, 30)
# Attempts at one person from everywhere: enough that a few strangers cannot lock the person out.
PASSWORDS_PER_PERSON_EVERYWHERE = Throttle(300, 10)
# Many customers share one address of a mobile network.
PASSWORDS_PER_ADDRESS = Throttle(100, 1)
# Recent requests of one address: not a limit, but it decides whose password is verified first.
PASSWORD_DEMAND = Throttle(1000, 60)
