"""People's passwords: argon2id, which is slow and hungry for memory on purpose."""

from __future__ import annotations

import base64
import secrets

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

_hasher = PasswordHasher()  # the library's defaults follow RFC 9106
_LETTERS = "abcdefghjkmnpqrstvwxyz23456789"  # nothing to misread
_GROUPS = 4  # of four letters


def new_password() -> str:
    """78 random bits in groups that people can copy: `k7qf-m9xw-…`."""
    return "-".join("".join(secrets.choice(_LETTERS) for _ in range(4)) for _ in range(_GROUPS))


def hash_password(password: str) -> str:
    return _hasher.hash(password)


def nobodys_hash() -> str:
    """A hash that no password fits and that takes as long to try as any: for who is not there."""
    costs = f"m={_hasher.memory_cost},t={_hasher.time_cost},p={_hasher.parallelism}"
    salt, key = secrets.token_bytes(_hasher.salt_len), secrets.token_bytes(_hasher.hash_len)
    return f"$argon2id$v=19${costs}${_base64(salt)}${_base64(key)}"


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode().rstrip("=")


def password_fits(password: str, password_hash: str) -> bool:
    try:
        return _hasher.verify(password_hash, password)
    except VerifyMismatchError:
        return False
