"""The second factor: codes of an authenticator application (TOTP), and recovery codes."""

import hmac
from datetime import datetime, timedelta
from urllib.parse import quote, urlencode

import pyotp

STEP_SECONDS = 30  # as all authenticator applications have it
DRIFT_STEPS = 1  # the phone's clock may be this many steps ahead or behind
DIGITS = 6
SEED_LETTERS = 32  # 160 bits in base32, as RFC 4226 recommends

RECOVERY_CODES = 10
_GROUP = 5  # letters of each half of a recovery code

FREE_FAILURES = 5  # wrong codes in a row without a wait
FIRST_WAIT = timedelta(minutes=1)  # then doubled with each wrong code
LONGEST_WAIT = timedelta(hours=6)


def step_at(now: datetime) -> int:
    return int(now.timestamp()) // STEP_SECONDS


def accepted_step(seed: str, code: str, now: datetime, last_step: int) -> int | None:
    """The step of this code if it is valid now and later than the last accepted one.

    All steps are compared, so that the time does not say which one fits.
    """
    totp, current = pyotp.HOTP(seed, digits=DIGITS), step_at(now)
    steps = range(current - DRIFT_STEPS, current + DRIFT_STEPS + 1)
    fitting = [s for s in steps if hmac.compare_digest(totp.at(s).encode(), code.encode())]
    return next((step for step in fitting if step > last_step), None)


def wait_after(failures: int) -> timedelta:
    """How long the person has to wait after this many wrong codes in a row.

    Without an end to it, somebody who knows the password would guess six digits some day. With it,
    four guesses a day are left: the chance is below one in a hundred in two years.
    """
    doublings = failures - FREE_FAILURES
    if doublings < 0:
        return timedelta(0)
    return min(LONGEST_WAIT, FIRST_WAIT * (1 << min(doublings, 20)))


def read_code(text: str) -> str:
    """A code as people type it: with spaces or hyphens, in any case."""
    return "".join(text.split()).replace("-", "").lower()[:40]


def is_recovery_code(code: str) -> bool:
    return len(code) == 2 * _GROUP


def show_recovery_code(code: str) -> str:
    return f"{code[:_GROUP]}-{code[_GROUP:]}"


def otpauth_uri(seed: str, email: str, issuer: str) -> str:
    """The address in the QR code, which authenticator applications read."""
    label = f"{quote(issuer)}:{quote(email, safe='@')}"
    return f"otpauth://totp/{label}?{urlencode({'secret': seed, 'issuer': issuer})}"
