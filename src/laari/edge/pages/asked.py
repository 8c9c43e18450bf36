"""What a merchant asks of a customer, as it stands now, and what the customer decides about it."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from laari.edge.pages.visit import Visit
from laari.edge.resources import R
from laari.http.messages import Reply
from laari.rules.command import Command
from laari.rules.lifecycle import shown_state
from laari.rules.records import Tenant
from laari.rules.refusals import Refusal
from laari.rules.world import local_time


@dataclass(frozen=True)
class Asked(ABC, Generic[R]):
    """A payment, a request or an authorization, and the time on its merchant's clock."""

    row: R
    tenant: Tenant
    now: datetime

    @property
    def state(self) -> str:
        return shown_state(self.row, self.now, active=self.tenant.active)

    @property
    @abstractmethod
    def address(self) -> str:
        """Of its page."""


A = TypeVar("A", bound=Asked[Any])


async def all_asked(
    visit: Visit, rows: Iterable[R], kind: Callable[[R, Tenant, datetime], A]
) -> list[A]:
    rows = list(rows)
    ids = list({row.tenant_id for row in rows})
    found = await asyncio.gather(*map(visit.backend.tenants.get, ids))
    tenants = {tenant.id: tenant for tenant in found if tenant is not None}
    return [
        kind(row, tenant, local_time(visit.now, tenant))
        for row in rows
        for tenant in (tenants[row.tenant_id],)
    ]


async def one_asked(
    visit: Visit, row: R | None, kind: Callable[[R, Tenant, datetime], A]
) -> A | None:
    return None if row is None else (await all_asked(visit, [row], kind))[0]


async def decide(
    visit: Visit,
    asked: A,
    command: Command[object],
    find: Callable[[], Awaitable[A | None]],
    refused: Callable[[A, Refusal], Awaitable[Reply]],
) -> Reply:
    """Submits what the customer decided; its page then says how it stands.

    `refused` shows why nothing was changed. It is not asked if another tab or the merchant was
    faster, or the deadline has passed.
    """
    outcome = await visit.backend.spine.submit(command)
    if isinstance(outcome, Refusal):
        now = await find()
        if now is not None and now.state == asked.state:
            return await refused(now, outcome)
    return visit.go(asked.address)
