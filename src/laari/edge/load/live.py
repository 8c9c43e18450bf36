"""Pages that wait for a change of a payment, a till or a device.

A commit of this process wakes them at once. For commits of other processes, one statement each
0.8 seconds looks for all of them together, while any page waits.
"""

import asyncio
import logging
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple, TypeAlias
from uuid import UUID

from laari.edge.load.admission import Admission
from laari.errors import UnavailableError
from laari.http.messages import Request
from laari.rules.world import World
from laari.store.reads.tills import changes
from laari.store.reads.tills.changes import Changes

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.8  # a payment shows within a second, with the time of the look and of the page
# Of one request, in the middle: shorter than the patience of proxies, which is often thirty
# seconds. Each waits a little more or less, or all that began together would come back together.
WAIT_SECONDS = 20.0
SPREAD = 0.25
# Requests that wait in one process. Each takes a few kilobytes and a connection. Others are
# answered at once, and their pages ask again after two seconds.
MOST_WAITING = 4096


class OnePayment(NamedTuple):
    id: UUID


class OneTill(NamedTuple):
    tenant_id: int
    label: str


class OneDevice(NamedTuple):
    digest: bytes


Key: TypeAlias = OnePayment | OneTill | OneDevice
Look: TypeAlias = Callable[..., Awaitable[Changes]]


class Live:
    def __init__(self, ask: Look) -> None:
        self._ask = ask
        self._waiting: defaultdict[Key, set[asyncio.Event]] = defaultdict(set)
        self._looking: asyncio.Task[None] | None = None
        self._closed = False
        self.count = 0  # requests that wait

    @contextmanager
    def watching(self, *keys: Key) -> Iterator[asyncio.Event]:
        """An event that is set by a change of any of these, from now on."""
        changed = asyncio.Event()
        if self._closed or self.count >= MOST_WAITING:
            changed.set()
            yield changed
            return
        self.count += 1
        for key in keys:
            self._waiting[key].add(changed)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="live pages")
        try:
            yield changed
        finally:
            self.count -= 1
            for key in keys:
                self._waiting[key].discard(changed)
                if not self._waiting[key]:
                    del self._waiting[key]

    async def state(
        self,
        request: Request,
        admission: Admission,
        read: Callable[[], Awaitable[str]],
        known: str | None,
        keys: Collection[Key],
    ) -> dict[str, str]:
        """What `read` finds, as soon as it is not `known`, or after a while."""
        if known is None:
            return {"status": await read()}
        with self.watching(*keys) as changed:  # before it is read: no change falls between
            state = await read()
            if state != known or changed.is_set():
                return {"status": state}
            began = time.perf_counter()
            with admission.aside(), suppress(TimeoutError):
                seconds = WAIT_SECONDS * random.uniform(1 - SPREAD, 1 + SPREAD)  # noqa: S311
                await asyncio.wait_for(changed.wait(), seconds)
            request.started += time.perf_counter() - began  # metrics are about work
            # Nothing has changed: the page asks again soon, and then it is read.
            return {"status": await read() if changed.is_set() else known, "waited": "yes"}

    def close(self) -> None:
        """Wakes all, and lets nobody wait from now on."""
        self._closed = True
        if self._looking is not None:
            self._looking.cancel()
        self._wake([*self._waiting])

    def committed(self, world: World) -> None:
        """Wakes the pages that show what this batch has changed."""
        if self._waiting:
            self._wake(_changed(world))

    def _wake(self, keys: Collection[Key]) -> None:
        for key in keys:
            for changed in self._waiting.get(key, ()):
                changed.set()

    async def _look(self) -> None:
        snapshot: str | None = None
        while self._waiting:
            keys = [*self._waiting]
            try:
                found = await self._ask(
                    changes.since,
                    snapshot,
                    [key.id for key in keys if isinstance(key, OnePayment)],
                    [key.tenant_id for key in keys if isinstance(key, OneTill)],
                    [key.digest for key in keys if isinstance(key, OneDevice)],
                )
            except UnavailableError as error:
                log.info("pages were not woken: %s", error)
            else:
                self._wake([OnePayment(each) for each in found.payments])
                self._wake([OneDevice(each) for each in found.devices])
                # What happened before the first snapshot is not known: these pages look once.
                tills = [key for key in keys if isinstance(key, OneTill)]
                self._wake(tills if snapshot is None else [OneTill(*each) for each in found.tills])
                snapshot = found.snapshot
            await asyncio.sleep(LOOK_SECONDS)


def _changed(world: World) -> list[Key]:
    keys: list[Key] = []
    payments, devices = World.payments.touched(world), World.till_devices.touched(world)
    if payments is not None:
        for payment in (*payments.added.values(), *payments.changed.values()):
            keys.append(OnePayment(payment.id))
            if payment.paid_at is not None and payment.terminal_label is not None:
                keys.append(OneTill(payment.tenant_id, payment.terminal_label))
    if devices is not None:
        keys += [OneDevice(digest) for digest in devices.changed]
    return keys
