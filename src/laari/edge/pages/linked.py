"""Pages that anyone with their link can open: what checkout and approval have in common.

Everybody sees what is asked and how it stands; a customer logs in on the page itself and decides.
That log-in is good for this page alone; one that was made in the wallet is good here too.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, Generic, TypeAlias, TypeVar
from uuid import UUID

from markupsafe import Markup

from laari.edge.pages.asked import Asked, decide
from laari.edge.pages.login import STATUSES, customer_in, log_in_customer, unconfirmed
from laari.edge.pages.visit import Handler, PageRoute, Visit, page_route
from laari.edge.resources import R
from laari.http.messages import Reply
from laari.rules.actors import Payer, sandbox_customer
from laari.rules.command import Command
from laari.rules.records import Tenant
from laari.rules.refusals import Refusal

# What ended longer ago is looked at as a receipt: nobody is sent away from it. A page that watches
# learns of the end within 15 seconds.
LEAD_BACK_WITHIN = timedelta(seconds=30)


class LinkedPage(Asked[R], ABC):
    """What the link leads to."""

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether it can be decided now."""


A = TypeVar("A", bound=LinkedPage[Any])
Decision: TypeAlias = Callable[[Tenant, UUID, Payer], Command[object]]


class Linked(Generic[A]):
    """The handlers that such a page needs, made from how it is found and how it is shown.

    `refused_words` say why a decision of this account was not followed.
    """

    def __init__(
        self,
        find: Callable[[Visit], Awaitable[A | None]],
        page: Callable[..., Awaitable[Reply]],
        refused_words: Callable[[Visit, A, Refusal, int], Awaitable[Markup]],
    ) -> None:
        self._find = find
        self._page = page
        self._refused_words = refused_words

    def found(self, handler: Callable[[Visit, A], Awaitable[Reply]]) -> Handler:
        """For whatever the link leads to; a link that leads nowhere is no page."""

        async def handle(visit: Visit) -> Reply:
            asked = await self._find(visit)
            return visit.refusal(404, "not_found") if asked is None else await handler(visit, asked)

        return handle

    def decided(self, decision: Decision, *, confirmed: bool = False) -> Handler:
        """By the customer who is logged in, with a recent password if it is to be confirmed."""

        async def handle(visit: Visit, asked: A) -> Reply:
            customer = await customer_in(visit, asked.tenant.mode)
            if customer is None:  # logged out in the meantime: the page asks to log in
                return visit.go(asked.address)
            problem = await unconfirmed(visit, customer) if confirmed else None
            if problem is not None:
                return await self._page(visit, asked, problem.status, failed=problem.words)
            return await self._decide(visit, asked, decision, customer.payer)

        return self.found(handle)

    def in_sandbox(self, **decisions: Decision) -> Handler:
        """By the merchant's own sandbox customer, without a log-in: there is no money behind it."""

        async def handle(visit: Visit, asked: A) -> Reply:
            decision = decisions.get(visit.params["action"])
            if asked.tenant.mode != "sandbox" or decision is None:
                return visit.refusal(404, "not_found")
            return await self._decide(visit, asked, decision, sandbox_customer(asked.tenant))

        return self.found(handle)

    async def _decide(self, visit: Visit, asked: A, decision: Decision, payer: Payer) -> Reply:
        async def refused(now: A, refusal: Refusal) -> Reply:
            if not now.is_open:
                return visit.go(now.address)
            failed = await self._refused_words(visit, now, refusal, payer.account)
            return await self._page(visit, now, refusal.status, failed=failed)

        command = decision(asked.tenant, asked.row.id, payer)
        return await decide(visit, asked, command, lambda: self._find(visit), refused)

    def routes(self, path: str) -> list[PageRoute]:
        """The page itself, its state, and logging in and out on it."""
        return [
            page_route(path, get=self.found(self._page)),
            page_route(f"{path}/status", get=self._status),
            page_route(f"{path}/login", post=self.found(self._log_in)),
            page_route(f"{path}/logout", post=_log_out),
        ]

    async def _status(self, visit: Visit) -> Reply:
        """The state alone, for the page to watch."""
        asked = await self._find(visit)
        return visit.json({"status": "not_found" if asked is None else asked.state})

    async def _log_in(self, visit: Visit, asked: A) -> Reply:
        problem = await log_in_customer(visit, asked.tenant.mode)
        if problem is None:
            return visit.go(asked.address)
        identity = visit.form.get("identity", "")
        return await self._page(
            visit, asked, STATUSES[problem], login_problem=problem, identity=identity
        )


async def _log_out(visit: Visit) -> Reply:
    await visit.end_session()
    return visit.go(visit.home)


def leads_back(ended: datetime | None, now: datetime) -> bool:
    """Whether it ended so lately that whoever looks on is led back to the shop."""
    # In either direction: a sandbox's clock may have been moved back since.
    return ended is not None and abs(now - ended) < LEAD_BACK_WITHIN


def seconds_until(deadline: datetime, now: datetime) -> int:
    return max(0, int((deadline - now).total_seconds()))
