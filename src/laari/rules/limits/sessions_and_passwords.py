"""How long log-ins last, and how often a password may be wrong."""

from datetime import timedelta

from laari.rules.limits.throttle import Throttle

# == Sessions of the pages ========================================================================

SESSION_IDLE = timedelta(minutes=30)  # a browser that somebody left open
SESSION_LIFE = timedelta(hours=12)  # a working day, however busy
SESSION_SEEN_EVERY = timedelta(minutes=1)  # how exactly the last use is kept, to save writes
# Payments, approvals and credentials need a password, and a code of the second factor, that was
# entered within this time.
CONFIRM_AFTER = timedelta(minutes=10)
KNOWN_BROWSER_LIFE = timedelta(days=365)  # of the mark by which a log-in is not "on a new device"

# == Wrong passwords ==============================================================================

# Attempts at one person from one address, or from a browser in which that person has logged in.
PASSWORDS_PER_PERSON = Throttle(10, 30)
# Attempts at one person from everywhere: enough that a few strangers cannot lock the person out.
PASSWORDS_PER_PERSON_EVERYWHERE = Throttle(300, 10)
# Many customers share one address of a mobile network.
PASSWORDS_PER_ADDRESS = Throttle(100, 1)
# Recent requests of one address: not a limit, but it decides whose password is verified first.
PASSWORD_DEMAND = Throttle(1000, 60)

# == Passkeys =====================================================================================

PASSKEYS = 10  # of one customer that can be used: a page lists all of them
PASSKEY_CHALLENGE_LIFE = timedelta(minutes=5)  # to find the phone, and to unlock it

# == Remembered devices ===========================================================================

# Without the password a device pays up to LAARI_REMEMBERED_DEVICE_DAILY_LIMIT laari a day.
REMEMBERED_DEVICES = 10  # of one customer that can be used: a page lists all of them
REMEMBERED_DEVICE_LIFE = timedelta(days=90)  # then the customer enters the password again
