"""Fields of request bodies and query strings: what they may hold, and what it means."""

import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from tests.model.reference.answers import Refused
from tests.model.reference.times import MALDIVES

MAX_AMOUNT = 9_999_999_999
MAX_LIMIT = 999_999_999_999_999_999
BILL_CHARACTERS = re.compile(r"[A-Za-z0-9 \-_./]+")

Reader = Callable[[Any, str], Any]


def invalid(field: str) -> Refused:
    return Refused("invalid_request", field)


def text(longest: int, *, required: bool = False, characters: Any = None) -> Reader:
    """Trimmed; blank means none, where there need not be any."""

    def read(value: Any, field: str) -> str | None:
        if not isinstance(value, str) or "\0" in value:
            raise invalid(field)
        value = value.strip()
        if not any(map(_is_seen, value)):
            if required:
                raise invalid(field)
            return None
        if len(value) > longest or (characters and not characters.fullmatch(value)):
            raise invalid(field)
        return value

    return read


def _is_seen(character: str) -> bool:
    """Characters without width, such as U+200B, do not make a text that is not blank."""
    return not character.isspace() and unicodedata.category(character) != "Cf"


def integer(low: int, high: int) -> Reader:
    def read(value: Any, field: str) -> int:
        if type(value) is not int or not low <= value <= high:
            raise invalid(field)
        return value

    return read


def choice(*values: str) -> Reader:
    def read(value: Any, field: str) -> str:
        if value not in values:
            raise invalid(field)
        return str(value)

    return read


def timestamp(value: Any, field: str) -> int:
    """RFC 3339; without an offset it is +05:00, without a time midnight."""
    try:
        leap = value[17:19] == "60"  # the second that follows it is the one our clocks have
        moment = datetime.fromisoformat(f"{value[:17]}59{value[19:]}" if leap else value)
    except (TypeError, ValueError):
        raise invalid(field) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=MALDIVES)
    after = moment.astimezone(UTC) + timedelta(seconds=1) if leap else moment
    if leap and (after.day, after.hour, after.minute, after.second) != (1, 0, 0, 0):
        raise invalid(field)
    return int(after.timestamp())


def web_address(value: Any, field: str) -> str | None:
    """Absolute, http or https, without credentials, at most 2048 bytes."""
    address = text(10_000)(value, field)
    if address is None:
        return None
    parts = urlsplit(address)
    host = (parts.hostname or "").removesuffix(".")
    ours = parts.scheme in ("http", "https") and "@" not in parts.netloc and _is_host(host)
    if not ours or len(address.encode()) > 2048:
        raise invalid(field)
    return str(address)


def _is_host(host: str) -> bool:
    return all(re.fullmatch(r"[\w-]{1,63}", label) for label in host.split(".")) or ":" in host


def metadata(value: Any, field: str) -> dict[str, str]:
    """Up to 50 strings under keys of 1-40 characters; kept as they are."""
    if not isinstance(value, dict) or len(value) > 50:
        raise invalid(field)
    for key, held in value.items():
        if not 1 <= len(key) <= 40:
            raise invalid(field)
        if not isinstance(held, str) or len(held) > 500:
            raise invalid(f"{field}.{key}")
    return value


def group(fields: dict[str, Reader], required: tuple[str, ...] = ()) -> Reader:
    def read(value: Any, field: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise invalid(field)
        return read_fields(value, fields, required, f"{field}.")

    return read


REFERENCE = text(100, required=True)
AMOUNT = integer(1, MAX_AMOUNT)
BILL_NUMBER = text(25, characters=BILL_CHARACTERS)
# In the order of the document: of two wrong fields it tells which is named.
_ASKED: dict[str, Reader] = {"reference": REFERENCE, "amount": AMOUNT}
_TEXTS: dict[str, Reader] = {"title": text(255), "description": text(500)}
_HOSTED: dict[str, Reader] = {
    **_TEXTS,
    "terminal_label": text(10),
    "bill_number": BILL_NUMBER,
    "return_url": web_address,
    "expires_at": timestamp,
}
CHARGE: dict[str, Reader] = {**_ASKED, **_TEXTS, "bill_number": BILL_NUMBER}
PAYMENT: dict[str, Reader] = {**_ASKED, **_HOSTED, "metadata": metadata}
_CUSTOMER: dict[str, Reader] = {
    "type": choice("mobile", "email", "vpa"),
    "value": text(254, required=True),
}
REQUEST: dict[str, Reader] = {
    **_ASKED,
    "customer": group(_CUSTOMER, ("type", "value")),
    **_HOSTED,
}
_PERIOD: dict[str, Reader] = {
    "interval": choice("day", "week", "month", "year"),
    "amount": integer(1, MAX_LIMIT),
}
_LIMITS: dict[str, Reader] = {
    "per_payment": integer(1, MAX_LIMIT),
    "period": group(_PERIOD),
    "total": integer(1, MAX_LIMIT),
    "max_payments": integer(1, 4_294_967_295),
}
AUTHORIZATION: dict[str, Reader] = {
    "reference": text(128, required=True),
    "title": text(255, required=True),
    "description": text(500),
    "type": choice("recurring", "unscheduled", "one_time"),
    "limits": group(_LIMITS),
    "expires_at": timestamp,
    "return_url": web_address,
}
REFUND: dict[str, Reader] = {
    "amount": integer(1, MAX_AMOUNT),
    "reason": choice("requested_by_customer", "duplicate", "fraudulent", "other"),
    "note": text(500),
}
SANDBOX_WALLET: dict[str, Reader] = {
    "balance": integer(-MAX_LIMIT, MAX_LIMIT),
    "tier": choice("basic", "verified", "business"),
}


def read_fields(
    body: dict[str, Any],
    fields: dict[str, Reader],
    required: tuple[str, ...] = (),
    prefix: str = "",
) -> dict[str, Any]:
    """What is not listed is refused; null means left out, but for what is required and metadata."""
    for name in body:
        if name not in fields:
            raise invalid(prefix + name)
    values = {}
    for name, read in fields.items():
        given = name in body
        if name in required and not given:
            raise invalid(prefix + name)
        if given and (body[name] is not None or name in required or name == "metadata"):
            value = read(body[name], prefix + name)
            if value is not None:
                values[name] = value
    return values
