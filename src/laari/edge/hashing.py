"""A queue for verifying passwords: one at a time, few waiting, the least demanding first.

A hash takes a fifth of a second of a processor, so whoever asks for many could keep everybody else
out. Each attempt has a rank, which says how much was asked for from where it comes: the lowest goes
first, and where the queue is full the highest is sent away. So those who flood wait for each other,
and somebody who comes for the first time, or from a browser that is known, waits for one hash.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from typing import NamedTuple, TypeAlias

from laari.edge.http import ClientGone
from laari.edge.overload import Overloaded
from laari.store.password_process import FAILED, FITS

log = logging.getLogger(__name__)

Disconnected: TypeAlias = Callable[[], Awaitable[None]]  # returns when the client has gone

MOST_WAITING = 8  # about three seconds' work: beyond it, being told to come back beats waiting
LONGEST_WAIT_SECONDS = 8.0  # in the queue: less than half of it, unless the machine is full
LONGEST_HASH_SECONDS = 20.0  # a fifth of a second, on a machine that has nothing left for it
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


class HashingProcess:
    """The process that hashes: started when it is needed first, and again where it ended."""

    def __init__(self) -> None:
        self._process: Process | None = None

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def ask(self, password: str, password_hash: str | None) -> str:
        """One job; not for two at once. It is tried in a second process where the first ends."""
        line = json.dumps([password, password_hash]).encode() + b"\n"
        for _ in range(2):
            try:
                async with asyncio.timeout(LONGEST_HASH_SECONDS):
                    reply = await self._exchange(line)
                if reply.endswith(b"\n"):
                    return reply.decode().rstrip("\n")
                how = "ended"
            # No memory, too many processes, no reply; RuntimeError is how uvloop says that the
            # pipe to a process is closed since it ended.
            except (OSError, RuntimeError, TimeoutError) as error:
                how = f"failed ({type(error).__name__})"
            log.warning("the process that hashes passwords %s; starting another one", how)
            await self.end()
        raise Overloaded(RETRY_AFTER_SECONDS)

    async def _exchange(self, line: bytes) -> bytes:
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "laari.store.password_process"),
                stdin=PIPE,
                stdout=PIPE,
                env={k: v for k, v in os.environ.items() if not k.startswith("LAARI_")},
            )
        reading, writing = self._process.stdout, self._process.stdin
        assert reading is not None
        assert writing is not None
        writing.write(line)
        await writing.drain()
        return await reading.readline()

    async def end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


class _Job:
    """One password to verify or to hash."""

    def __init__(self, password: str, password_hash: str | None, rank: float) -> None:
        self.password = password
        self.password_hash = password_hash
        self.rank = rank
        self.begun = False


class Hashing:
    """What the pages use: a password verified or hashed, in turn, for who is still connected."""

    def __init__(self) -> None:
        self._queue = RankedQueue()
        self._process = HashingProcess()
        self._tasks: set[asyncio.Task[str]] = set()

    @property
    def pid(self) -> int | None:
        return self._process.pid

    async def fits(
        self, password: str, password_hash: str, *, rank: float, disconnected: Disconnected
    ) -> bool:
        return await self._run(_Job(password, password_hash, rank), disconnected) == FITS

    async def hash(self, password: str, *, rank: float, disconnected: Disconnected) -> str:
        return await self._run(_Job(password, None, rank), disconnected)

    async def _run(self, job: _Job, disconnected: Disconnected) -> str:
        """Raises ClientGone as soon as the client has gone: nobody would read the result."""
        task = asyncio.create_task(self._work(job))
        self._tasks.add(task)
        task.add_done_callback(self._over)
        gone = asyncio.ensure_future(disconnected())
        try:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise ClientGone
            result = task.result()
        finally:
            gone.cancel()
            if not job.begun:  # of one that is with the process, the result has to be read
                task.cancel()
        if result == FAILED:
            raise RuntimeError("a stored password hash cannot be read, or there is no memory")
        return result

    async def _work(self, job: _Job) -> str:
        await self._queue.acquire(job.rank)
        job.begun = True
        try:
            return await self._process.ask(job.password, job.password_hash)
        finally:
            self._queue.release()

    def _over(self, task: asyncio.Task[str]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # told to whoever asked, if they are still there

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._process.end()
