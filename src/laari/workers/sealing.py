"""Seals the ledger a little after it was written, so that writing pays nothing for it."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from pathlib import Path

from laari.errors import LaariError
from laari.store.database import Pool
from laari.store.seals import Seal, seal_next, sealing_key, summarize
from laari.store.witness import KnownSeal, is_in_chain, note_path, note_seal, noted_seal

log = logging.getLogger(__name__)

EVERY_SECONDS = 10
REST = 1.0  # after each seal, in proportion to what it took: payments come first
LOG_EVERY_SECONDS = 3600.0  # the last seal, for whoever keeps the log elsewhere
# So much of the newest rows is read to find those not sealed, and not in the daily figures.
SUMMARIZE_EVERY_SECONDS = 30.0


class Sealer:
    def __init__(self, pool: Pool, master_key: bytes, data_dir: Path) -> None:
        self._pool = pool
        self._key = sealing_key(master_key)
        self._data_dir = data_dir
        self._logged_at = -LOG_EVERY_SECONDS
        self._summarized_at = time.monotonic()

    async def run(self, most: float = math.inf) -> None:
        """Seals all that is complete, in so many transactions at most.

        Of two background processes one seals, and the other returns.
        """
        last: Seal | None = None
        while most > 0:
            most -= 1
            began = time.monotonic()
            made = await self._pool.write(seal_next, self._key)
            if not made:
                break
            last = made[-1]
            await asyncio.sleep((time.monotonic() - began) * REST)
        if last is not None:
            await self._note(KnownSeal(last.number, last.mac))
        if time.monotonic() - self._summarized_at > SUMMARIZE_EVERY_SECONDS:
            self._summarized_at = time.monotonic()
            await self._pool.write_each(summarize)

    async def _note(self, last: KnownSeal) -> None:
        if time.monotonic() - self._logged_at > LOG_EVERY_SECONDS:
            self._logged_at = time.monotonic()
            log.info("the ledger is sealed up to %s", last)
        try:
            path = await self._pool.read(note_path, self._data_dir)
            noted = noted_seal(path)
            if noted is not None and not await self._pool.read(is_in_chain, noted):
                log.error(
                    "seal %d, noted in %s, is not in the database: it was restored, or its seals "
                    "were removed: run `laari audit`",
                    noted.number,
                    path,
                )
                return
            if self._data_dir.is_dir():
                note_seal(path, last)
        except (OSError, LaariError) as error:
            log.warning("the last seal could not be noted: %s", error)
