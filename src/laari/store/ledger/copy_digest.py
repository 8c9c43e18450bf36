"""Digests rows in PostgreSQL's binary copy format, without work for each row."""

import hashlib
import struct

_HEADER = struct.Struct(">11sII")  # signature, flags, and the length of what is added to it
_SIGNATURE = b"PGCOPY\n\xff\r\n\0"
_END = b"\xff\xff"  # in place of a row's number of columns


def divider(columns: int) -> bytes:
    """A row in which every column is null, as it is copied."""
    return struct.pack(">h", columns) + b"\xff" * 4 * columns


class CopyDigest:
    """Digests the copied bytes without header and end, as one digest or one for each group.

    A row may contain `divider`, so the caller compares the number of groups with its own.
    """

    def __init__(self, divider: bytes = b"") -> None:
        self._divider = divider
        self._digests = [hashlib.sha256()]
        self._is_begun = False
        self._held = b""  # what may be a part of the header, of a divider or of the end

    def take(self, data: bytes) -> None:
        data = self._held + data
        position = 0
        if not self._is_begun:
            position = _length_of_header(data)
            if not 0 < position <= len(data):
                self._held = data
                return
            self._is_begun = True
        view = memoryview(data)
        while self._divider and (found := data.find(self._divider, position)) >= 0:
            self._digests[-1].update(view[position:found])
            self._digests.append(hashlib.sha256())
            position = found + len(self._divider)
        held = max(position, len(data) - max(len(self._divider) - 1, len(_END)))
        self._digests[-1].update(view[position:held])
        self._held = data[held:]

    def end(self) -> list[bytes]:
        """The digest of each group, and of the bytes after the last divider."""
        if not self._is_begun or not self._held.endswith(_END):
            raise ValueError("what was copied has no end")
        self._digests[-1].update(self._held[: -len(_END)])
        return [digest.digest() for digest in self._digests]


def _length_of_header(data: bytes) -> int:
    """0 if the header is not complete yet."""
    if len(data) < _HEADER.size:
        return 0
    signature, flags, added = _HEADER.unpack_from(data)
    if (signature, flags) != (_SIGNATURE, 0):
        raise ValueError("this is no binary copy that is known")
    return _HEADER.size + int(added)
