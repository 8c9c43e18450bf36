"""Pages on which a customer decides about a merchant's payment, request or authorization."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeAlias, TypeVar
from uuid import UUID

from laari.edge.load.live import OnePayment
from laari.edge.pages.login import log_in_customer
from laari.edge.pages.passkeys import log_in as passkeys
from laari.edge.pages.request import Access, PageRequest, RefusedForm
from laari.edge.pages.routes import Handler, PageRoute
from laari.edge.resources import R
from laari.http.messages import Reply
from laari.rules.actors import Payer, sandbox_customer
from laari.rules.command import Command
from laari.rules.lifecycle import shown_state
from laari.rules.records.payments import Payment
from laari.rules.records.tenants import Tenant, local_time
from laari.rules.refusals import Refusal
from laari.store.counters.sessions import CustomerSession

# An older result is looked at as a receipt, and nobody is redirected from it. A page that polls
# notices the end within 15 seconds.
LEAD_BACK_WITHIN = timedelta(seconds=30)


@dataclass(frozen=True)
class Asked(Generic[R]):
    """A payment, payment request or authorization, and the time on its merchant's clock."""

    row: R
    tenant: Tenant
    now: datetime

    @property
    def state(self) -> str:
        return shown_state(self.row, self.now, active=self.tenant.active)

    def leads_back(self, ended: datetime | None) -> bool:
        """Whether it ended so recently that the customer is redirected to the shop."""
        # In both directions: a sandbox's clock may have been moved back since.
        return ended is not None and abs(self.now - ended) < LEAD_BACK_WITHIN

    def seconds_until(self, deadline: datetime) -> int:
        return max(0, int((deadline - self.now).total_seconds()))


Decision: TypeAlias = Callable[[Tenant, UUID, Payer], Command[object]]


async def all_asked(request: PageRequest, rows: Sequence[R]) -> list[Asked[R]]:
    ids = list({row.tenant_id for row in rows})
    found = await asyncio.gather(*map(request.backend.tenants.get, ids))
    tenants = {tenant.id: tenant for tenant in found if tenant is not None}
    return [
        Asked(row, tenant, local_time(request.now, tenant))
        for row in rows
        for tenant in (tenants[row.tenant_id],)
    ]


class DecisionRequest(PageRequest, ABC, Generic[R]):
    """A request about one resource, which `enter` looks up."""

    open_states: tuple[str, ...]  # in which the customer can decide
    asked: Asked[R]

    @abstractmethod
    async def find_row(self) -> R | None: ...

    @property
    @abstractmethod
    def address(self) -> str:
        """The address of the resource's page."""

    @abstractmethod
    async def decider(self) -> CustomerSession | None:
        """The customer who is logged in and may decide."""

    @abstractmethod
    async def refused_words(self, refusal: Refusal, account: int) -> str:
        """Says why a decision for this account was refused."""

    def may_retry(self, state: str) -> bool:
        """Whether a refused decision shows the reason, and not only the new state."""
        return state == self.asked.state

    @property
    def is_open(self) -> bool:
        return self.asked.state in self.open_states

    async def find(self) -> Asked[R] | None:
        row = await self.find_row()
        return None if row is None else (await all_asked(self, [row]))[0]

    async def enter(self, access: Access) -> Reply | None:
        stopped = await super().enter(access)
        if stopped is not None:
            return stopped
        asked = await self.find()
        if asked is None:
            return self.json({"status": "not_found"}) if access.polled else self.no_such_page()
        self.asked = asked
        return None

    async def decide(self, decision: Decision, payer: Payer) -> Reply:
        """Submits the decision; then the resource's page shows its state.

        A refusal is explained unless another tab or the merchant was faster, or time is up.
        """
        command = decision(self.asked.tenant, self.asked.row.id, payer)
        outcome = await self.backend.spine.submit(command)
        if isinstance(outcome, Refusal):
            now = await self.find()
            if now is not None and self.may_retry(now.state):
                self.asked = now
                words = await self.refused_words(outcome, payer.account)
                raise RefusedForm(outcome.status, words, outcome.retry_after)
        return self.go(self.address)


AnyDecision: TypeAlias = DecisionRequest[Any]


async def show_status(request: AnyDecision) -> Reply:
    """Only the state, for a page that waits. Changes of a payment end the wait."""
    row = request.asked.row
    if not isinstance(row, Payment):
        return request.json({"status": request.asked.state})

    async def read() -> str:
        now = await request.find()
        return "not_found" if now is None else now.state

    return await request.state_reply(read, OnePayment(row.id))


def decided(decision: Decision, *states: str, confirmed: bool = False) -> Handler[AnyDecision]:
    """The customer's decision in one of these states, or any; `confirmed` not long ago."""

    async def handle(request: AnyDecision) -> Reply:
        customer = await request.decider()
        if customer is None or (states and request.asked.state not in states):
            # Logged out, or decided elsewhere, after the page was shown.
            return request.go(request.address)
        if confirmed:
            await passkeys.confirm(request, customer)
        return await request.decide(decision, customer.payer)

    return handle


class LinkedRequest(DecisionRequest[R]):
    """Everybody with the link sees the page; a customer logs in on the page itself to decide.

    That log-in is valid for this page only, unless the customer says that the device is their own.
    A log-in to the wallet is valid here too.
    """

    async def decider(self) -> CustomerSession | None:
        return await self.find_customer(self.asked.tenant.mode)

    @property
    def address(self) -> str:
        return self.home

    def may_retry(self, state: str) -> bool:
        return super().may_retry(state) and state in self.open_states


AnyLinked: TypeAlias = LinkedRequest[Any]
K = TypeVar("K", bound=AnyLinked)


def in_sandbox(**decisions: Decision) -> Handler[AnyLinked]:
    """A decision of the merchant's sandbox customer, without a log-in: no real money moves."""

    async def handle(request: AnyLinked) -> Reply:
        decision = decisions.get(request.params["action"])
        tenant = request.asked.tenant
        if tenant.mode != "sandbox" or decision is None:
            return request.no_such_page()
        return await request.decide(decision, sandbox_customer(tenant))

    return handle


def linked_routes(
    kind: type[K], show: Handler[K], then: Handler[AnyLinked] | None = None
) -> list[PageRoute[K]]:
    """The page, its state, and the log-in and log-out on it; `then` follows a passkey."""

    async def by_passkey(request: AnyLinked) -> Reply:
        await passkeys.log_in(request, request.asked.tenant.mode)
        return request.go(request.address) if then is None else await then(request)

    return [
        PageRoute(kind, "", get=show),
        PageRoute(kind, "/status", get=show_status, polled=True),
        PageRoute(kind, "/login", post=_log_in, page=show),
        PageRoute(kind, "/passkey", get=_passkey_options, post=by_passkey, page=show),
        PageRoute(kind, "/logout", post=_log_out),
    ]


async def _passkey_options(request: AnyLinked) -> Reply:
    return await passkeys.show_options(request, request.asked.tenant.mode)


async def _log_in(request: AnyLinked) -> Reply:
    request.on_own_device = request.form.get("own_device") == "on"
    try:
        await log_in_customer(request, request.asked.tenant.mode)
    finally:
        request.on_own_device = False  # a refused log-in shows the form of this page again
    return request.go(request.address)


async def _log_out(request: PageRequest) -> Reply:
    await request.end_session()
    return request.go(request.home)
