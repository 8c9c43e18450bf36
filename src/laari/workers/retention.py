"""Removes what has reached its age, in the background and slowly: payments come first."""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import UTC, datetime, timedelta

from laari.settings import Settings
from laari.store.database import Pool
from laari.store.expunge import SentAgainError
from laari.store.retention import TamperedError, remove_next
from laari.store.retired import DELIVERIES, OLD_EVENTS, OLD_FAILED, SANDBOX_EVENTS, SANDBOX_FAILED
from laari.store.seals import sealing_key

log = logging.getLogger(__name__)

EVERY_SECONDS = 60
REST = 3.0  # after each step, in proportion to what it took
LOG_EVERY_SECONDS = 3600.0  # the same trouble


def ages(settings: Settings) -> dict[str, timedelta]:
    """What is removed at which age, in the order in which it is done; what is kept is not named.

    An age of everything is one of the sandbox too.
    """
    days = {
        DELIVERIES: settings.retention_deliveries_days,
        SANDBOX_EVENTS: _sooner(settings.retention_sandbox_days, settings.retention_events_days),
        OLD_EVENTS: settings.retention_events_days,
        SANDBOX_FAILED: _sooner(settings.retention_sandbox_days, settings.retention_failed_days),
        OLD_FAILED: settings.retention_failed_days,
    }
    return {name: timedelta(days=count) for name, count in days.items() if count}


def _sooner(one: int, other: int) -> int:
    """The lower of two ages, of which 0 is none."""
    return min(one, other) if one and other else one or other


class Remover:
    def __init__(self, pool: Pool, master_key: bytes, ages: dict[str, timedelta]) -> None:
        self._pool = pool
        self._key = sealing_key(master_key)
        self._ages = ages
        self._complained_at: dict[str, float] = {}

    async def step(self) -> bool:
        """One step of each kind, each in its own transaction; whether there may be more."""
        more = False
        for name, age in self._ages.items():
            began = time.monotonic()
            more |= await self._remove(name, datetime.now(UTC) - age)
            await asyncio.sleep((time.monotonic() - began) * REST)
        return more

    async def _remove(self, name: str, sealed_by: datetime) -> bool:
        try:
            removed = await self._pool.write(remove_next, self._key, name, sealed_by)
        except SentAgainError:
            return True
        except TamperedError as error:
            self._complain(name, error)
            return False
        if removed.rows:
            log.info("%s: %d removed for their age", name, removed.rows)
        return removed.more

    def _complain(self, name: str, error: TamperedError) -> None:
        now = time.monotonic()
        if now - self._complained_at.get(name, -LOG_EVERY_SECONDS) < LOG_EVERY_SECONDS:
            return
        self._complained_at[name] = now
        log.error("%s; nothing of it is removed: run `laari audit`", error)
