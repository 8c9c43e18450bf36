"""The digits with which a till that has no connection checks that its static code was paid.

The page of the customer shows them, and the till makes the same ones (`static/offline.js`).
"""

import hmac
import math
import struct
from datetime import datetime
from uuid import UUID

DIGITS = 6


def secret_context(till_id: UUID) -> bytes:
    """What the secret of a till is encrypted for."""
    return b"till-offline " + till_id.bytes


def minute_of(moment: datetime) -> int:
    """Of real time, since 1970."""
    return math.floor(moment.timestamp()) // 60


def digits_of(secret: str, amount: int, minute: int) -> str:
    """The same for the same till, amount in laari and minute."""
    text = struct.pack(">QQ", amount, minute)
    return truncated(hmac.digest(secret.encode(), text, "sha256"))


def truncated(digest: bytes) -> str:
    """The last digits of 31 bits of it, chosen by its last byte: RFC 4226, section 5.3."""
    start = digest[-1] & 15
    number = int.from_bytes(digest[start : start + 4], "big") & 0x7FFF_FFFF
    return f"{number % 10**DIGITS:0{DIGITS}}"
