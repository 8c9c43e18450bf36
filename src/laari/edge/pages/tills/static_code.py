"""The static code of a till: the customer types the amount, confirms it and pays.

A payment exists only after the confirmation, so a scan alone leaves nothing behind. Reusable links
have the same pages (`reusable_link.py`).
"""

from abc import ABC, abstractmethod
from datetime import datetime
from typing import ClassVar, TypeVar
from uuid import UUID

from laari.edge import codes
from laari.edge.load.token_buckets import throttle_bucket
from laari.edge.pages.login import throttle
from laari.edge.pages.request import Access, FormProblem, PageRequest, Problem
from laari.edge.pages.routes import Handler, PageRoute, Routes
from laari.edge.pages.tills.counter import SALE_LIFE, make_sale, read_amount
from laari.edge.pages.tills.references import SCAN, new_reference
from laari.http.addresses import client_prefix
from laari.http.messages import Reply
from laari.rules import terms
from laari.rules.ids import is_token
from laari.rules.payments.payments import PaymentDraft
from laari.rules.records.payments import Payment
from laari.rules.records.tenants import Tenant, local_time
from laari.rules.records.tills import Till
from laari.store.reads.tills import records


class CodeRequest(PageRequest, ABC):
    """Anybody who has the address of a code: each of its payments is one of the shop."""

    kind: ClassVar[str]  # of the references
    tenant: Tenant
    label: str | None = None  # of the till
    purpose: str | None = None
    fixed: int | None = None  # the amount, if the customer does not type it

    @property
    @abstractmethod
    def code_id(self) -> UUID: ...

    @property
    def shop_now(self) -> datetime:
        return local_time(self.now, self.tenant)

    @property
    def deadline(self) -> datetime:
        """For a payment that is made now."""
        return self.shop_now + SALE_LIFE

    def amount(self) -> int | FormProblem:
        return read_amount(self, self.tenant) if self.fixed is None else self.fixed

    async def open(self, tenant_id: int) -> Reply | None:
        tenant = await self.backend.tenants.get(tenant_id)
        if tenant is None:
            return self.no_such_page()
        self.tenant = tenant
        return None if tenant.active else self.page("till_closed.html", 403)


class TillRequest(CodeRequest):
    prefix = "/till/{token}"
    kind = SCAN
    till: Till

    async def enter(self, access: Access) -> Reply | None:
        token = self.params["token"]
        till = await self.backend.ask(records.by_token, token) if is_token(token) else None
        if till is None:
            return self.no_such_page()
        self.till, self.label = till, till.name
        return await self.open(till.tenant_id)

    @property
    def code_id(self) -> UUID:
        return self.till.id


C = TypeVar("C", bound=CodeRequest)


async def show(request: CodeRequest) -> Reply:
    if request.fixed is not None:
        return _ask(request, request.fixed)
    return request.page("till_amount.html", amount=request.form.get("amount", ""))


def _ask(request: CodeRequest, amount: int) -> Reply:
    return request.page("till_confirm.html", amount=amount, reference=new_reference(request.kind))


async def confirm(request: CodeRequest) -> Reply | Problem:
    amount = request.amount()
    return amount if isinstance(amount, FormProblem) else _ask(request, amount)


async def pay(request: CodeRequest) -> Reply | Problem:
    """Makes the payment, which the checkout shows; the same form again shows the same payment."""
    address = client_prefix(request.http.client)
    throttle(
        request,
        [
            throttle_bucket(terms.TILL_SALES_PER_ADDRESS, "till sale", address),
            throttle_bucket(terms.TILL_SALES, "till sales", request.code_id),
        ],
    )
    amount = request.amount()
    if isinstance(amount, FormProblem):
        return amount
    draft = PaymentDraft(
        request.form.get("reference", ""),
        amount,
        title=request.purpose,
        terminal_label=request.label,
        expires_at=request.deadline,
    )
    made = await make_sale(request, request.tenant, request.kind, draft)
    return request.go(f"/pay/{made.token}") if isinstance(made, Payment) else made


def code_routes(kind: type[C], show_code: Handler[C]) -> list[PageRoute[C]]:
    return [
        PageRoute(kind, "", get=show, post=confirm),
        PageRoute(kind, "/pay", post=pay, page=show),
        PageRoute(kind, "/code", get=show_code),
    ]


async def show_code(request: TillRequest) -> Reply:
    return codes.of_till(request.backend.origin, request.till)


ROUTES: Routes = [*code_routes(TillRequest, show_code)]
