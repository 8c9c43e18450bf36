"""Whether this process is late, and how long a request has waited for it.

While an event loop is busy, requests wait in the kernel: accepted by nobody, or not read. Only the
kernel knows since when. It is asked about new connections, and about others while the loop is late.
"""

import asyncio
import socket
import sys
import time
from contextlib import suppress
from typing import NamedTuple

CHECK_SECONDS = 0.5  # between two looks at the deadlines
LATE_SECONDS = 1.0  # a look that comes so long after the one before it

# From <linux/tcp.h>: the state is the first byte of `tcp_info`, the milliseconds since the last
# data came are a number of four bytes.
_TCP_INFO = getattr(socket, "TCP_INFO", None) if sys.platform == "linux" else None
_LAST_DATA = slice(52, 56)
_CLOSE, _CLOSE_WAIT = 7, 8


class Lateness:
    def __init__(self) -> None:
        self.began = self._looked_at = time.monotonic()
        self._was_late = False

    def look(self) -> float:
        """How much later it is for deadlines than at the last look, at most `LATE_SECONDS`.

        What came while the loop was busy has not been read yet. The time that it waited for this
        process is not a client's delay.
        """
        now = time.monotonic()
        gap, self._looked_at = now - self._looked_at, now
        self._was_late = gap > LATE_SECONDS
        return min(gap, LATE_SECONDS)

    def is_late(self, now: float) -> bool:
        """Whether the loop is late now, or was until a moment ago."""
        return self._was_late or now - self._looked_at > LATE_SECONDS


class Wait(NamedTuple):
    seconds: float  # since the last data came
    closed: bool  # by the client, at least the side on which it sends


def wait_in_kernel(transport: asyncio.Transport) -> Wait:
    info = _tcp_info(transport)
    milliseconds = int.from_bytes(info[_LAST_DATA], sys.byteorder)
    return Wait(milliseconds / 1000, closed=info[0] in (_CLOSE, _CLOSE_WAIT))


def is_reset(transport: asyncio.Transport) -> bool:
    """Whether the client's system has said that nobody is there any more."""
    return _tcp_info(transport)[0] == _CLOSE


def _tcp_info(transport: asyncio.Transport) -> bytes:
    """Zeros if the system does not tell: it is no TCP socket, closed, or not Linux."""
    connected = transport.get_extra_info("socket")
    if connected is not None and _TCP_INFO is not None:
        with suppress(OSError):
            return bytes(connected.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _LAST_DATA.stop))
    return bytes(_LAST_DATA.stop)
