"""Counts failed log-ins of customers and people. No request waits for it.

So a log-in takes the same time, whether the identity exists or not.
"""

import asyncio
import logging
from collections import Counter
from datetime import date, datetime
from typing import NamedTuple

from asyncpg import Connection

from laari.rules.calendar import local_day
from laari.rules.records.people import Whose
from laari.store.postgres.pool import Pool
from laari.store.reads.people.logins import table_of

log = logging.getLogger(__name__)

PAUSE_SECONDS = 0.1  # between two statements, so that each has several attempts


class FailedLogins:
    """`last_at` is the time of the statement, about a second later than the attempt."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._waiting: Counter[tuple[Whose, datetime]] = Counter()
        self._task: asyncio.Task[None] | None = None

    def note(self, whose: Whose, now: datetime) -> None:
        self._waiting[whose, now.replace(microsecond=0)] += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name="failed log-ins")

    async def _work(self) -> None:
        while self._waiting:
            noted, self._waiting = self._waiting, Counter()
            try:
                for (whose, at), attempts in noted.items():
                    await self._pool.write_each(count, whose, at, attempts)
            except Exception as error:
                log.info("failed log-ins were not counted: %s", error)
            await asyncio.sleep(PAUSE_SECONDS)

    async def close(self) -> None:
        if self._task is not None:
            await self._task


async def count(connection: Connection, whose: Whose, at: datetime, attempts: int = 1) -> None:
    await connection.execute(
        "INSERT INTO failed_logins AS held (kind, whose, day, attempts, last_at) "
        "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (kind, whose, day) DO UPDATE SET "
        "attempts = held.attempts + $4, last_at = greatest(held.last_at, $5)",
        table_of(whose).object_type,
        whose.id,
        local_day(at),
        attempts,
        at,
    )


class LastFailed(NamedTuple):
    """The last day with failed log-ins of somebody."""

    day: date
    attempts: int
    last_at: datetime


async def last_of(connection: Connection, whose: Whose) -> LastFailed | None:
    row = await connection.fetchrow(
        "SELECT day, attempts, last_at FROM failed_logins WHERE kind = $1 AND whose = $2 "
        "ORDER BY day DESC LIMIT 1",
        table_of(whose).object_type,
        whose.id,
    )
    return None if row is None else LastFailed(**row)


class FailedDay(NamedTuple):
    email: str
    day: date
    attempts: int
    last_at: datetime


async def of_merchant(connection: Connection, merchant_id: str, limit: int) -> list[FailedDay]:
    """The newest days with failed log-ins of a merchant's people."""
    rows = await connection.fetch(
        "SELECT p.email, f.day, f.attempts, f.last_at FROM memberships b "
        "JOIN persons p ON p.id = b.person_id "
        "JOIN failed_logins f ON f.kind = 'person' AND f.whose = p.id "
        "WHERE b.merchant_id = $1 ORDER BY f.day DESC, p.email LIMIT $2",
        merchant_id,
        limit,
    )
    return [FailedDay(**row) for row in rows]
