"""Notifies the senders of webhooks, soon after a commit, that there is something to send.

A NOTIFY in the commit itself would lock the whole database until the commit is on the disk.
"""

import asyncio
import logging

from laari.errors import UnavailableError
from laari.spine.batches import OutcomeUnknown
from laari.store.outbox.deliveries import announce
from laari.store.postgres.pool import Pool

log = logging.getLogger(__name__)

EVERY_SECONDS = 0.02  # at most: one notification serves all events before it


class Announcer:
    """Runs one announcement at a time; the next one serves all calls made meanwhile."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._task: asyncio.Task[None] | None = None
        self._again = False

    def __call__(self) -> None:
        self._again = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name="announcer")

    async def _work(self) -> None:
        while self._again:
            self._again = False
            try:
                await self._pool.write_each(announce)
            except (UnavailableError, OutcomeUnknown) as error:
                log.info("webhooks were not announced: %s", error)
            await asyncio.sleep(EVERY_SECONDS)

    async def close(self) -> None:
        if self._task is not None:
            await self._task
