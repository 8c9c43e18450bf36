"""Identifiers: time-ordered 128-bit values shown with a readable prefix, and random tokens.

The moment and the random bytes are arguments, so the same arguments give the same identifier.
"""

import base64
import re
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import TypeAlias
from uuid import UUID

from msgspec import convert

# Returns this number of random bytes, as `os.urandom` does.
Random: TypeAlias = Callable[[int], bytes]

PAYMENT = "pay_"
PAYMENT_REQUEST = "prq_"
REFUND = "rfd_"
PAYOUT = "po_"
TILL = "till_"
TILL_CLOSING = "tcl_"
REUSABLE_LINK = "link_"
AUTHORIZATION = "auth_"
EVENT = "evt_"
CUSTOMER = "cus_"
MESSAGE = "msg_"
PERSON = "per_"
MOVEMENT = "mov_"
APPLICATION = "app_"
MERCHANT = "mer_"
CONTACT_CHANGE = "chg_"
CASE = "case_"
REMEMBERED_DEVICE = "dev_"
PASSKEY = "psk_"

_HEX32 = re.compile(r"[0-9a-f]{32}", re.ASCII)
_TOKEN = re.compile(r"[A-Za-z0-9_-]{24}", re.ASCII)
_BASE32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's: no letters that look alike
_PAIRS = [first + second for first in _BASE32 for second in _BASE32]
TID_PATTERN = f"[{_BASE32}]{{16}}"
_TID = re.compile(TID_PATTERN, re.ASCII)


def new_id(now: datetime, random: Random) -> UUID:
    """48 bits of milliseconds, then 80 random bits: neighbours in an index, hard to guess."""
    return _read_uuid((_milliseconds(now).to_bytes(6, "big") + random(10)).hex())


def first_id(moment: datetime) -> UUID:
    """The lowest id of this moment, to find rows by their time."""
    return UUID(int=_milliseconds(moment) << 80)


# Tokens begin with a few bits of the clock: new ones are neighbours in an index, so that few of its
# pages change.
def new_token(now: datetime, random: Random) -> str:
    """128 random bits for a public address, behind 16 of the clock."""
    clock = _milliseconds(now) // 4_000 & 0xFFFF
    return base64.urlsafe_b64encode(clock.to_bytes(2, "big") + random(16)).decode()


def is_token(text: str) -> bool:
    """Whether the text has the form of a token; otherwise a look-up is useless."""
    return _TOKEN.fullmatch(text) is not None


def new_tid(now: datetime, random: Random) -> str:
    """A transaction reference people can read out: 16 characters, the last 12 of them random."""
    clock = _milliseconds(now) // 1_000 & 0xFFFFF
    number = clock << 60 | int.from_bytes(random(8), "big") >> 4
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(70, -10, -10)])


def new_secret(random: Random) -> str:
    """256 random bits for a link that only its recipient may know."""
    return base64.urlsafe_b64encode(random(32)).rstrip(b"=").decode()


def new_name(random: Random) -> str:
    """100 random bits for the id of a merchant or a client: 20 letters and digits."""
    return base64.b32encode(random(13)).decode().lower()[:20]


def new_merchant_id(random: Random) -> str:
    return MERCHANT + new_name(random)


def new_code(random: Random, digits: int) -> str:
    """Random digits that somebody reads out or types. 64 bits make each equally likely."""
    return f"{int.from_bytes(random(8), 'big') % 10**digits:0{digits}}"


def new_letters(random: Random, letters: str, size: int) -> str:
    """Random letters of these. 64 bits for each make them equally likely."""
    numbers = (int.from_bytes(random(8), "big") for _ in range(size))
    return "".join(letters[number % len(letters)] for number in numbers)


def is_tid(text: str) -> bool:
    return _TID.fullmatch(text) is not None


def show_id(prefix: str, value: UUID) -> str:
    return prefix + value.hex


def read_id(prefix: str, text: str) -> UUID | None:
    """The value of a shown id, or None if the text does not have the exact form."""
    if not text.startswith(prefix):
        return None
    digits = text[len(prefix) :]
    return _read_uuid(digits) if _HEX32.fullmatch(digits) else None


@lru_cache(maxsize=1)  # all identifiers of a batch have the same moment
def _milliseconds(now: datetime) -> int:
    return round(now.timestamp() * 1_000)


def _read_uuid(digits: str) -> UUID:
    """Of 32 hexadecimal digits; `UUID(…)` takes three times as long."""
    return convert(digits, UUID)
