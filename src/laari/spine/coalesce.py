"""Look-ups of the same kind that arrive together share one query.

Every result is read from the database after it was asked for, so there is no cache to go stale:
a mode switch or a revoked key counts from the next request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeAlias, TypeVar

from laari.spine.rounds import Rounds

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MAX_KEYS = 512  # in one query

_Waiting: TypeAlias = dict[K, list["asyncio.Future[V | None]"]]


class Coalesced(Generic[K, V]):
    """Turns `fetch(keys) -> found` into look-ups of one key each.

    While one query is running the next one's keys gather, unless it takes long.
    """

    def __init__(self, fetch: Callable[[list[K]], Awaitable[dict[K, V]]]) -> None:
        self._fetch = fetch
        # Every caller waits on a future of its own: cancelling one does not affect the others.
        self._gathering: dict[K, list[asyncio.Future[V | None]]] = {}
        self._rounds = Rounds(self._run_round, lambda: bool(self._gathering))

    async def get(self, key: K) -> V | None:
        future: asyncio.Future[V | None] = asyncio.get_running_loop().create_future()
        self._gathering.setdefault(key, []).append(future)
        self._rounds.wake()
        return await future

    async def _run_round(self) -> None:
        taken, self._gathering = self._take()
        try:
            found = await self._fetch(list(taken))
        except Exception as error:
            for waiting in taken.values():
                for future in waiting:
                    if not future.done():
                        future.set_exception(error)
        else:
            for key, waiting in taken.items():
                value = found.get(key)
                for future in waiting:
                    if not future.done():
                        future.set_result(value)

    def _take(self) -> tuple[_Waiting[K, V], _Waiting[K, V]]:
        """The keys of the next query, and those that have to wait for another one."""
        if len(self._gathering) <= MAX_KEYS:
            return self._gathering, {}
        items = list(self._gathering.items())
        return dict(items[:MAX_KEYS]), dict(items[MAX_KEYS:])
