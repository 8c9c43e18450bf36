"""How long a second factor waits for its codes, and how often they may be wrong.

`confirmation.py` says how long a code that was entered proves a person.
"""

from datetime import timedelta

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
