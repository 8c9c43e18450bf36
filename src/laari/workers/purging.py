"""Purges old rows slowly in the background, so that payments stay fast."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

from laari.store.counters import purge
from laari.store.postgres.pool import Connection, Pool
from laari.store.reads.listing import Position

log = logging.getLogger(__name__)

ENDED_EVERY_SECONDS = 60
SANDBOXES_EVERY_SECONDS = 3600  # each run reads all events of all sandboxes
REST = 3.0  # pause after each step, in proportion to its duration


Ended: TypeAlias = Literal["deliveries", "messages", "addresses"]
PURGES: dict[Ended, Callable[[Connection, datetime], Awaitable[int]]] = {
    "deliveries": purge.purge_deliveries,
    "messages": purge.purge_messages,
    "addresses": purge.purge_addresses,
}


async def purge_ended(pool: Pool, rows: Ended, age: timedelta) -> bool:
    """Runs one transaction; returns whether there may be more to purge."""
    began = time.monotonic()
    count = await pool.write(PURGES[rows], datetime.now(UTC) - age)
    if count:
        log.info("purged %d old %s", count, rows)
    await asyncio.sleep((time.monotonic() - began) * REST)
    return count == purge.MOST


class SandboxPurger:
    """Purges the sandboxes, some events of one sandbox at a time."""

    def __init__(self, pool: Pool, age: timedelta) -> None:
        self._pool = pool
        self._age = age
        self._left: list[purge.SandboxTenant] = []
        self._after: Position | None = None

    async def step(self) -> bool:
        """Purges some events; returns whether there may be more."""
        began = time.monotonic()
        if not self._left:
            self._left = await self._pool.read(purge.sandboxes)
        if self._left:
            await self._purge(self._left[0], datetime.now(UTC) - self._age)
        await asyncio.sleep((time.monotonic() - began) * REST)
        return bool(self._left)

    async def _purge(self, sandbox: purge.SandboxTenant, before: datetime) -> None:
        if self._after is None:
            await self._pool.write(purge.purge_failed_lines, sandbox, before)
        try:
            self._after = await self._pool.write(
                purge.purge_sandbox_events, sandbox, before, self._after
            )
        except purge.SentAgainError:
            return  # the same step again
        if self._after is None:
            del self._left[0]
