"""What sealing costs: its processor time beside that of the charges which it seals.

Two rates on a shared machine differ by more than the two per cent in question. So the service's own
sealer is kept waiting while charges are made, and then the same code seals exactly these.
"""

import asyncio
import time
from statistics import median

import asyncpg
import psutil
import uvloop

from bench.report import Verdict
from bench.stage import Stage
from laari.store.ledger.sealing import ADVISORY_LOCK, seal_next, summarize
from laari.store.ledger.seals import sealing_key
from laari.store.postgres.pool import connection_to
from laari.store.secrets import load_master_key

CLIENTS = 64
SECONDS = 12  # a seal has a cost of its own, and the service makes one in ten seconds
TARGET_SHARE = 0.02


def measure(ready: Stage, rounds: int) -> list[Verdict]:
    shares = uvloop.run(_measure(ready, rounds))  # as the background process does
    share = median(shares)
    text = "sealing: processor time ÷ that of the charges it seals, 64 clients "
    text += f"({min(shares):.3f} to {max(shares):.3f})"
    return [Verdict(text, round(share, 4), f"at most {TARGET_SHARE:g}", share <= TARGET_SHARE)]


async def _measure(ready: Stage, rounds: int) -> list[float]:
    key = sealing_key(load_master_key(ready.data_dir))
    async with connection_to(ready.dsn, 600) as connection:
        # The service tries for this lock before it seals, and the same session has it already.
        await connection.execute("SELECT pg_advisory_lock($1)", ADVISORY_LOCK)
        await _seal(connection, key)
        return [await _share(ready, connection, key) for _ in range(rounds)]


async def _share(ready: Stage, connection: asyncpg.Connection, key: bytes) -> float:
    before = sum(ready.service.processor_seconds().values())
    load = await asyncio.to_thread(ready.drive, "charge", "", CLIENTS, SECONDS)
    charging = sum(ready.service.processor_seconds().values()) - before
    assert load.requests
    return await _seal(connection, key) / charging


async def _seal(connection: asyncpg.Connection, key: bytes) -> float:
    """Seals all that is complete; returns the processor time, here and in the engine."""
    engine = psutil.Process(await connection.fetchval("SELECT pg_backend_pid()"))
    began = time.process_time() + sum(engine.cpu_times()[:2])
    await summarize(connection)
    more = True
    while more:
        async with connection.transaction():
            more = (await seal_next(connection, key)).more
    used: float = time.process_time() + sum(engine.cpu_times()[:2]) - began
    return used
