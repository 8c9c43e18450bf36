"""The second factor: codes of an authenticator application (TOTP), and recovery codes."""

import hmac
from datetime import datetime, timedelta
from urllib.parse import quote, urlencode

import pyotp

from laari.rules.limits.second_factors import (
    FACTOR_DRIFT_STEPS,
    FACTOR_FIRST_WAIT,
    FACTOR_FREE_FAILURES,
    FACTOR_LONGEST_WAIT,
    FACTOR_STEP_SECONDS,
)

DIGITS = 6
SEED_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"  # base32
SEED_SIZE = 32  # 160 bits, as RFC 4226 recommends
RECOVERY_LETTERS = "abcdefghjkmnpqrstvwxyz23456789"  # nothing to misread
RECOVERY_SIZE = 10

_GROUP = 5  # letters of each half of a recovery code


def step_at(now: datetime) -> int:
    return int(now.timestamp()) // FACTOR_STEP_SECONDS


def accepted_step(seed: str, code: str, now: datetime, last_step: int) -> int | None:
    """The step of this code if it is valid now and later than the last accepted one.

    All steps are compared, so that the time does not say which one fits.
    """
    totp, current = pyotp.HOTP(seed, digits=DIGITS), step_at(now)
    steps = range(current - FACTOR_DRIFT_STEPS, current + FACTOR_DRIFT_STEPS + 1)
    fitting = [s for s in steps if hmac.compare_digest(totp.at(s).encode(), code.encode())]
    return next((step for step in fitting if step > last_step), None)


def wait_after(failures: int) -> timedelta:
    """How long the person has to wait after this many wrong codes in a row."""
    doublings = failures - FACTOR_FREE_FAILURES
    if doublings < 0:
        return timedelta(0)
    return min(FACTOR_LONGEST_WAIT, FACTOR_FIRST_WAIT * (1 << min(doublings, 20)))


def read_code(text: str) -> str:
    """A code as people type it: with spaces or hyphens, in any case."""
    return "".join(text.split()).replace("-", "").lower()[:40]


def is_recovery_code(code: str) -> bool:
    return len(code) == RECOVERY_SIZE


def show_recovery_code(code: str) -> str:
    return f"{code[:_GROUP]}-{code[_GROUP:]}"


def otpauth_uri(seed: str, email: str, issuer: str) -> str:
    """The address in the QR code, which authenticator applications read."""
    label = f"{quote(issuer)}:{quote(email, safe='@')}"
    return f"otpauth://totp/{label}?{urlencode({'secret': seed, 'issuer': issuer})}"
