"""What the master key does for a decision."""

from collections.abc import Callable
from typing import NamedTuple


class Keys(NamedTuple):
    """What the master key does for a decision."""

    encrypt: Callable[[bytes, bytes], bytes]  # a text, bound to its context
    digest: Callable[[str, str], bytes]  # for a purpose, the stored form of a code or a link
    decrypt: Callable[[bytes, bytes], bytes | None]  # None in another context


def _no_key(*_: object) -> bytes:
    raise RuntimeError("this process writes no messages and no codes: it has no key for them")


NO_KEYS = Keys(_no_key, _no_key, _no_key)


def bind(digest: Callable[[str, str], bytes], stored: bytes, *owner: str) -> bytes:
    """Ties the stored form of a secret to its owner: moved to another owner, it opens nothing."""
    return digest("binding", " ".join((stored.hex(), *owner)))
