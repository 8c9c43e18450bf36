"""Contacts and names of customers: each reader returns the stored form, or None if not valid."""

import re
import unicodedata
from collections.abc import Callable, Collection

from laari.rules.records.people import COUNTRY, ContactKind

_MOBILE = re.compile(r"[0-9]{7}")
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+")
MAX_EMAIL = 254  # characters, from RFC 5321
MAX_OWN_NAME = 70  # characters
_CURLY = "\u2019"  # the apostrophe that phones type
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


def read_own_name(text: str) -> str | None:
    """The name that customers give themselves: no digits, no link and no domain.

    Strangers read it in messages of the service. An operator may enter another name.
    """
    name = unicodedata.normalize("NFC", " ".join(text.replace(_CURLY, "'").split()))
    letters = [_is_letter(each) for each in name]
    if not any(letters) or len(name) > MAX_OWN_NAME:
        return None
    if not all(is_letter or each in " .'-" for each, is_letter in zip(name, letters, strict=True)):
        return None
    is_domain = any(
        each == "." and follows for each, follows in zip(name, letters[1:], strict=False)
    )
    return None if is_domain else name


def _is_letter(character: str) -> bool:
    """A letter of any script, or a mark such as a vowel of Dhivehi."""
    return unicodedata.category(character)[0] in "LM"


def masked_payer(name: str, mobile: str | None, account: int) -> str:
    """`F… D…, …345`: initials, and the last digits of the mobile number or else of the account."""
    initials = " ".join(f"{word[0]}…" for word in name.split())
    return f"{initials}, …{(mobile or str(account))[-3:]}"


def masked_contact(value: str) -> str:
    """Enough for somebody who knows the contact to know it again, and no address for a stranger."""
    name, at, host = value.partition("@")
    return f"{name[:1]}…@{host}" if at else f"…{value[-3:]}"
