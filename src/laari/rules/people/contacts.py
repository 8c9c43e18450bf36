"""Contacts of customers: each reader returns the stored form, or None if it is not valid."""

import re
from collections.abc import Callable, Collection

from laari.rules.records.people import COUNTRY, ContactKind

_MOBILE = re.compile(r"[0-9]{7}")
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+")
MAX_EMAIL = 254  # characters, from RFC 5321
_VPA_NAME = re.compile(r"[^\s@]{1,100}")


def read_mobile(text: str) -> str | None:
    """Seven digits, without the country's prefix, spaces and hyphens."""
    digits = text.strip().replace(" ", "").replace("-", "")
    if digits.startswith("+"):
        digits = digits.removeprefix("+" + COUNTRY)
    elif len(digits) == len(COUNTRY) + 7:
        digits = digits.removeprefix(COUNTRY)
    return digits if _MOBILE.fullmatch(digits) else None


def read_email(text: str) -> str | None:
    email = text.strip().lower()
    return email if len(email) <= MAX_EMAIL and _EMAIL.fullmatch(email) else None


READERS: dict[ContactKind, Callable[[str], str | None]] = {
    "mobile": read_mobile,
    "email": read_email,
}


def read_vpa(text: str, suffixes: Collection[str]) -> str | None:
    """The name part: `name` and `name@suffix` are the same address."""
    name, at, suffix = text.strip().lower().partition("@")
    if at and suffix not in suffixes:
        return None
    return name if _VPA_NAME.fullmatch(name) else None


def masked_payer(name: str, mobile: str | None, account: int) -> str:
    """`F… D…, …345`: initials, and the last digits of the mobile number or else of the account."""
    initials = " ".join(f"{word[0]}…" for word in name.split())
    return f"{initials}, …{(mobile or str(account))[-3:]}"
