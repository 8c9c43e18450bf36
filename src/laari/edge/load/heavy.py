"""Heavy work for pages, kept from taking the processors that payments need.

A report adds up a merchant's payments in the database. A long page and an export take the event
loop's time while they are written. Both are cut into pieces, and the pieces of each kind share a
duty cycle in every process: one at a time, followed by a rest, so that they take a share of the
time and no more, however many people ask.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Generic, TypeVar

from laari.edge.load.overload import Overloaded

K = TypeVar("K", bound=Hashable)
A = TypeVar("A")

# Rests, as a multiple of what the work before took.
REPORT_REST = 3.0  # a quarter of one of the database's processors at most, for each process
SEARCH_REST = 3.0  # the same for searches, which are short
WRITING_REST = 4.0  # a fifth of the event loop's time at most
# Somebody who looks at a page does not wait longer; work that nobody waits for is not begun.
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
        """`soon`: for somebody who waits for it; `Overloaded` where it does not come in time."""
        await (patiently(self._lock.acquire()) if soon else self._lock.acquire())
        began = time.monotonic()
        try:
            yield
        finally:
            rest = (time.monotonic() - began) * self._rest
            asyncio.get_running_loop().call_later(rest, self._lock.release)


class Coalescing(Generic[K, A]):
    """Work that is done once for all who ask for the same before it begins.

    Look-ups do so too, but are overtaken where one takes long; here that would be the rule.
    """

    def __init__(self, work: Callable[[K], Awaitable[A]]) -> None:
        self._work = work
        self._waiting: dict[K, list[asyncio.Future[A]]] = {}  # of keys that are being worked on
        self._tasks: set[asyncio.Task[None]] = set()

    async def get(self, key: K) -> A:
        future: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        if key not in self._waiting:
            self._waiting[key] = []
            task = asyncio.create_task(self._run_all(key))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._waiting[key].append(future)
        return await future

    async def _run_all(self, key: K) -> None:
        while waiting := self._waiting[key]:
            self._waiting[key] = []  # whoever asks from now on wants a later result
            if any(not future.done() for future in waiting):
                await self._run(key, waiting)
        del self._waiting[key]

    async def _run(self, key: K, waiting: list[asyncio.Future[A]]) -> None:
        try:
            result = await self._work(key)
        except Exception as error:
            for future in waiting:
                if not future.done():
                    future.set_exception(error)
        else:
            for future in waiting:
                if not future.done():
                    future.set_result(result)


class Heavy:
    """The heavy work of one process."""

    def __init__(self) -> None:
        self.reports = DutyCycle(REPORT_REST)
        self.searches = DutyCycle(SEARCH_REST)
        # Rows of an export are read in a cycle of their own: a filter that matches little makes the
        # database look at much, and people who open a page should not wait for that.
        self.reading = DutyCycle(WRITING_REST)
        self.writing = DutyCycle(WRITING_REST)
        self._exports: Counter[str] = Counter()  # by merchant

    @contextmanager
    def export(self, merchant_id: str) -> Iterator[None]:
        """For the whole of one export."""
        mine = self._exports[merchant_id]
        if mine >= MOST_EXPORTS_OF_A_MERCHANT or self._exports.total() >= MOST_EXPORTS:
            raise Overloaded(RETRY_AFTER_SECONDS)
        self._exports[merchant_id] += 1
        try:
            yield
        finally:
            self._exports[merchant_id] -= 1
            if not self._exports[merchant_id]:
                del self._exports[merchant_id]


async def patiently(work: Awaitable[A]) -> A:
    """What the work comes to, where that is soon enough for somebody who waits for it."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await work
    except TimeoutError:
        raise Overloaded(RETRY_AFTER_SECONDS) from None
