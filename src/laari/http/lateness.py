"""How late this process is: only the kernel knows how long a request waited for its event loop."""

import asyncio
import socket
import sys
import time
from contextlib import suppress

CHECK_SECONDS = 0.5  # between two looks at the deadlines
LATE_SECONDS = 1.0  # between two looks: the loop is late if it is more

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
        """The seconds since the last look that count for deadlines, at most `LATE_SECONDS`.

        Data that came while the loop was busy is unread: that delay is not the client's.
        """
        now = time.monotonic()
        gap, self._looked_at = now - self._looked_at, now
        self._was_late = gap > LATE_SECONDS
        return min(gap, LATE_SECONDS)

    def is_late(self, now: float) -> bool:
        """Whether the loop is late now, or was until a moment ago."""
        return self._was_late or now - self._looked_at > LATE_SECONDS


def wait_in_kernel(transport: asyncio.Transport) -> tuple[float, bool]:
    """Seconds since the last data came, and whether the client has closed its sending side."""
    info = _tcp_info(transport)
    is_closed = info[0] in (_CLOSE, _CLOSE_WAIT)
    return int.from_bytes(info[_LAST_DATA], sys.byteorder) / 1000, is_closed


def is_reset(transport: asyncio.Transport) -> bool:
    """Whether the client's system has reset the connection."""
    return _tcp_info(transport)[0] == _CLOSE


def _tcp_info(transport: asyncio.Transport) -> bytes:
    """Zeros if there is none: not a TCP socket, closed, or not Linux."""
    connected = transport.get_extra_info("socket")
    if connected is not None and _TCP_INFO is not None:
        with suppress(OSError):
            return bytes(connected.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _LAST_DATA.stop))
    return bytes(_LAST_DATA.stop)
