"""A queue for verifying passwords and passkeys: one at a time, few waiting, the lowest rank first.

The rank counts an address's recent attempts, so a flood waits for itself, a newcomer does not.
"""

import asyncio
import logging
from bisect import insort
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import count
from multiprocessing import get_context
from typing import TypeAlias, TypeVar, TypeVarTuple

from laari.edge.load.admission import Overloaded
from laari.http.messages import ClientGone
from laari.store.people.passwords import hash_password, password_fits, yield_to_payments

log = logging.getLogger(__name__)

Ts = TypeVarTuple("Ts")
T = TypeVar("T")

Disconnected: TypeAlias = Callable[[], Awaitable[None]]  # returns when the client has gone

MOST_WAITING = 8  # about three seconds' work; the others are asked to come back
LONGEST_WAIT_SECONDS = 8.0  # in the queue
RETRY_AFTER_SECONDS = 3
FIRST = -1.0  # the rank of those who go before all others


class RankedQueue:
    """Admits one at a time, the lowest rank first; few may wait, and not for long."""

    def __init__(
        self, most: int = MOST_WAITING, longest_seconds: float = LONGEST_WAIT_SECONDS
    ) -> None:
        self._most = most
        self._longest_seconds = longest_seconds
        self._taken = False
        # Rank, number and turn, in this order; a turn is True if admitted, False if sent away.
        self._waiting: list[tuple[float, int, asyncio.Future[bool]]] = []
        self._numbers = count()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    async def acquire(self, rank: float) -> None:
        """Returns when it is this caller's turn, which `release` ends; raises Overloaded."""
        if not self._taken:
            self._taken = True
            return
        if len(self._waiting) >= self._most:
            if self._waiting[-1][0] <= rank:
                raise Overloaded(RETRY_AFTER_SECONDS)
            self._waiting.pop()[2].set_result(False)
        turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        place = (rank, next(self._numbers), turn)
        insort(self._waiting, place)
        try:
            await asyncio.wait([turn], timeout=self._longest_seconds)
        except asyncio.CancelledError:
            if turn.done() and turn.result():
                self.release()  # the caller left at the moment when it was admitted
            raise
        finally:
            if not turn.done():
                self._waiting.remove(place)
        if not (turn.done() and turn.result()):
            raise Overloaded(RETRY_AFTER_SECONDS)

    def release(self) -> None:
        if self._waiting:
            self._waiting.pop(0)[2].set_result(True)
        else:
            self._taken = False


class Hashing:
    """Verifies passwords and passkeys, and hashes, in turn while the client is connected."""

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

    async def run(
        self, function: Callable[[*Ts], T], *arguments: *Ts, rank: float, disconnected: Disconnected
    ) -> T:
        """Other work for a log-in with what a stranger sent, in its turn."""
        return await _while_connected(self._work(rank, function, *arguments), disconnected)

    async def _work(self, rank: float, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        await self._queue.acquire(rank)
        try:
            return await self._run(function, *arguments)
        finally:
            self._queue.release()

    async def _run(self, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """In another process, and in a second one if the first is killed."""
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


async def _while_connected(work: Coroutine[object, None, T], disconnected: Disconnected) -> T:
    """Raises ClientGone as soon as the client has gone."""
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
