"""The delivery of webhooks: takes up what is due, sends it, records what came of it.

Nothing is held in a transaction while a receiver thinks. What is taken up is leased: when this
process is killed, its deliveries are due again as soon as the lease has run out. Any number of
processes may do this at the same time.

Every tenant has a lane of its own. A receiver that answers well gets a wide one, one that hangs or
fails a narrow one, so that slow receivers cannot fill the places that all share.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from laari.rules.webhooks import retry_wait
from laari.settings import Settings
from laari.store import deliveries
from laari.store.database import Connection, connection_to
from laari.store.deliveries import Attempt, Claimed
from laari.store.merchants import open_secret
from laari.store.watch import Watch
from laari.workers.pause import pause
from laari.workers.webhooks.sender import TIMEOUT_SECONDS, Answer, Sender

log = logging.getLogger(__name__)

# Deliveries go on within five seconds where their connection has gone silent: a second until
# something is asked, these two, and a new connection.
ANSWER_SECONDS = 2.5  # of the database; after that its connection is taken for dead
RECONNECT_SECONDS = 0.5
# Outcomes in one statement. Where all that have piled up took longer than the bound above, they
# would be tried again with still more of them, and never be recorded.
MOST_RECORDED = 1000
TENANTS_AT_ONCE = 256  # looked at in one round
SWITCHED_OFF = "webhooks are switched off or no URL is set"


@dataclass(frozen=True, slots=True)
class Limits:
    places: int = 512  # attempts under way in this process
    widest_lane: int = 32  # of one tenant
    first_lane: int = 4  # of a tenant not seen before
    narrowest_lane: int = 2
    lease_seconds: float = 4 * TIMEOUT_SECONDS  # half to wait in line, half to send and record
    poll_seconds: float = 1.0  # for retries that come due, and notifications that got lost
    # Between two looks for more, and between two recordings: each finds several.
    round_seconds: float = 0.04


class Lane:
    """What this process has taken up of one tenant: under way, and next in line.

    The line is as long as two rounds at the pace of the last one: a receiver that answers at once
    never waits for the database, and one that takes its time has no line at all.
    """

    __slots__ = ("finished", "line", "under_way", "width")

    def __init__(self, width: int) -> None:
        self.width = width
        self.under_way = 0
        self.finished = 0  # since more was last taken up
        self.line: deque[tuple[Claimed, float]] = deque()  # with the time to have begun by

    def room(self, places: int) -> int:
        """How many more to take up where so many of them have a place at once."""
        return places + 2 * self.finished - len(self.line)


def allot(lanes: Mapping[int, Lane], places: int) -> tuple[dict[int, int], set[int]]:
    """How many deliveries to take up for each tenant, and the tenants left without a place.

    Free places are shared between the tenants that have nothing under way: none gets a second
    before each has had a first, and while one waits for a place, those that have one get no more.
    """
    idle = [tenant for tenant, lane in lanes.items() if not lane.under_way]
    served, left = idle[: max(0, places)], set(idle[max(0, places) :])
    each = max(1, places // max(1, len(idle)))
    begun = {tenant: min(lanes[tenant].width, each) for tenant in served}
    if left:
        return begun, left
    free = {tenant: lane.width - lane.under_way for tenant, lane in lanes.items()} | begun
    room = {tenant: lanes[tenant].room(size) for tenant, size in free.items()}
    return {tenant: size for tenant, size in room.items() if size > 0}, left


class Deliverer:
    def __init__(
        self,
        dsn: str,
        sender: Sender,
        secret_of: Callable[[str, bytes], str],
        retry_seconds: tuple[float, ...],
        limits: Limits | None = None,
    ) -> None:
        self._dsn = dsn
        self._sender = sender
        self._secret_of = secret_of
        self._retry_seconds = retry_seconds
        self._limits = limits or Limits()
        self._lanes: dict[int, Lane] = {}
        self._workers: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._watch = Watch()
        self._outcomes: asyncio.Queue[Attempt | None] = asyncio.Queue()
        self._after_tenant = 0

    async def run(self, stop: asyncio.Event) -> None:
        """Works until told to stop; then finishes and records what is under way."""
        recording = asyncio.create_task(_persist("recording deliveries", self._record_outcomes))
        taking = asyncio.create_task(_persist("taking up deliveries", self._take_up))
        await stop.wait()
        taking.cancel()
        with suppress(asyncio.CancelledError):
            await taking
        await self._give_back()
        if self._workers:
            await asyncio.wait(self._workers)
        self._outcomes.put_nowait(None)
        await recording

    async def _give_back(self) -> None:
        """Whatever has not been begun is due again, for the next process to find at once."""
        waiting = [delivery for lane in self._lanes.values() for delivery, _ in lane.line]
        for lane in self._lanes.values():
            lane.line.clear()
        if waiting:
            with suppress(Exception):  # their leases run out anyway
                async with connection_to(self._dsn, ANSWER_SECONDS) as connection:
                    await deliveries.give_back(connection, waiting)

    async def _take_up(self) -> None:
        async with connection_to(self._dsn, math.inf, synchronous_commit="off") as connection:
            with self._watch.bound(connection, ANSWER_SECONDS):
                await deliveries.listen(connection, self._wake.set)
            while True:
                self._wake.clear()
                with self._watch.bound(connection, ANSWER_SECONDS):
                    busy = await self._round(connection)
                await asyncio.sleep(self._limits.round_seconds)
                if not busy:
                    # Not `wait_for`: before Python 3.12 it swallows a cancellation that comes at
                    # the moment of the wake, and stopping would wait for ever.
                    await pause(self._wake, self._limits.poll_seconds)

    async def _round(self, connection: Connection) -> bool:
        """Takes up what there is room for; whether there may be more to take up at once."""
        tenants, following = await deliveries.due_tenants(
            connection, self._after_tenant, TENANTS_AT_ONCE
        )
        lanes = {tenant: self._lane(tenant) for tenant in tenants}
        room, left = allot(lanes, self._limits.places - len(self._workers))
        if not left:
            self._after_tenant = following
        elif room:
            self._after_tenant = max(room)
        if not room:
            return self._after_tenant != 0 and not left
        for tenant in room:
            lanes[tenant].finished = 0
        begin_by = time.monotonic() + self._limits.lease_seconds / 2
        claimed = await deliveries.claim(connection, room, self._limits.lease_seconds)
        # Places were counted for the tenants that waited: they come first.
        claimed.sort(key=lambda delivery: lanes[delivery.tenant_id].under_way > 0)
        for delivery in claimed:
            self._line_up(delivery, begin_by)
        return bool(claimed) or self._after_tenant != 0

    def _lane(self, tenant_id: int) -> Lane:
        lane = self._lanes.get(tenant_id)
        if lane is None:
            lane = self._lanes[tenant_id] = Lane(self._limits.first_lane)
        return lane

    def _line_up(self, delivery: Claimed, begin_by: float) -> None:
        lane = self._lane(delivery.tenant_id)
        lane.line.append((delivery, begin_by))
        is_free = lane.under_way < lane.width and len(self._workers) < self._limits.places
        if is_free or not lane.under_way:  # a line always has somebody who works on it
            lane.under_way += 1
            worker = asyncio.create_task(self._work(lane))
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)

    async def _work(self, lane: Lane) -> None:
        """Makes the attempts of a lane, one after the other, while there are any."""
        try:
            while lane.line and lane.under_way <= lane.width:
                delivery, begin_by = lane.line.popleft()
                if time.monotonic() < begin_by:  # else the lease may end before the answer comes
                    await self._attempt(delivery, lane)
                lane.finished += 1
                self._wake.set()
        finally:
            lane.under_way -= 1

    async def _attempt(self, delivery: Claimed, lane: Lane) -> None:
        try:
            answer = await self._send(delivery)
        except Exception:
            # Our own fault, not the receiver's: it does not count, and the lease brings it back.
            log.exception("sending event %s failed", delivery.event_id)
            return
        if answer.acknowledged:
            lane.width = min(lane.width + 1, self._limits.widest_lane)
        else:
            lane.width = max(lane.width // 2, self._limits.narrowest_lane)
        self._outcomes.put_nowait(self._outcome(delivery, answer))

    async def _send(self, delivery: Claimed) -> Answer:
        if delivery.url is None:
            return Answer(datetime.now(UTC).timestamp(), 0, None, SWITCHED_OFF, None)
        secret = self._secret_of(delivery.merchant_id, delivery.secret_encrypted)
        return await self._sender.send(delivery.url, secret, delivery.body)

    def _outcome(self, delivery: Claimed, answer: Answer) -> Attempt:
        wait = None
        if not answer.acknowledged:
            chance = random.random()  # noqa: S311  # jitter
            wait = retry_wait(delivery.failed_attempts + 1, self._retry_seconds, chance)
        return Attempt(
            event_id=delivery.event_id,
            claim=delivery.claim,
            started_at=datetime.fromtimestamp(answer.started_at, UTC),
            duration_ms=answer.duration_ms,
            url=delivery.url or "",
            http_status=answer.status,
            error=answer.error,
            answer=answer.text,
            acknowledged=answer.acknowledged,
            retry_seconds=wait,
        )

    async def _record_outcomes(self) -> None:
        """Records outcomes as they come: those that have gathered while the last were written.

        A commit that is lost in a crash leads to one more attempt, so nobody waits for the disk.
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
                            await deliveries.record(connection, attempts)
                except BaseException:
                    for attempt in gathered:
                        self._outcomes.put_nowait(attempt)
                    raise
                if len(attempts) < len(gathered):
                    if self._outcomes.empty():
                        return
                    self._outcomes.put_nowait(None)  # what failed was put back behind the end
                await asyncio.sleep(self._limits.round_seconds)


async def _persist(what: str, work: Callable[[], Awaitable[None]]) -> None:
    """Does the work to its end, from the beginning again where the database went away."""
    while True:
        try:
            await work()
        except Exception as error:
            log.warning("%s was interrupted: %s", what, error)
            await asyncio.sleep(RECONNECT_SECONDS)
        else:
            return


async def run(
    dsn: str,
    master_key: bytes,
    settings: Settings,
    stop: asyncio.Event,
    limits: Limits | None = None,
) -> None:
    """Delivers webhooks until told to stop."""
    if settings.webhook_allow_private:
        log.warning(
            "LAARI_WEBHOOK_ALLOW_PRIVATE is on: webhooks may go to private addresses and over "
            "plain http. Anyone who can set a webhook URL can reach your internal network. "
            "Use this for development only."
        )

    @lru_cache(maxsize=4096)
    def secret_of(merchant_id: str, encrypted: bytes) -> str:
        return open_secret(master_key, merchant_id, encrypted)

    sender = Sender(allow_private=settings.webhook_allow_private)
    try:
        waits = settings.webhook_retry_seconds
        await Deliverer(dsn, sender, secret_of, waits, limits).run(stop)
    finally:
        await sender.close()
