"""Ends connections whose answer is overdue; one timer serves all statements.

There is no cancel: a cancelled commit that waits for a standby would be reported as done.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from asyncpg import Connection

CHECK_SECONDS = 0.25


class Watch:
    def __init__(self) -> None:
        self._due: dict[Connection, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._checked_at = 0.0

    def expect(self, connection: Connection, seconds: float) -> None:
        """Drops the connection unless `done` is called, or `expect` again, within the time."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._due[connection] = now + seconds
        if self._timer is None:
            self._checked_at = now
            self._timer = loop.call_later(CHECK_SECONDS, self._check_deadlines)

    def done(self, connection: Connection) -> None:
        self._due.pop(connection, None)

    @contextmanager
    def bound(self, connection: Connection, seconds: float) -> Iterator[None]:
        self.expect(connection, seconds)
        try:
            yield
        finally:
            self.done(connection)

    def _check_deadlines(self) -> None:
        loop = asyncio.get_running_loop()
        now, late = loop.time(), loop.time() - self._checked_at > 3 * CHECK_SECONDS
        self._checked_at = now
        if late:
            # This process was held up itself: answers may have come that nobody has read yet.
            self._due = {each: max(due, now + CHECK_SECONDS) for each, due in self._due.items()}
        for connection in [each for each, due in self._due.items() if due <= now]:
            del self._due[connection]
            connection.terminate()
        self._timer = loop.call_later(CHECK_SECONDS, self._check_deadlines) if self._due else None
