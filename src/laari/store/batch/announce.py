"""Telling the senders of webhooks, soon after a commit, that there is something to send.

Not in the commit itself: the lock that NOTIFY takes there is one for the whole database and is held
until the commit is on the disk, so that all processes would commit one after the other. A
transaction of its own, which does not wait for the disk, holds it for an instant. A sender that was
not told looks by itself within a second.
"""

import asyncio
import logging

from laari.errors import UnavailableError
from laari.spine.engine import OutcomeUnknown
from laari.store.postgres.pool import Pool
from laari.store.reads.deliveries import announce

log = logging.getLogger(__name__)

EVERY_SECONDS = 0.02  # at most: a sender that was woken looks for all there is


class Announcer:
    """At most one announcement is in flight; what comes meanwhile is announced by the next one."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._task: asyncio.Task[None] | None = None
        self._again = False

    def __call__(self) -> None:
        """Something is to be sent."""
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
