"""Seals the ledger soon after it was written, so that writes do not wait for a seal."""

import asyncio
import logging
import time
from pathlib import Path

from laari.errors import LaariError
from laari.store.ledger.last_seal_file import (
    KnownSeal,
    is_in_chain,
    last_seal_file,
    note_seal,
    noted_seal,
)
from laari.store.ledger.sealing import seal_next, summarize
from laari.store.ledger.seals import last_seal, sealing_key
from laari.store.postgres.pool import Pool

log = logging.getLogger(__name__)

EVERY_SECONDS = 10
REST = 1.0  # pause after each seal, in proportion to its duration: payments come first
LOG_EVERY_SECONDS = 3600.0  # for operators who keep the log elsewhere


class Sealer:
    def __init__(self, pool: Pool, master_key: bytes, data_dir: Path) -> None:
        self._pool = pool
        self._key = sealing_key(master_key)
        self._file = last_seal_file(data_dir, master_key)
        self._is_file_checked = False
        self._last: KnownSeal | None = None  # not in the file yet
        self._logged_at = -LOG_EVERY_SECONDS
        self._is_behind = False

    async def step(self) -> bool:
        """Seals the next complete rows in one transaction; returns whether there are more."""
        began = time.monotonic()
        if not self._is_file_checked:
            await self._check_file()
        if not self._is_behind:
            # Every search for new rows reads all rows that the indexes do not summarize.
            await self._pool.write_each(summarize)
        await self._seal()
        if self._is_behind:
            await asyncio.sleep((time.monotonic() - began) * REST)
        else:
            await self._note()
        return self._is_behind

    async def finish(self) -> None:
        await self._seal()
        await self._note()

    async def _seal(self) -> None:
        made, self._is_behind = await self._pool.write(seal_next, self._key)
        if made:
            self._last = KnownSeal(made[-1].number, made[-1].mac)

    async def _check_file(self) -> None:
        """Warns once if nothing outside the database can prove the end of the chain."""
        directory = self._file.parent
        if not directory.is_dir():
            log.warning(
                "the data directory %s does not exist, so the last seal is not kept outside the "
                "database: create the directory, or keep the seal from this log or the metrics "
                "(docs/audit.md)",
                directory,
            )
        elif not self._file.exists() and await self._pool.read(last_seal) is not None:
            log.warning(
                "%s is missing, so nobody would notice seals that were removed before: run "
                "`laari audit --kept-seal` with a seal that you kept elsewhere (docs/audit.md)",
                self._file,
            )
        self._is_file_checked = True

    async def _note(self) -> None:
        last, self._last = self._last, None
        if last is None:
            return
        if time.monotonic() - self._logged_at > LOG_EVERY_SECONDS:
            self._logged_at = time.monotonic()
            log.info("the ledger is sealed up to %s", last)
        try:
            noted = noted_seal(self._file)
            if noted is not None and not await self._pool.read(is_in_chain, noted):
                log.error(
                    "seal %d of %s is not in the database: the database was restored, seals were "
                    "removed, or the file belongs to another database: run `laari audit`",
                    noted.number,
                    self._file,
                )
                return
            if self._file.parent.is_dir():
                note_seal(self._file, last)
        except (OSError, LaariError) as error:
            log.warning("cannot write the last seal to its file: %s", error)
