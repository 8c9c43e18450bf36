"""A body that is too long to be held: the application takes it in pieces, if it wants it at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from laari.http.connection_limits import Limits
from laari.http.cycle import CONTINUE
from laari.http.head import Head
from laari.http.messages import PIECE_BYTES, ClientGone, SlowBody


class LongBody:
    """Takes from the front of the connection's buffer, which the client fills.

    The client has to send at a rate from the first piece on, so that nobody keeps a place for long.
    """

    __slots__ = (
        "_buffer",
        "_deadline",
        "_head",
        "_is_ended",
        "_limits",
        "_more",
        "_on_take",
        "_transport",
        "left",
    )

    def __init__(
        self,
        buffer: bytearray,
        head: Head,
        transport: asyncio.Transport,
        limits: Limits,
        on_take: Callable[[LongBody], None],
    ) -> None:
        """`on_take` is called after each piece: there is room in the buffer again."""
        self._buffer = buffer
        self._head = head
        self._transport = transport
        self._limits = limits
        self._on_take = on_take
        self._deadline: float | None = None  # by the event loop's clock
        self._more: asyncio.Future[None] | None = None
        self._is_ended = False
        self.left = head.length

    async def take(self) -> bytes:
        """The next piece, empty after the last one. Other tasks run before each piece."""
        await asyncio.sleep(0)
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + self._limits.body_start_seconds
            if self._head.expects_continue and not self._buffer:
                self._transport.write(CONTINUE)
        if self.left > 0 and not self._buffer:
            await self._wait(self._deadline)
        piece = bytes(self._buffer[: min(self.left, PIECE_BYTES)])
        del self._buffer[: len(piece)]
        self.left -= len(piece)
        self._deadline += len(piece) / self._limits.long_body_bytes_per_second
        self._on_take(self)
        return piece

    async def _wait(self, deadline: float) -> None:
        if not self._is_ended:
            self._more = asyncio.get_running_loop().create_future()
            try:
                async with asyncio.timeout_at(deadline):
                    await self._more
            except TimeoutError:
                raise SlowBody from None
        if not self._buffer:
            raise ClientGone

    def came(self) -> None:
        """The buffer has more bytes."""
        if self._more is not None and not self._more.done():
            self._more.set_result(None)

    def end(self) -> None:
        """The client sends no more."""
        self._is_ended = True
        self.came()
