"""Heavy work for pages: one piece at a time, then a rest, so that payments keep the processor."""

import asyncio
import time
from collections import Counter, deque
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
SLICED_REST = 1.0  # a sixth: a page is written in slices, which rest twice as long as they work
# People do not wait longer for a page; work that nobody waits for is not begun.
PATIENCE_SECONDS = 10.0
RETRY_AFTER_SECONDS = 5
# Exports last as long as the client takes to read them.
MOST_EXPORTS = 8
MOST_EXPORTS_OF_A_MERCHANT = 2
# An uploaded file is in memory until its form is handled.
MOST_UPLOADS = 4
MOST_UPLOADS_OF_A_PERSON = 1


class DutyCycle:
    """One piece of work at a time and a rest after each. Owners take turns."""

    def __init__(self, rest: float) -> None:
        self._rest = rest
        self._is_taken = False
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}  # the next owner first

    @asynccontextmanager
    async def slot(
        self, owner: Hashable, *, soon: bool = False, rest: float | None = None
    ) -> AsyncIterator[None]:
        """`soon`: somebody waits for it, so it raises `Overloaded` if its turn comes too late."""
        taken = self._take(owner)
        await (patiently(taken) if soon else taken)
        began = time.monotonic()
        try:
            yield
        finally:
            took = time.monotonic() - began
            seconds = took * (self._rest if rest is None else rest)
            asyncio.get_running_loop().call_later(seconds, self._pass_on)

    async def _take(self, owner: Hashable) -> None:
        if not self._is_taken:
            self._is_taken = True
            return
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(admitted)
        try:
            await admitted
        except asyncio.CancelledError:
            if not admitted.cancelled():
                self._pass_on()  # the caller left at the moment when it was admitted
            raise

    def _pass_on(self) -> None:
        """Admits the first of the next owner, who then comes last."""
        while self._waiting:
            owner = next(iter(self._waiting))
            waiting = self._waiting.pop(owner)
            while waiting:
                admitted = waiting.popleft()
                if not admitted.done():  # it is, if the caller has left
                    if waiting:
                        self._waiting[owner] = waiting
                    admitted.set_result(None)
                    return
        self._is_taken = False


class Doors:
    """A person has one long page at a time. One more waits before it begins: the newest."""

    def __init__(self) -> None:
        self._inside: set[Hashable] = set()
        self._waiting: dict[Hashable, asyncio.Future[bool]] = {}  # False: a newer one waits instead

    @asynccontextmanager
    async def enter(self, person: Hashable) -> AsyncIterator[None]:
        if person in self._inside:
            await patiently(self._wait(person))
        self._inside.add(person)
        try:
            yield
        finally:
            self._leave(person)

    async def _wait(self, person: Hashable) -> None:
        older = self._waiting.get(person)
        if older is not None and not older.done():
            older.set_result(False)
        admitted = self._waiting[person] = asyncio.get_running_loop().create_future()
        try:
            if not await admitted:
                raise Overloaded(RETRY_AFTER_SECONDS)
        except asyncio.CancelledError:
            if self._waiting.get(person) is admitted:
                del self._waiting[person]
            if not admitted.cancelled() and admitted.result():
                self._leave(person)  # the caller left at the moment when it was admitted
            raise

    def _leave(self, person: Hashable) -> None:
        """The one who waits is inside at once, so that nobody comes between."""
        waiting = self._waiting.pop(person, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(True)
        else:
            self._inside.remove(person)


class Reports(Generic[K, A]):
    """Makes a report once for everybody who asks for it before it is begun."""

    def __init__(self, make: Callable[[K], Awaitable[A]]) -> None:
        self._make = make
        self._turns = DutyCycle(REPORT_REST)
        self._not_begun: dict[K, asyncio.Task[A]] = {}

    async def get(self, key: K, owner: Hashable) -> A:
        if key not in self._not_begun:
            self._not_begun[key] = task = asyncio.create_task(self._run(key, owner))
            # Everybody may have left before it fails: that is nothing to log.
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return await patiently(asyncio.shield(self._not_begun[key]))

    async def _run(self, key: K, owner: Hashable) -> A:
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self._turns.slot(owner, soon=True))
            finally:
                del self._not_begun[key]
            return await self._make(key)


class Places:
    """A bounded number of long works at once, in all and for each owner."""

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._taken: Counter[Hashable] = Counter()  # by owner

    @contextmanager
    def place(self, owner: Hashable) -> Iterator[None]:
        if self._taken[owner] >= self._most_of_one or self._taken.total() >= self._most:
            raise Overloaded(RETRY_AFTER_SECONDS)
        self._taken[owner] += 1
        try:
            yield
        finally:
            self._taken -= Counter([owner])  # which drops a count of zero


class Line:
    """The long pages and searches of some people."""

    def __init__(self) -> None:
        self.doors = Doors()
        self.searches = DutyCycle(SEARCH_REST)
        self.writing = DutyCycle(WRITING_REST)


class Heavy:
    """The heavy work of one process."""

    def __init__(self) -> None:
        self.merchants = Line()
        self.desk = Line()  # no merchant keeps the operator waiting
        # Exports read their rows in a separate cycle: a filter that matches few rows is slow, and
        # people who open a page should not wait for it.
        self.reading = DutyCycle(WRITING_REST)
        self.exports = Places(MOST_EXPORTS, MOST_EXPORTS_OF_A_MERCHANT)
        self.uploads = Places(MOST_UPLOADS, MOST_UPLOADS_OF_A_PERSON)


async def patiently(work: Awaitable[A]) -> A:
    """The result of the work, if it comes soon enough for somebody who waits for it."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await work
    except TimeoutError:
        raise Overloaded(RETRY_AFTER_SECONDS) from None
