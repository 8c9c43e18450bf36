"""The delivery of webhooks: leases due deliveries, sends them, records the outcomes.

Several processes may deliver. A killed one's deliveries are due when their leases expire.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from laari.rules.webhooks import retry_wait
from laari.settings import Settings
from laari.store import movement_messages
from laari.store.merchants.merchants import open_secret
from laari.store.outbox import deliveries
from laari.store.outbox.deliveries import Attempt, LeasedDelivery
from laari.store.outbox.notices import Outbox
from laari.store.postgres.deadlines import Watch
from laari.store.postgres.pool import Connection, connection_to
from laari.workers.pause import pause
from laari.workers.webhooks.answer import Answer
from laari.workers.webhooks.windows import TenantWindow, WindowLimits, allot

if TYPE_CHECKING:
    from laari.workers.webhooks.sender import Sender

log = logging.getLogger(__name__)

# Deliveries continue within five seconds after their connection died: a second until the next
# statement, these two, and a new connection.
ANSWER_SECONDS = 2.5  # of the database
RECONNECT_SECONDS = 0.5
# Outcomes in one statement. A larger one could exceed ANSWER_SECONDS and grow with each retry.
MOST_RECORDED = 1000
TENANTS_AT_ONCE = 256  # in one round
SWITCHED_OFF = "webhooks are switched off or no URL is set"


# Writes the messages about events of these tenants that are given up.
Tell: TypeAlias = Callable[[Connection, set[int]], Awaitable[None]]


class LateSender(AsyncExitStack):
    """A `Sender` that is made for the first webhook: aiohttp takes 0.3 s of a start."""

    def __init__(self, *, allow_private: bool) -> None:
        super().__init__()
        self._allow_private = allow_private
        self._sender: Sender | None = None

    async def send(self, url: str, secret: str, body: bytes) -> Answer:
        if self._sender is None:
            from laari.workers.webhooks.sender import Sender  # noqa: PLC0415

            self._sender = Sender(allow_private=self._allow_private)
            self.push_async_exit(self._sender)
        return await self._sender.send(url, secret, body)


class Deliverer:
    def __init__(
        self,
        dsn: str,
        sender: Sender | LateSender,
        secret_of: Callable[[str, bytes], str],
        retry_seconds: tuple[float, ...],
        limits: WindowLimits | None = None,
        *,
        tell: Tell | None = None,
    ) -> None:
        self._dsn = dsn
        self._tell = tell
        self._sender = sender
        self._secret_of = secret_of
        self._retry_seconds = retry_seconds
        self._limits = limits or WindowLimits()
        self._windows: dict[int, TenantWindow] = {}
        self._workers: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._watch = Watch()
        self._outcomes: asyncio.Queue[Attempt | None] = asyncio.Queue()
        self._after_tenant = 0

    async def run(self, stop: asyncio.Event) -> None:
        """Runs until `stop` is set; then finishes and records the attempts in flight."""
        recording = asyncio.create_task(_persist("recording deliveries", self._record_outcomes))
        leasing = asyncio.create_task(_persist("leasing deliveries", self._lease_due))
        await stop.wait()
        leasing.cancel()
        with suppress(asyncio.CancelledError):
            await leasing
        await self._release()
        if self._workers:
            await asyncio.wait(self._workers)
        self._outcomes.put_nowait(None)
        await recording

    async def _release(self) -> None:
        """Makes waiting deliveries due again, for the next process."""
        waiting = [delivery for window in self._windows.values() for delivery, _ in window.queue]
        for window in self._windows.values():
            window.queue.clear()
        if waiting:
            with suppress(Exception):  # otherwise their leases expire
                async with connection_to(self._dsn, ANSWER_SECONDS) as connection:
                    await deliveries.release(connection, waiting)

    async def _lease_due(self) -> None:
        async with connection_to(self._dsn, math.inf, synchronous_commit="off") as connection:
            with self._watch.bound(connection, ANSWER_SECONDS):
                await deliveries.listen(connection, self._wake.set)
            while True:
                self._wake.clear()
                with self._watch.bound(connection, ANSWER_SECONDS):
                    busy = await self._round(connection)
                await asyncio.sleep(self._limits.round_seconds)
                if not busy:
                    # Not `wait_for`: before Python 3.12 it loses a cancellation that comes with
                    # the wake, and stopping would wait for ever.
                    await pause(self._wake, self._limits.poll_seconds)

    async def _round(self, connection: Connection) -> bool:
        """Leases as many as there is room for; returns whether there may be more."""
        tenants, following = await deliveries.due_tenants(
            connection, self._after_tenant, TENANTS_AT_ONCE
        )
        windows = {tenant: self._window(tenant) for tenant in tenants}
        room, left = allot(windows, self._limits.max_in_flight - len(self._workers))
        if not left:
            self._after_tenant = following
        elif room:
            self._after_tenant = max(room)
        if not room:
            return self._after_tenant != 0 and not left
        for tenant in room:
            windows[tenant].completed = 0
        begin_by = time.monotonic() + self._limits.lease_seconds / 2
        leased = await deliveries.lease(connection, room, self._limits.lease_seconds)
        # The slots were counted for tenants with nothing in flight: they come first.
        leased.sort(key=lambda delivery: windows[delivery.tenant_id].in_flight > 0)
        for delivery in leased:
            self._enqueue(delivery, begin_by)
        return bool(leased) or self._after_tenant != 0

    def _window(self, tenant_id: int) -> TenantWindow:
        return self._windows.setdefault(tenant_id, TenantWindow(self._limits.initial_window))

    def _enqueue(self, delivery: LeasedDelivery, begin_by: float) -> None:
        window = self._window(delivery.tenant_id)
        window.queue.append((delivery, begin_by))
        is_free = window.in_flight < window.size and len(self._workers) < self._limits.max_in_flight
        if is_free or not window.in_flight:  # a queue always has a worker
            window.in_flight += 1
            worker = asyncio.create_task(self._work(window))
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)

    async def _work(self, window: TenantWindow) -> None:
        """Makes the attempts in a tenant's queue, one after the other."""
        try:
            while window.queue and window.in_flight <= window.size:
                delivery, begin_by = window.queue.popleft()
                # Later, the lease may expire before the response comes.
                if time.monotonic() < begin_by:
                    await self._attempt(delivery, window)
                window.completed += 1
                self._wake.set()
        finally:
            window.in_flight -= 1

    async def _attempt(self, delivery: LeasedDelivery, window: TenantWindow) -> None:
        try:
            if delivery.url is None:
                answer = Answer(time.time(), 0, None, SWITCHED_OFF, None)
            else:
                secret = self._secret_of(delivery.merchant_id, delivery.secret_encrypted)
                answer = await self._sender.send(delivery.url, secret, delivery.body)
        except Exception:
            # Not the receiver's fault: the delivery is due again after the lease.
            log.exception("cannot send event %s, next attempt after its lease", delivery.event_id)
            return
        window.record(answer.acknowledged, self._limits)
        wait = None
        if not answer.acknowledged:
            chance = random.random()  # noqa: S311  # jitter
            wait = retry_wait(delivery.failed_attempts + 1, self._retry_seconds, chance)
        attempt = Attempt(
            event_id=delivery.event_id,
            lease=delivery.lease,
            started_at=datetime.fromtimestamp(answer.started_at, UTC),
            duration_ms=answer.duration_ms,
            url=delivery.url or "",
            http_status=answer.status,
            error=answer.error,
            answer=answer.text,
            acknowledged=answer.acknowledged,
            retry_seconds=wait,
        )
        self._outcomes.put_nowait(attempt)

    async def _record_outcomes(self) -> None:
        """Records the outcomes that were queued since the last statement.

        A commit that a crash loses leads to one more attempt, so commits do not wait for the disk.
        """
        async with connection_to(self._dsn, math.inf, synchronous_commit="off") as connection:
            while True:
                gathered = [await self._outcomes.get()]
                while not self._outcomes.empty() and len(gathered) < MOST_RECORDED:
                    gathered.append(self._outcomes.get_nowait())
                attempts = [attempt for attempt in gathered if attempt is not None]
                try:
                    if attempts:
                        with self._watch.bound(connection, ANSWER_SECONDS):
                            await self._record(connection, attempts)
                except BaseException:
                    for attempt in gathered:
                        self._outcomes.put_nowait(attempt)
                    raise
                if len(attempts) < len(gathered):
                    if self._outcomes.empty():
                        return
                    self._outcomes.put_nowait(None)  # failed outcomes were put back after it
                await asyncio.sleep(self._limits.round_seconds)

    async def _record(self, connection: Connection, attempts: list[Attempt]) -> None:
        """With the messages about events that are given up, in one transaction."""
        if all(each.acknowledged or each.retry_seconds is not None for each in attempts):
            await deliveries.record(connection, attempts)
            return
        async with connection.transaction():
            given_up = await deliveries.record(connection, attempts)
            if given_up and self._tell is not None:
                await self._tell(connection, given_up)


async def _persist(what: str, work: Callable[[], Awaitable[None]]) -> None:
    """Runs the work to its end; starts it again if the database went away."""
    while True:
        try:
            await work()
        except Exception as error:
            log.warning("%s was interrupted and starts again: %s", what, error)
            await asyncio.sleep(RECONNECT_SECONDS)
        else:
            return


async def run(
    dsn: str,
    master_key: bytes,
    settings: Settings,
    stop: asyncio.Event,
    limits: WindowLimits | None = None,
) -> None:
    @lru_cache(maxsize=4096)
    def secret_of(merchant_id: str, encrypted: bytes) -> str:
        return open_secret(master_key, merchant_id, encrypted)

    async def tell(connection: Connection, tenants: set[int]) -> None:
        outbox = Outbox(settings.channels, master_key)
        await movement_messages.write_given_up(connection, outbox, settings.public_url, tenants)

    async with LateSender(allow_private=settings.webhook_allow_private) as sender:
        waits = settings.webhook_retry_seconds
        await Deliverer(dsn, sender, secret_of, waits, limits, tell=tell).run(stop)
