"""How payments, payment requests and authorizations are found, listed and shown."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeAlias, TypeVar
from uuid import UUID

from msgspec import Struct

from laari.edge.backend import Backend
from laari.rules import ids
from laari.rules.command import Command
from laari.rules.lifecycle import Payable, is_overdue
from laari.rules.payments.authorizations import as_of
from laari.rules.payments.payment_requests import ExpireRequest
from laari.rules.payments.payments import ExpirePayment
from laari.rules.records.authorizations import Authorization
from laari.rules.records.payments import Payment, PaymentRequest
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal, RefusalCode
from laari.rules.shapes.authorizations import authorization_shape
from laari.rules.shapes.payments import payment_shape
from laari.rules.shapes.requests import request_shape
from laari.spine.gather import Coalesced
from laari.store.reads import authorizations, payment_requests, payments
from laari.store.reads.listing import Listing

R = TypeVar("R", Payment, PaymentRequest, Authorization)

Expire: TypeAlias = Callable[[Backend, Tenant, R, datetime], Awaitable[R | Refusal]]


@dataclass(frozen=True)
class Resource(Generic[R]):
    noun: str
    prefix: str  # of its ids
    missing: RefusalCode  # the refusal if there is none
    listing: str  # the name of its listing, for cursors, scopes and operations
    rows: Callable[[Backend], Coalesced[UUID, R]]
    listed: Callable[..., Listing[R]]  # by tenant, moment, window and filters
    show: Callable[[R, Backend], Struct]
    expire: Expire[R]  # what is overdue

    @property
    def path(self) -> str:
        """Of its operations, below the interface."""
        return f"/{self.listing.replace('_', '-')}"

    async def find(self, backend: Backend, written_id: str) -> R | None:
        row_id = ids.read_id(self.prefix, written_id)
        return None if row_id is None else await self.rows(backend).get(row_id)

    async def of_tenant(self, backend: Backend, tenant: Tenant, written_id: str) -> R | None:
        """The row if it belongs to this tenant."""
        # Not by `find`: every GET comes through here.
        row_id = ids.read_id(self.prefix, written_id)
        row = None if row_id is None else await self.rows(backend).get(row_id)
        return row if row is not None and row.tenant_id == tenant.id else None

    async def current(
        self, backend: Backend, tenant: Tenant, rows: Sequence[R], now: datetime
    ) -> Sequence[R]:
        """The rows as they are now: the same ones, unless one is overdue and expires."""
        overdue = [row for row in rows if is_overdue(row, now)]
        if not overdue:
            return rows
        outcomes = await asyncio.gather(
            *(self.expire(backend, tenant, row, now) for row in overdue)
        )
        # Refused: another command is changing the row, which stays as it was read.
        expired = {row.id: row for row in outcomes if not isinstance(row, Refusal)}
        return [expired.get(row.id, row) for row in rows]


def _by_command(command: Callable[[Tenant, UUID], Command[Payable]]) -> Expire[Payable]:
    async def expire(
        backend: Backend, tenant: Tenant, row: Payable, now: datetime
    ) -> Payable | Refusal:
        return await backend.spine.submit(command(tenant, row.id))

    return expire


async def _by_deadline(
    backend: Backend, tenant: Tenant, row: Authorization, now: datetime
) -> Authorization:
    return as_of(row, now)


PAYMENTS = Resource(
    noun="payment",
    prefix=ids.PAYMENT,
    missing="not_found",
    listing="payments",
    rows=lambda backend: backend.payments,
    listed=payments.of_tenant,
    show=lambda payment, backend: payment_shape(payment, backend.origin),
    expire=_by_command(ExpirePayment),
)
REQUESTS = Resource(
    noun="payment request",
    prefix=ids.PAYMENT_REQUEST,
    missing="payment_request_not_found",
    listing="payment_requests",
    rows=lambda backend: backend.payment_requests,
    listed=payment_requests.of_tenant,
    show=lambda request, backend: request_shape(request),
    expire=_by_command(ExpireRequest),
)
AUTHORIZATIONS = Resource(
    noun="authorization",
    prefix=ids.AUTHORIZATION,
    missing="authorization_not_found",
    listing="authorizations",
    rows=lambda backend: backend.authorizations,
    listed=authorizations.of_tenant,
    show=lambda authorization, backend: authorization_shape(authorization, backend.origin),
    expire=_by_deadline,
)
