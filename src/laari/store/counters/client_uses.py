"""Notes when OAuth clients were last used. No request waits for it or fails with it."""

import asyncio
import logging
import time

from laari.rules.limits.keys_and_rates import USE_KNOWN_TO_SECONDS
from laari.store.postgres.pool import Connection, Pool

log = logging.getLogger(__name__)

# For one client, per process. The statement writes once for all processes.
TRY_EVERY_SECONDS = USE_KNOWN_TO_SECONDS / 2
PAUSE_SECONDS = 0.1  # between two statements, so that each has several clients


async def note_uses(connection: Connection, client_ids: list[str]) -> None:
    """Writes the last use of clients, unless it is known to the minute or being written."""
    await connection.execute(
        "UPDATE oauth_clients SET last_used_at = now() WHERE id IN ("
        "SELECT id FROM oauth_clients WHERE id = ANY($1) AND (last_used_at < now() - "
        f"interval '{USE_KNOWN_TO_SECONDS} seconds') IS NOT FALSE "
        "FOR NO KEY UPDATE SKIP LOCKED)",
        client_ids,
    )


class ClientUses:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._next_try: dict[str, float] = {}
        self._waiting: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    def note(self, client_id: str) -> None:
        now = time.monotonic()
        if now < self._next_try.get(client_id, 0.0):
            return
        self._next_try[client_id] = now + TRY_EVERY_SECONDS
        self._waiting.add(client_id)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name="client uses")

    async def _work(self) -> None:
        while self._waiting:
            noted, self._waiting = self._waiting, set()
            try:
                await self._pool.write_each(note_uses, list(noted))
            except Exception as error:
                log.info("the last use of OAuth clients was not written: %s", error)
            await asyncio.sleep(PAUSE_SECONDS)

    async def close(self) -> None:
        if self._task is not None:
            await self._task
