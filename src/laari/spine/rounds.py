"""Rounds that follow each other while something waits, and are overtaken if one takes long.

One query at a time gathers the most for the next. But if one never returns, because its
connection has gone silent, the requests that gathered meanwhile must not wait for it.
"""

import asyncio
from collections.abc import Awaitable, Callable

PATIENCE_SECONDS = 0.5  # after which the next round does not wait for the one that is running


class Rounds:
    def __init__(self, run_round: Callable[[], Awaitable[None]], waits: Callable[[], bool]) -> None:
        self._run_round = run_round
        self._waits = waits
        self._number = 0  # of the task whose round it is; one that was overtaken stops
        self._running: set[asyncio.Task[None]] = set()
        self._is_working = False
        self._began = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def wake(self) -> None:
        """Something waits."""
        if not self._is_working:
            self._start()

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        self._is_working = True
        self._number += 1
        self._began = loop.time()
        task = loop.create_task(self._work(self._number))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        if self._timer is None:
            self._timer = loop.call_later(PATIENCE_SECONDS, self._look)

    async def _work(self, number: int) -> None:
        loop = asyncio.get_running_loop()
        while self._number == number and self._waits():
            self._began = loop.time()
            await self._run_round()
        if self._number == number:
            self._is_working = False

    def _look(self) -> None:
        """One timer looks now and then, rather than one being set for every round."""
        loop = asyncio.get_running_loop()
        self._timer = None
        if not self._is_working:
            return
        if self._waits() and loop.time() - self._began >= PATIENCE_SECONDS:
            self._start()
        else:
            self._timer = loop.call_later(PATIENCE_SECONDS / 2, self._look)
