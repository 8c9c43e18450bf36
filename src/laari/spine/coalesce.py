"""Look-ups of the same kind that arrive together share one query.

Every answer is read from the database after it was asked for, so there is no cache to go stale:
a mode switch or a revoked key counts from the next request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MAX_KEYS = 512  # in one query


class Coalesced(Generic[K, V]):
    """Turns `fetch(keys) -> found` into look-ups of one key each.

    While one query is under way the next one's keys gather.
    """

    def __init__(self, fetch: Callable[[list[K]], Awaitable[dict[K, V]]]) -> None:
        self._fetch = fetch
        self._gathering: dict[K, asyncio.Future[V | None]] = {}
        self._task: asyncio.Task[None] | None = None

    async def get(self, key: K) -> V | None:
        future = self._gathering.get(key)
        if future is None:
            future = asyncio.get_running_loop().create_future()
            self._gathering[key] = future
            if self._task is None:
                self._task = asyncio.create_task(self._work())
        return await asyncio.shield(future)  # shared: one caller's end must not cancel the others

    async def _work(self) -> None:
        while self._gathering:
            taken = dict(list(self._gathering.items())[:MAX_KEYS])
            for key in taken:
                del self._gathering[key]
            try:
                found = await self._fetch(list(taken))
            except Exception as error:
                for future in taken.values():
                    future.set_exception(error)
                    future.exception()  # seen: a caller that went away leaves no warning behind
            else:
                for key, future in taken.items():
                    future.set_result(found.get(key))
        self._task = None
