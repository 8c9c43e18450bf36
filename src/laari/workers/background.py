"""The background process: webhook delivery, messages, and jobs at regular intervals."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple, TypeAlias

from laari.errors import UnavailableError
from laari.settings import Settings
from laari.spine.batches import Spine
from laari.store import movement_messages
from laari.store.batch.announce import Announcer
from laari.store.batch.runner import BatchRunner
from laari.store.counters import daily_figures, purge
from laari.store.outbox.notices import Outbox
from laari.store.postgres.pool import Connection, Pool, open_pool
from laari.workers import contacts, expiry, fees, invitations, purging, sealing
from laari.workers.messages import sms
from laari.workers.messages.delivery import send_due
from laari.workers.messages.smtp import Mailer
from laari.workers.pause import pause
from laari.workers.webhooks import delivery
from laari.workers.webhooks.windows import WindowLimits

log = logging.getLogger(__name__)

CONNECTIONS = 4
JOB_SECONDS = 60.0  # nobody waits for a job
FIGURES_EVERY_SECONDS = 2.0  # each reading adds newer rows itself
FEES_EVERY_SECONDS = 5.0  # how late scheduled fees may begin
FIRST_RETRY_SECONDS = 1.0
LAST_RETRY_SECONDS = 60.0
SEND_EVERY_SECONDS = 1.0  # messages
WRITE_EVERY_SECONDS = 2.0  # how late a message about a movement is written
LAST_SEAL_SECONDS = 3.0  # when the process stops


Run: TypeAlias = Callable[[], Awaitable[bool | None]]


class Job(NamedTuple):
    """A repeated job. If `run` returns True, there is more to do and it runs again at once.

    Long work is done in steps, so that the process can stop between them.
    """

    name: str
    every_seconds: float
    run: Run


async def run(
    dsn: str,
    master_key: bytes,
    settings: Settings,
    stop: asyncio.Event,
    limits: WindowLimits | None = None,
) -> None:
    """Runs until `stop` is set, then finishes the deliveries in flight."""
    pool = await open_pool(dsn, CONNECTIONS, JOB_SECONDS)
    # Other jobs may keep the connections of `pool` busy, and a result that is not recorded in time
    # means a second message.
    sending = Pool(dsn, 1)
    announcer = Announcer(pool)
    runner = BatchRunner(
        dsn,
        settings.public_url,
        announce=announcer,
        second_operator_above=settings.second_operator_above,
    )
    spine = Spine(runner.run)
    spine.start()
    write_messages = partial(
        movement_messages.write_next,
        outbox=Outbox(
            settings.channels, master_key, withdrawals=settings.withdrawal_minimum is not None
        ),
        origin=settings.public_url,
    )
    sealer = sealing.Sealer(pool, master_key, settings.data_dir)
    jobs = [
        *_usual(pool, spine),
        Job("write messages", WRITE_EVERY_SECONDS, partial(pool.write, write_messages)),
        Job("seal the ledger", sealing.EVERY_SECONDS, sealer.step),
        *_purging(pool, settings),
        *_sending(sending, master_key, settings),
    ]
    try:
        delivering = delivery.run(dsn, master_key, settings, stop, limits)
        await asyncio.gather(delivering, run_jobs(jobs, stop))
        try:
            async with asyncio.timeout(LAST_SEAL_SECONDS):
                await sealer.finish()
        except (TimeoutError, UnavailableError):
            log.info("the newest rows are not sealed yet: the next start seals them")
    finally:
        await spine.close()
        await runner.close()
        await announcer.close()
        await sending.close()
        await pool.close()


def _usual(pool: Pool, spine: Spine) -> Iterator[Job]:
    """The jobs of every installation."""

    def purge_by(query: Callable[[Connection, datetime], Awaitable[object]]) -> Run:
        async def run() -> None:
            await pool.write_each(query, datetime.now(UTC))

        return run

    async def expire_requests() -> None:
        await expiry.expire_overdue_requests(pool, spine)

    yield Job("purge saved responses", 60, purge_by(purge.purge_saved_responses))
    yield Job("purge expired tokens", 60, purge_by(purge.purge_access_tokens))
    yield Job("purge sessions", 300, purge_by(purge.purge_sessions))
    yield Job("expire payment requests", expiry.EVERY_SECONDS, expire_requests)
    yield Job("start fees", FEES_EVERY_SECONDS, partial(fees.start_due, pool, spine))
    yield Job("change contacts", contacts.EVERY_SECONDS, partial(contacts.apply_due, pool, spine))
    expire_invitations = partial(invitations.expire_overdue, pool, spine)
    yield Job("expire invitations", invitations.EVERY_SECONDS, expire_invitations)
    yield Job("add up the days", FIGURES_EVERY_SECONDS, lambda: pool.write(daily_figures.add_up))


def _purging(pool: Pool, settings: Settings) -> Iterator[Job]:
    """The jobs that remove old rows, if the settings name an age."""
    ages: dict[purging.Ended, int] = {
        "deliveries": settings.retention_deliveries_days,
        "messages": settings.retention_deliveries_days,
        "addresses": settings.retention_addresses_days,
    }
    for rows, days in ages.items():
        if days:
            run = partial(purging.purge_ended, pool, rows, timedelta(days=days))
            yield Job(f"purge {rows}", purging.ENDED_EVERY_SECONDS, run)
    if days := settings.retention_sandbox_days:
        sandboxes = purging.SandboxPurger(pool, timedelta(days=days))
        yield Job("purge sandboxes", purging.SANDBOXES_EVERY_SECONDS, sandboxes.step)


def _sending(outbox: Pool, master_key: bytes, settings: Settings) -> Iterator[Job]:
    """The jobs that send messages, if the settings name a transport."""
    if settings.smtp_url is not None and settings.mail_from is not None:
        mailer = Mailer(settings.smtp_url, settings.mail_from, contact=settings.support_contact)
        yield Job(
            "send emails",
            SEND_EVERY_SECONDS,
            partial(send_due, outbox, master_key, "email", mailer.send),
        )
    if settings.sms_command:
        send = partial(sms.send, settings.sms_command, contact=settings.support_contact)
        yield Job(
            "send SMS",
            SEND_EVERY_SECONDS,
            partial(send_due, outbox, master_key, "sms", send, per_hour=settings.sms_per_hour),
        )


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
