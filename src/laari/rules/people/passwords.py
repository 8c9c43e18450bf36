"""Which passwords people may choose: a minimum length and a list of common ones decide."""

import unicodedata
from functools import cache
from pathlib import Path

from laari.rules.limits.passwords import MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH

LIST = Path(__file__).with_name("common_passwords.txt")

TOO_SHORT = f"The password needs at least {MIN_PASSWORD_LENGTH} characters."
TOO_LONG = f"The password may have at most {MAX_PASSWORD_LENGTH} characters."
COMMON = "This password is too common. Choose another one."


def password_problem(password: str) -> str | None:
    """Why this password may not be chosen, or None."""
    if len(password) < MIN_PASSWORD_LENGTH:
        return TOO_SHORT
    if len(password) > MAX_PASSWORD_LENGTH:
        return TOO_LONG
    # Without case, and with one form for characters that look the same.
    plain = unicodedata.normalize("NFKC", password).casefold().strip()
    return COMMON if plain in _common() else None


@cache
def _common() -> frozenset[str]:
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))
