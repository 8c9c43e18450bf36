"""The spine for writes, and coalesced look-ups and listings for reads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from copy import copy
from datetime import datetime
from functools import partial
from typing import TypeVar

from laari.edge.connections import Connections
from laari.edge.input.cursors import Cursors
from laari.edge.input.passkeys import party_of
from laari.edge.load.admission import MAX_PAGES_IN_FLIGHT, Admission
from laari.edge.load.hashing import Hashing
from laari.edge.load.heavy import Heavy, Reports
from laari.edge.load.live import Live
from laari.edge.load.metrics import Metrics
from laari.edge.load.token_buckets import RateBuckets
from laari.errors import UnavailableError
from laari.rules.periods import Counted, Moment, others
from laari.rules.records.tenants import Mode, Tenant, TenantClock
from laari.settings import Settings
from laari.spine.batches import Spine
from laari.spine.gather import Coalesced, Gathered
from laari.store.batch import sandbox_periods
from laari.store.batch.announce import Announcer
from laari.store.batch.runner import BatchRunner
from laari.store.counters import wallet_windows
from laari.store.counters.client_uses import ClientUses
from laari.store.counters.failed_logins import FailedLogins
from laari.store.ledger.last_seal_file import shown_seals
from laari.store.merchants import oauth
from laari.store.postgres.pool import Connection, Pool
from laari.store.reads import (
    authorizations,
    events,
    figures,
    health,
    messages,
    payment_requests,
    payments,
    refunds,
    tenants,
    wallets,
    webhook_states,
)
from laari.store.reads.figures import Day, Span
from laari.store.reads.money import payouts
from laari.store.secrets import derive, keys_of

K = TypeVar("K")
A = TypeVar("A")

# Of pages, per process: one each for reports, exports, searches of merchants and searches of the
# desk, and one that none of them can take.
PAGE_CONNECTIONS = 5
PAGE_WRITERS = 1
# A report of a large merchant is slow; with a second try it still takes less than ten seconds.
PAGE_STATEMENT_SECONDS = 6.0
SCRAPE_SECONDS = 2.0  # for the queries of a scrape
SAMPLE_SECONDS = 1.0  # between two looks at what only this process knows


class Backend:
    def __init__(
        self,
        dsn: str,
        master_key: bytes,
        settings: Settings,
        rates: RateBuckets,
        metrics: Metrics,
    ) -> None:
        self.settings = settings
        self.master_key = master_key
        self.origin = settings.public_url
        self.party = party_of(settings.public_url)
        self.cursors = Cursors(derive(master_key, "cursors", ""))
        self.rates = rates
        self.metrics = metrics
        self.admission = Admission()
        self.page_admission = Admission(MAX_PAGES_IN_FLIGHT)
        self.hashing = Hashing()
        self.heavy = Heavy()
        self._interfaces = Connections(Pool(dsn))
        self._pages = Connections(
            Pool(dsn, PAGE_CONNECTIONS, PAGE_WRITERS, seconds=PAGE_STATEMENT_SECONDS)
        )
        self._use(self._interfaces)
        self._announcer = Announcer(self._interfaces.pool)
        self.live = Live(self._pages.pool.read)
        self._runner = BatchRunner(
            dsn,
            self.origin,
            announce=self._announcer,
            channels=settings.channels,
            keys=keys_of(master_key),
            second_operator_above=settings.second_operator_above,
            committed=self.live.committed,
        )
        self.spine = Spine(self._runner.run, settings.max_batch, on_batch=metrics.batch)
        self.credentials = Coalesced(self._reading(tenants.by_secret_digest))
        self.access_tokens = Coalesced(self._reading(partial(oauth.by_token_digest, master_key)))
        self.client_uses = ClientUses(self._interfaces.pool)
        self.failed_logins = FailedLogins(self._interfaces.pool)
        self.clients = Coalesced(self._reading(oauth.usable_clients))
        self.tenants = Coalesced(self._reading(tenants.by_id))
        self.authorizations = Coalesced(self._reading(authorizations.by_id))
        self.authorizations_by_token = Coalesced(self._reading(authorizations.by_token))
        self.payments = Coalesced(self._reading(payments.by_id))
        self.payment_requests = Coalesced(self._reading(payment_requests.by_id))
        self.payments_by_token = Coalesced(self._reading(payments.by_token))
        self.refunds = Coalesced(self._reading(refunds.by_id))
        self.payouts = Coalesced(self._reading(payouts.by_id))
        self.events = Coalesced(self._reading(events.by_id))
        self.delivery_states = self._reading(events.delivery_states)
        self.wallet_key_uses = Gathered(self._count_key_uses)
        self.wallets = Coalesced(self._reading(wallets.by_account))
        self._days: Reports[Span, list[Day]] = Reports(
            lambda span: self._pages.pool.read(figures.of_days, span)
        )

    def for_pages(self) -> Backend:
        """The same with separate connections for pages; the cheap look-ups by key are shared."""
        pages = copy(self)
        pages._use(self._pages)
        return pages

    def _use(self, connections: Connections) -> None:
        self.page = connections.page
        # Runs a function of the store that only reads, in a read-only session.
        self.ask = connections.pool.read
        # Runs one that writes, but not money: that takes the spine.
        self.write = connections.pool.write

    async def open(self) -> None:
        await self._interfaces.pool.open()
        self.spine.start()
        self._sampling = asyncio.create_task(self._sample(), name="gauges")

    async def close(self) -> None:
        self._sampling.cancel()
        await self.hashing.close()
        await self.spine.close()
        await self._runner.close()
        await self._announcer.close()
        await self.client_uses.close()
        await self.failed_logins.close()
        await self._interfaces.pool.close()
        await self._pages.pool.close()

    def wake(self) -> None:
        """Ends the waits of pages, so that the process can stop."""
        self.live.close()

    async def is_ready(self) -> bool:
        return await self._interfaces.pool.is_writable()

    async def measure(self) -> bytes:
        """The figures of the whole service for Prometheus; most of them need no database."""
        self._set_gauges()
        up, webhooks, waiting, seals, noted, unsealed = await asyncio.gather(
            self.is_ready(),
            self._measured(webhook_states.backlog),
            self._measured(messages.backlog),
            self._measured(shown_seals),
            self._measured(health.noted),
            self._measured(health.unsealed_seconds),
        )
        return self.metrics.text(
            up,
            webhooks,
            waiting,
            (seals, unsealed),
            noted,
            second_person=self.settings.second_operator_above is not None,
            sms_per_hour=self.settings.sms_per_hour,
        )

    async def _measured(self, query: Callable[[Connection], Awaitable[A | None]]) -> A | None:
        try:
            async with asyncio.timeout(SCRAPE_SECONDS):
                return await self.ask(query)
        except (UnavailableError, TimeoutError):
            return None

    async def _sample(self) -> None:
        while True:
            self._set_gauges()
            await asyncio.sleep(SAMPLE_SECONDS)

    def _set_gauges(self) -> None:
        """Of this process; a scrape that reaches another process finds the last values."""
        pool, pages = self._interfaces.pool, self._pages.pool
        in_flight = self.admission.in_flight + self.page_admission.in_flight
        self.metrics.set_gauges(
            in_flight,
            self.spine.waiting,
            pool.size,
            pool.idle,
            pages.size,
            pages.idle,
        )

    def _reading(
        self, fetch: Callable[[Connection, list[K]], Awaitable[A]]
    ) -> Callable[[list[K]], Awaitable[A]]:
        return lambda keys: self._interfaces.pool.read(fetch, keys)

    async def days(self, span: Span, merchant_id: str) -> list[Day]:
        """A merchant's figures by day; `Overloaded` if they would take too long."""
        return await self._days.get(span, merchant_id)

    async def moment(
        self,
        mode: Mode,
        clock: Tenant | TenantClock | None,
        now: datetime,
        counted: Iterable[Counted],
    ) -> Moment:
        """The moment to show usage at, as a command would see it; `now` is the clock's time."""
        if mode == "live":
            return Moment(now)
        wanted = others(counted, now)
        aside = await self.ask(sandbox_periods.put_aside, wanted) if wanted else {}
        return Moment(now, 0 if clock is None else clock.clock_offset_seconds, aside)

    async def _count_key_uses(self, keys: list[bytes]) -> list[wallet_windows.KeyUse | None]:
        return await self._interfaces.pool.write_each(wallet_windows.count_use, keys)
