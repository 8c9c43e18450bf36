"""Brings up to date what the background process keeps, so that it does not work while others do.

After a fill of ten million payments it would seal and add up for many minutes, at the pace that
leaves payments alone.
"""

import asyncio
import time
from itertools import pairwise
from pathlib import Path

import asyncpg

from bench.fill import Tell
from bench.indexes import STATEMENT_SECONDS
from bench.service import Service
from laari.store.counters import daily_figures
from laari.store.ledger.sealing import ADVISORY_LOCK, seal_next
from laari.store.ledger.seals import sealing_key
from laari.store.secrets import load_master_key

SEALED_AT_ONCE = 50_000  # rows: nobody else waits for this database
WAIT_SECONDS = 0.5
TELL_SECONDS = 30
QUIET_SHARE = 0.05  # of one processor, for the service and its engine with nobody calling
QUIET_SAMPLES = 4
MOST_SECONDS = 600


def catch_up(dsn: str, data_dir: Path, tell: Tell) -> None:
    """Seals and adds up all that is complete."""
    asyncio.run(_catch_up(dsn, sealing_key(load_master_key(data_dir)), tell))


async def _catch_up(dsn: str, key: bytes, tell: Tell) -> None:
    began = last = time.monotonic()
    connection = await asyncpg.connect(dsn, timeout=60)
    try:
        while await _seal(connection, key):
            if time.monotonic() - last > TELL_SECONDS:
                last = time.monotonic()
                rows = await connection.fetchval("SELECT sum(row_count) FROM seals")
                tell(f"{rows:,} rows sealed, {last - began:.0f} s")
        more = True
        while more:
            async with connection.transaction():
                more = await daily_figures.add_up(connection)
        await connection.execute("CHECKPOINT", timeout=STATEMENT_SECONDS)
    finally:
        await connection.close()


async def _seal(connection: asyncpg.Connection, key: bytes) -> bool:
    """Makes the next seals, after those that the service is just making; whether there are more."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", ADVISORY_LOCK)
        return (await seal_next(connection, key, SEALED_AT_ONCE)).more


def wait_until_quiet(service: Service, tell: Tell) -> None:
    """Waits until the service, with nobody calling it, has next to nothing to do."""
    deadline = time.monotonic() + MOST_SECONDS
    while not _is_quiet(service):
        if time.monotonic() > deadline:
            tell("the service is still busy with itself: the figures will show it")
            return


def _is_quiet(service: Service) -> bool:
    used = [service.all_processor_seconds()]
    for _ in range(QUIET_SAMPLES):
        time.sleep(WAIT_SECONDS)
        used.append(service.all_processor_seconds())
    return all(after - before < QUIET_SHARE * WAIT_SECONDS for before, after in pairwise(used))
