"""The background process: webhook delivery, and jobs that each have an interval of their own."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from laari.errors import UnavailableError
from laari.settings import Settings
from laari.spine.engine import Spine
from laari.store.batch.announce import Announcer
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.pool import open_pool
from laari.store.purge import purge_access_tokens, purge_saved_responses, purge_sessions
from laari.store.reads import figures
from laari.workers import expiry, purging, sealing
from laari.workers.pause import pause
from laari.workers.webhooks import delivery
from laari.workers.webhooks.windows import WindowLimits

log = logging.getLogger(__name__)

CONNECTIONS = 4
JOB_SECONDS = 60.0  # nobody waits for them
FIGURES_EVERY_SECONDS = 2.0  # what is newer is added at each reading
FIRST_RETRY_SECONDS = 1.0
LAST_RETRY_SECONDS = 60.0
LAST_SEAL_SECONDS = 3.0  # when the process stops


class Job(NamedTuple):
    """What is done again and again; at once where `run` returns True: there is more of it.

    Work that may be long is done in steps, so that the process can stop between them.
    """

    name: str
    every_seconds: float
    run: Callable[[], Awaitable[bool | None]]


async def run(
    dsn: str,
    master_key: bytes,
    settings: Settings,
    stop: asyncio.Event,
    limits: WindowLimits | None = None,
) -> None:
    """Runs until `stop` is set, then finishes what is in flight."""
    pool = await open_pool(dsn, CONNECTIONS, JOB_SECONDS)
    announcer = Announcer(pool)
    runner = BatchRunner(dsn, settings.public_url, announce=announcer)
    spine = Spine(runner.run)
    spine.start()

    async def purge_responses() -> None:
        await pool.write_each(purge_saved_responses, datetime.now(UTC))

    async def purge_tokens() -> None:
        await pool.write_each(purge_access_tokens, datetime.now(UTC))

    async def purge_old_sessions() -> None:
        await pool.write_each(purge_sessions, datetime.now(UTC))

    async def add_up_days() -> bool:
        return await pool.write(figures.add_up)

    async def expire_requests() -> None:
        await expiry.expire_overdue_requests(pool, spine)

    sealer = sealing.Sealer(pool, master_key, settings.data_dir)
    jobs = [
        Job("purge saved responses", 60, purge_responses),
        Job("purge expired tokens", 60, purge_tokens),
        Job("purge sessions", 300, purge_old_sessions),
        Job("expire payment requests", expiry.EVERY_SECONDS, expire_requests),
        Job("add up the days", FIGURES_EVERY_SECONDS, add_up_days),
        Job("seal the ledger", sealing.EVERY_SECONDS, sealer.step),
    ]
    if settings.retention_deliveries_days:
        deliveries = purging.DeliveryPurger(
            pool, timedelta(days=settings.retention_deliveries_days)
        )
        jobs.append(Job("purge deliveries", purging.DELIVERIES_EVERY_SECONDS, deliveries.step))
    if settings.retention_sandbox_days:
        sandboxes = purging.SandboxPurger(pool, timedelta(days=settings.retention_sandbox_days))
        jobs.append(Job("purge sandboxes", purging.SANDBOXES_EVERY_SECONDS, sandboxes.step))
    try:
        delivering = delivery.run(dsn, master_key, settings, stop, limits)
        await asyncio.gather(delivering, run_jobs(jobs, stop))
        await _finish(sealer)
    finally:
        await spine.close()
        await runner.close()
        await announcer.close()
        await pool.close()


async def _finish(sealer: sealing.Sealer) -> None:
    """What was paid last is sealed too, if that can be done at once."""
    try:
        async with asyncio.timeout(LAST_SEAL_SECONDS):
            await sealer.finish()
    except (TimeoutError, UnavailableError):
        log.info("the newest rows are not sealed yet")


async def run_jobs(jobs: list[Job], stop: asyncio.Event) -> None:
    await asyncio.gather(*(_repeat(job, stop) for job in jobs))


async def _repeat(job: Job, stop: asyncio.Event) -> None:
    retry_seconds = FIRST_RETRY_SECONDS
    while not stop.is_set():
        wait_seconds = job.every_seconds
        try:
            if await job.run():
                wait_seconds = 0
            retry_seconds = FIRST_RETRY_SECONDS
        except Exception:
            log.exception("%s failed, next attempt in %.0f s", job.name, retry_seconds)
            wait_seconds = retry_seconds
            retry_seconds = min(retry_seconds * 2, LAST_RETRY_SECONDS)
        await pause(stop, wait_seconds)
