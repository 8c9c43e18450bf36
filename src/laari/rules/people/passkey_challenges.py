"""Challenges for passkeys: made by the service for one browser and purpose, and signed by it later.

A challenge is its own record: the moment, chance, and a code over both and what it is bound to. So
nobody fills a table by asking for challenges. The passkey keeps the moment of the last one that was
accepted, and an older one is refused: each counts once.
"""

import hmac
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, TypeAlias
from uuid import UUID

from laari.rules.limits.passkeys import PASSKEY_CHALLENGE_LIFE
from laari.rules.records.tenants import Mode

PURPOSE = "passkey-challenge"  # of the code
RANDOM_BYTES = 16
_MOMENT_BYTES = 8
_CODE_BYTES = 32
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

Digest: TypeAlias = Callable[[str, str], bytes]  # for a purpose, made with the master key


class ForLogIn(NamedTuple):
    """A log-in to wallets of this mode, for this page alone or (None) for the wallet."""

    mode: Mode
    page: str | None
    browser: str  # its secret, which is in its cookie


class ForAdding(NamedTuple):
    """A new passkey for this customer, who has just entered the password with this hash."""

    customer_id: UUID
    password_hash: str
    browser: str


Bound: TypeAlias = ForLogIn | ForAdding


def new_challenge(digest: Digest, now: datetime, chance: bytes, bound: Bound) -> bytes:
    told = ((now - _EPOCH) // _MICROSECOND).to_bytes(_MOMENT_BYTES, "big") + chance
    return told + _code(digest, told, bound)


def made_at(digest: Digest, challenge: bytes, bound: Bound, now: datetime) -> datetime | None:
    """When it was made; None if it is not ours, is bound to something else, or has expired."""
    told, code = challenge[:-_CODE_BYTES], challenge[-_CODE_BYTES:]
    if len(told) != _MOMENT_BYTES + RANDOM_BYTES:
        return None
    if not hmac.compare_digest(_code(digest, told, bound), code):
        return None
    moment = _EPOCH + int.from_bytes(told[:_MOMENT_BYTES], "big") * _MICROSECOND
    # In both directions: the clocks of two servers differ a little.
    return moment if abs(now - moment) <= PASSKEY_CHALLENGE_LIFE else None


def _code(digest: Digest, told: bytes, bound: Bound) -> bytes:
    # A purpose, a mode and an id have no spaces, and the secret of a browser comes last.
    names = (type(bound).__name__, *map(str, bound))
    return digest(PURPOSE, " ".join((told.hex(), *names)))
