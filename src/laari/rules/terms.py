"""Durations and limits of people and access: each number once, with its unit and its reason.

Some are defaults of settings, which an operator changes. Other numbers are beside their rules:
payments and refunds in `rules/payments`; bank accounts, payouts and holds in `rules/banking`. How
far a merchant's balance may fall is `MerchantFunds.lowest` in `rules/records/payouts.py`.
"""

from datetime import timedelta
from typing import NamedTuple


class Throttle(NamedTuple):
    """Allows `burst` attempts at once, then one every `seconds`."""

    burst: int
    seconds: float


class TierLimits(NamedTuple):
    """In laari; None is no limit."""

    per_transaction: int | None
    daily: int | None
    weekly: int | None
    monthly: int | None


# == Sessions of the pages =========================================================================

SESSION_IDLE = timedelta(minutes=30)  # a browser that somebody left open
SESSION_LIFE = timedelta(hours=12)  # a working day, however busy
SESSION_SEEN_EVERY = timedelta(minutes=1)  # how exactly the last use is kept, to save writes
# Payments, approvals and credentials need a password, and a code of the second factor, that was
# entered within this time.
CONFIRM_AFTER = timedelta(minutes=10)
KNOWN_BROWSER_LIFE = timedelta(days=365)  # of the mark by which a log-in is not "on a new device"

# == Wrong passwords ===============================================================================

# Attempts at one person from one address, or from a browser in which that person has logged in.
PASSWORDS_PER_PERSON = Throttle(10, 30)
# Attempts at one person from everywhere: enough that a few strangers cannot lock the person out.
PASSWORDS_PER_PERSON_EVERYWHERE = Throttle(300, 10)
# Many customers share one address of a mobile network.
PASSWORDS_PER_ADDRESS = Throttle(100, 1)
# Recent requests of one address: not a limit, but it decides whose password is verified first.
PASSWORD_DEMAND = Throttle(1000, 60)

# == Passkeys ======================================================================================

PASSKEYS = 10  # of one customer that can be used: a page lists all of them
PASSKEY_CHALLENGE_LIFE = timedelta(minutes=5)  # to find the phone, and to unlock it

# == Remembered devices ============================================================================

# Without the password a device pays up to LAARI_REMEMBERED_DEVICE_DAILY_LIMIT laari a day.
REMEMBERED_DEVICES = 10  # of one customer that can be used: a page lists all of them
REMEMBERED_DEVICE_LIFE = timedelta(days=90)  # then the customer enters the password again

# == The second factor =============================================================================

FACTOR_SET_UP_WITHIN = timedelta(hours=1)  # for the first code after the set-up began
FACTOR_CODE_WITHIN = timedelta(minutes=10)  # for the code after the password; then log in again
FACTOR_STEP_SECONDS = 30  # as all authenticator applications have it
FACTOR_DRIFT_STEPS = 1  # the phone's clock may be this many steps ahead or behind
RECOVERY_CODES = 10  # that a person gets at once
FACTOR_FREE_FAILURES = 5  # wrong codes in a row without a wait
FACTOR_FIRST_WAIT = timedelta(minutes=1)  # then doubled with each wrong code
# Without an end to it, somebody who knows the password would guess six digits some day. With it,
# four guesses a day are left: the chance is below one in a hundred in two years.
FACTOR_LONGEST_WAIT = timedelta(hours=6)

# == Links, codes and invitations ==================================================================

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

# == Tills and their devices =======================================================================

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
REUSABLE_LINKS = 200  # of one merchant in one mode that nobody has ended: a page lists them
TILLS = 200  # of one merchant in one mode: a page lists all of them

# == Reasons and notes that people write ===========================================================

MAX_REASON = 255  # characters: a sentence, on one line of the journal
MAX_CUSTOMER_NOTE = 2_000  # characters: a note of an operator about a customer
MAX_DECISION = 500  # characters: why an application is approved or refused; the shop reads it
MAX_NOTE = 500  # characters: of a refund, a till's closing or a signed day

MAX_CASE = 500  # characters: what a customer says about a line, and the answer
OPEN_CASES = 5  # of one customer

# A trusted person still gets messages after the customer ended it: a thief cannot switch it off.
TRUST_END = timedelta(days=1)

# == Keys, tokens and rates of the interfaces ======================================================

ACCESS_TOKEN_LIFE = timedelta(hours=24)
OLD_KEY_LONGEST_HOURS = 168  # that a replaced secret key still works: a week to change all programs
WALLET_KEYS = 20  # of one wallet that can be used
# How exactly the last use of a key or client is kept: not one write per request.
USE_KNOWN_TO_SECONDS = 60
# The wallet API counts the requests of an account over all endpoints, from its first request on.
WALLET_WINDOW_SECONDS = 60
WALLET_WINDOW_REQUESTS = 60
# LAARI_MERCHANT_RATE_LIVE and …_SANDBOX, requests per second and merchant: far above one shop's
# traffic, and a small part of what one machine serves.
MERCHANT_RATE_LIVE = 100
MERCHANT_RATE_SANDBOX = 25
# LAARI_RECIPIENT_MISSES_PER_MINUTE: a merchant could find out who has a wallet by trying names.
RECIPIENT_MISSES_PER_MINUTE = 30
TOKENS_PER_MINUTE = 600  # LAARI_TOKENS_PER_MINUTE: of one client; a token works for a day
TOKEN_FAILURES_PER_MINUTE = 10  # LAARI_TOKEN_FAILURES_PER_MINUTE: of one client and address
SANDBOX_SIGNUPS_PER_MINUTE = 60  # LAARI_SANDBOX_SIGNUPS_PER_MINUTE: of one address

# == Tiers of a new installation ===================================================================

# `laari tier` changes them. The first rows of the schema are the same, and a test compares them.
DEFAULT_TIERS = {
    "basic": TierLimits(500_000, 1_000_000, 3_000_000, 5_000_000),  # a mobile number is known
    "verified": TierLimits(5_000_000, 10_000_000, 30_000_000, 50_000_000),  # and the identity
    "business": TierLimits(None, None, None, None),  # the contract limits it
}
