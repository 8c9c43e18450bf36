"""A queue for verifying passwords: one at a time, few waiting, the least demanding first.

A hash takes a fifth of a second of a processor, so whoever asks for many could keep everybody else
out. Each attempt has a rank, which says how much was asked for from where it comes: the lowest goes
first, and where the queue is full the highest is sent away. So those who flood wait for each other,
and somebody who comes for the first time, or from a browser that is known, waits for one hash.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import count
from multiprocessing import get_context
from typing import Any, NamedTuple, TypeAlias, TypeVar, TypeVarTuple

from laari.edge.load.overload import Overloaded
from laari.http.messages import ClientGone
from laari.store.people.passwords import hash_password, password_fits, yield_to_payments

log = logging.getLogger(__name__)

Ts = TypeVarTuple("Ts")
T = TypeVar("T")

Disconnected: TypeAlias = Callable[[], Awaitable[None]]  # returns when the client has gone

MOST_WAITING = 8  # about three seconds' work: beyond it, being told to come back beats waiting
LONGEST_WAIT_SECONDS = 8.0  # in the queue: less than half of it, unless the machine is full
RETRY_AFTER_SECONDS = 3
FIRST = -1.0  # the rank of those who go before all others


class _Waiting(NamedTuple):
    rank: float
    number: int  # of two with one rank the first comes first
    admitted: asyncio.Future[None]

    @property
    def is_admitted(self) -> bool:
        turn = self.admitted
        return turn.done() and not turn.cancelled() and turn.exception() is None

    @property
    def place(self) -> tuple[float, int]:
        return self.rank, self.number


class RankedQueue:
    """Lets one in at a time, the lowest rank first; a bounded number waits, for a bounded time."""

    def __init__(
        self, most: int = MOST_WAITING, longest_seconds: float = LONGEST_WAIT_SECONDS
    ) -> None:
        self._most = most
        self._longest_seconds = longest_seconds
        self._taken = False
        self._waiting: list[_Waiting] = []
        self._numbers = count()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    async def acquire(self, rank: float) -> None:
        """Returns when it is this one's turn, which `release` ends; raises Overloaded."""
        if not self._taken:
            self._taken = True
            return
        self._make_room(rank)
        one = _Waiting(rank, next(self._numbers), asyncio.get_running_loop().create_future())
        self._waiting.append(one)
        try:
            async with asyncio.timeout(self._longest_seconds):
                await one.admitted
        except (TimeoutError, asyncio.CancelledError) as error:
            if one in self._waiting:
                self._waiting.remove(one)
            elif one.is_admitted:
                self.release()  # it was admitted in the moment when nobody waited for it any more
            if isinstance(error, TimeoutError):
                raise Overloaded(RETRY_AFTER_SECONDS) from None
            raise

    def _make_room(self, rank: float) -> None:
        if len(self._waiting) < self._most:
            return
        last = max(self._waiting, key=lambda one: one.place)
        if last.rank <= rank:
            raise Overloaded(RETRY_AFTER_SECONDS)
        self._waiting.remove(last)
        last.admitted.set_exception(Overloaded(RETRY_AFTER_SECONDS))

    def release(self) -> None:
        """To the next one, who is there and has the lowest rank."""
        self._waiting = [one for one in self._waiting if not one.admitted.done()]
        if not self._waiting:
            self._taken = False
            return
        following = min(self._waiting, key=lambda one: one.place)
        self._waiting.remove(following)
        following.admitted.set_result(None)


class Hashing:
    """What the pages use: a password verified or hashed, in turn, for who is still connected."""

    def __init__(self) -> None:
        self._queue = RankedQueue()
        self._pool: ProcessPoolExecutor | None = None

    async def fits(
        self, password: str, password_hash: str, *, rank: float, disconnected: Disconnected
    ) -> bool:
        work = self._work(rank, password_fits, password, password_hash)
        return await _while_connected(work, disconnected)

    async def hash(self, password: str, *, rank: float, disconnected: Disconnected) -> str:
        return await _while_connected(self._work(rank, hash_password, password), disconnected)

    async def _work(self, rank: float, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        await self._queue.acquire(rank)
        try:
            return await self._run(function, *arguments)
        finally:
            self._queue.release()

    async def _run(self, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """In a process of its own: the first one, or a second if the first ends meanwhile."""
        for _ in range(2):
            if self._pool is None:
                context = get_context("spawn")  # a fork would copy open connections and locks
                self._pool = ProcessPoolExecutor(1, context, initializer=yield_to_payments)
            loop, pool = asyncio.get_running_loop(), self._pool
            try:
                return await loop.run_in_executor(pool, partial(function, *arguments))
            except (BrokenProcessPool, OSError) as error:  # killed, or it could not be started
                log.warning("the process that hashes passwords ended (%s)", type(error).__name__)
                if self._pool is pool:
                    self._pool = None
                pool.shutdown(wait=False)
        raise Overloaded(RETRY_AFTER_SECONDS)

    async def close(self) -> None:
        if self._pool is not None:
            await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)


async def _while_connected(work: Coroutine[Any, Any, T], disconnected: Disconnected) -> T:
    """Raises ClientGone as soon as the client has gone: nobody would read the result."""
    task = asyncio.create_task(work)
    gone = asyncio.ensure_future(disconnected())
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGone
        return task.result()
    finally:
        gone.cancel()
        task.cancel()
