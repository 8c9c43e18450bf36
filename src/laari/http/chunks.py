"""A chunked body: its chunks are joined, extensions and trailer fields are dropped."""

import re

from laari.http.connection_limits import Limits
from laari.http.head import is_field
from laari.rules.refusals import Refusal, refuse

_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})(?:;[^\x00-\x08\x0a-\x1f\x7f]*+)?+")
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})  # would contradict these chunks


class Chunks:
    """Reads from the front of a buffer. `body` grows to at most one byte over its limit."""

    __slots__ = (
        "_count",
        "_in_trailer",
        "_left",
        "_limits",
        "_trailer_bytes",
        "body",
        "is_complete",
    )

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._left = 0  # of the chunk being read, with the CRLF that ends it
        self._count = 0  # of chunks, then of trailer fields
        self._in_trailer = False
        self._trailer_bytes = 0
        self.body = bytearray()
        self.is_complete = False

    @property
    def is_too_long(self) -> bool:
        return len(self.body) > self._limits.body_bytes

    def read(self, buffer: bytearray) -> Refusal | None:
        """Takes the body from the buffer, up to its end or its limit."""
        at = 0
        refusal: Refusal | None = None
        while refusal is None and not self.is_complete and not self.is_too_long:
            if self._left:
                size = len(buffer) - at
                if size == 0 or (size < 2 and self._left <= 2):
                    break
                taken, refusal = self._take(buffer, at)
                at += taken
                continue
            end = buffer.find(b"\r\n", at, at + self._longest_line + 2)
            if end < 0:
                refusal = self._unended(buffer, at)
                break
            refusal = self._read_line(bytes(buffer[at:end]))
            at = end + 2
        del buffer[:at]
        return refusal

    @property
    def _longest_line(self) -> int:
        limits = self._limits
        if self._in_trailer:
            return limits.trailer_bytes - self._trailer_bytes
        return limits.chunk_line_bytes

    def _take(self, buffer: bytearray, at: int) -> tuple[int, Refusal | None]:
        """Takes the bytes of the chunk that have come, or the CRLF after it."""
        if self._left > 2:
            room = self._limits.body_bytes + 1 - len(self.body)
            taken = min(self._left - 2, len(buffer) - at, room)
            self.body += buffer[at : at + taken]
            self._left -= taken
            return taken, None
        self._left = 0
        if buffer[at : at + 2] != b"\r\n":
            return 0, refuse("invalid_request", "A chunk is longer than its declared size.")
        return 2, None

    def _read_line(self, line: bytes) -> Refusal | None:
        if self._in_trailer:
            self._trailer_bytes += len(line) + 2
            self.is_complete = not line
            self._count += 1
            if self._count > self._limits.fields + 1:  # the empty line that ends it is no field
                return refuse("header_too_large", f"At most {self._limits.fields} trailer fields.")
            if line and (not is_field(line) or line.partition(b":")[0].lower() in _FRAMING):
                return refuse("invalid_request", "A trailer field is malformed.")
            return None
        size = _SIZE.fullmatch(line)
        if size is None:
            return refuse("invalid_request", "The size of a chunk is malformed.")
        self._count += 1
        limits = self._limits
        if self._count > limits.chunks + len(self.body) // limits.chunk_bytes:
            return refuse("invalid_request", "The body has too many small chunks.")
        length = int(size[1], 16)
        if length:
            self._left = length + 2
        else:
            self._in_trailer = True
            self._count = 0
        return None

    def _unended(self, buffer: bytearray, at: int) -> Refusal | None:
        """Refuses a line without an end, unless the end may still come."""
        if len(buffer) - at < self._longest_line + 2:
            # A lone CR or LF cannot become the end of this line any more.
            line = bytes(buffer[at:])
            if b"\n" in line or b"\r" in line[:-1]:
                return refuse("invalid_request", "A line of the body does not end in CRLF.")
            return None
        if self._in_trailer:
            return refuse("header_too_large", "The trailer section is too long.")
        return refuse("invalid_request", "The size of a chunk is malformed.")
