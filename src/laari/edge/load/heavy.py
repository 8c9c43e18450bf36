"""Heavy work for pages: one piece at a time, then a rest, so that payments keep the processor."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Generic, TypeVar

from laari.edge.load.admission import Overloaded

K = TypeVar("K", bound=Hashable)
A = TypeVar("A")

# Rests, as a multiple of the time that the work took.
REPORT_REST = 3.0  # at most a quarter of a processor of the database, per process
SEARCH_REST = 3.0  # the same for searches, which are short
WRITING_REST = 4.0  # at most a fifth of the event loop's time
# People do not wait longer for a page; work that nobody waits for is not begun.
PATIENCE_SECONDS = 10.0
RETRY_AFTER_SECONDS = 5
# Exports last as long as the client takes to read them.
MOST_EXPORTS = 8
MOST_EXPORTS_OF_A_MERCHANT = 2


class DutyCycle:
    """One piece of work at a time, first come, first served, and a rest after each."""

    def __init__(self, rest: float) -> None:
        self._rest = rest
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def slot(self, *, soon: bool = False) -> AsyncIterator[None]:
        """`soon`: somebody waits for it, so it raises `Overloaded` if its turn comes too late."""
        await (patiently(self._lock.acquire()) if soon else self._lock.acquire())
        began = time.monotonic()
        try:
            yield
        finally:
            rest = (time.monotonic() - began) * self._rest
            asyncio.get_running_loop().call_later(rest, self._lock.release)


class Reports(Generic[K, A]):
    """Makes a report once for everybody who asks for it before it is begun."""

    def __init__(self, make: Callable[[K], Awaitable[A]]) -> None:
        self._make = make
        self._turns = DutyCycle(REPORT_REST)
        self._not_begun: dict[K, asyncio.Task[A]] = {}

    async def get(self, key: K) -> A:
        if key not in self._not_begun:
            self._not_begun[key] = task = asyncio.create_task(self._run(key))
            # Everybody may have left before it fails: that is nothing to log.
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return await patiently(asyncio.shield(self._not_begun[key]))

    async def _run(self, key: K) -> A:
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self._turns.slot(soon=True))
            finally:
                del self._not_begun[key]
            return await self._make(key)


class Heavy:
    """The heavy work of one process."""

    def __init__(self) -> None:
        self.searches = DutyCycle(SEARCH_REST)
        # Exports read their rows in a separate cycle: a filter that matches few rows is slow, and
        # people who open a page should not wait for it.
        self.reading = DutyCycle(WRITING_REST)
        self.writing = DutyCycle(WRITING_REST)
        self._exports: Counter[str] = Counter()  # by merchant

    @contextmanager
    def export(self, merchant_id: str) -> Iterator[None]:
        """A place for one export."""
        mine = self._exports[merchant_id]
        if mine >= MOST_EXPORTS_OF_A_MERCHANT or self._exports.total() >= MOST_EXPORTS:
            raise Overloaded(RETRY_AFTER_SECONDS)
        self._exports[merchant_id] += 1
        try:
            yield
        finally:
            self._exports -= Counter([merchant_id])  # which drops a count of zero


async def patiently(work: Awaitable[A]) -> A:
    """The result of the work, if it comes soon enough for somebody who waits for it."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await work
    except TimeoutError:
        raise Overloaded(RETRY_AFTER_SECONDS) from None
