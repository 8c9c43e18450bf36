"""Opaque cursors of the listings: the creation time and id of the last row shown, sealed.

The seal covers the listing and its owner, so a cursor works only there and cannot be made up.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from hmac import compare_digest
from uuid import UUID

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_TIME_BYTES = 8
_ID_BYTES = 16
_SEAL_BYTES = 8  # guessing one takes 2^63 requests, and wins only a place in one's own listing
_CURSOR_BYTES = _TIME_BYTES + _ID_BYTES + _SEAL_BYTES
_CURSOR_CHARACTERS = 43


class Cursors:
    """Makes and reads cursors under one key of at most 64 bytes, the same in every process."""

    def __init__(self, key: bytes) -> None:
        self._seal_start = blake2b(key=key, digest_size=_SEAL_BYTES, person=b"laari cursor")

    def make(self, listing: str, owner: int, created_at: datetime, id: UUID) -> str:
        microseconds = (created_at - _EPOCH) // _MICROSECOND  # whole numbers: nothing is rounded
        place = microseconds.to_bytes(_TIME_BYTES, "big", signed=True) + id.bytes
        return _encode(place + self._seal(listing, owner, place))

    def read(self, listing: str, owner: int, text: str) -> tuple[datetime, UUID] | None:
        """The place of a cursor, or None if it is not one of this listing and owner."""
        if len(text) != _CURSOR_CHARACTERS or not text.isascii():
            return None
        try:
            packed = urlsafe_b64decode(text + "=")
        except ValueError:
            return None
        # The decoder skips other characters and ignores spare bits; only our form is valid.
        if len(packed) != _CURSOR_BYTES or _encode(packed) != text:
            return None
        place, seal = packed[:-_SEAL_BYTES], packed[-_SEAL_BYTES:]
        if not compare_digest(seal, self._seal(listing, owner, place)):
            return None
        microseconds = int.from_bytes(place[:_TIME_BYTES], "big", signed=True)
        return _EPOCH + microseconds * _MICROSECOND, UUID(bytes=place[_TIME_BYTES:])

    def _seal(self, listing: str, owner: int, place: bytes) -> bytes:
        seal = self._seal_start.copy()
        seal.update(place + f"{owner}:{listing}".encode())
        return seal.digest()


def _encode(packed: bytes) -> str:
    return urlsafe_b64encode(packed).rstrip(b"=").decode()
