"""Codes with which many customers pay: the static code of a till, and a reusable link.

The customer types the amount, if it is not fixed, confirms it and pays. A payment exists only after
the confirmation, so a scan alone leaves nothing behind.
"""

from datetime import datetime
from typing import ClassVar

from laari.edge import codes
from laari.edge.load.token_buckets import throttle_bucket
from laari.edge.pages.login import throttle
from laari.edge.pages.request import Access, PageRequest
from laari.edge.pages.routes import PageRoute, Routes
from laari.edge.pages.tills.counter import make_sale, read_amount
from laari.edge.pages.tills.references import LINK, SCAN, new_reference
from laari.http.client_addresses import client_prefix
from laari.http.messages import Reply
from laari.rules.ids import is_token
from laari.rules.limits.tills import SALE_LIFE, TILL_SALES, TILL_SALES_PER_ADDRESS
from laari.rules.payments.payments import PaymentDraft
from laari.rules.records.merchants import ReusableLink
from laari.rules.records.tenants import Tenant, local_time
from laari.rules.records.tills import Till
from laari.store.reads.merchants import reusable_links
from laari.store.reads.tills import records


class CodeRequest(PageRequest):
    """Anybody who has the address of a code: each of its payments is one of the shop."""

    folders = ("codes/",)
    kind: ClassVar[str]  # of the references
    code: Till | ReusableLink
    tenant: Tenant
    label: str | None = None  # of the till
    purpose: str | None = None
    fixed: int | None = None  # the amount, if the customer does not type it

    async def find(self, token: str) -> Till | ReusableLink | None:
        raise NotImplementedError

    async def enter(self, access: Access) -> Reply | None:
        token = self.params["token"]
        code = await self.find(token) if is_token(token) else None
        tenant = None if code is None else await self.backend.tenants.get(code.tenant_id)
        if code is None or tenant is None:
            return self.no_such_page()
        self.code, self.tenant = code, tenant
        if not tenant.active:
            return self.stopped(403, "checkout.closed", "checkout.closed_note")
        return None

    def stopped(self, status: int, title: str, note: str) -> Reply:
        return self.page("stopped.html", status, stopped=title, note=note)

    @property
    def shop_now(self) -> datetime:
        return local_time(self.now, self.tenant)

    @property
    def deadline(self) -> datetime:
        """For a payment that is made now."""
        return self.shop_now + SALE_LIFE

    def amount(self) -> int:
        return read_amount(self, self.tenant) if self.fixed is None else self.fixed


class TillRequest(CodeRequest):
    prefix = "/till/{token}"
    kind = SCAN

    async def find(self, token: str) -> Till | None:
        till = await self.backend.ask(records.by_token, token)
        if till is not None:
            self.label = till.name
        return till


class LinkRequest(CodeRequest):
    prefix = "/link/{token}"
    kind = LINK
    code: ReusableLink

    async def find(self, token: str) -> ReusableLink | None:
        link = await self.backend.ask(reusable_links.by_token, token)
        if link is not None:
            self.purpose, self.fixed = link.title, link.amount
        return link

    async def enter(self, access: Access) -> Reply | None:
        stopped = await super().enter(access)
        if stopped is None and not self.code.takes_payments(self.shop_now):
            return self.stopped(410, "link.ended", "link.ended_note")
        return stopped

    @property
    def deadline(self) -> datetime:
        """Nothing is paid after the end of the link."""
        usual, end = super().deadline, self.code.ends_at
        return usual if end is None else min(usual, end)


async def show(request: CodeRequest) -> Reply:
    if request.fixed is not None:
        return _ask(request, request.fixed)
    return request.page("amount.html", amount=request.form.get("amount", ""))


def _ask(request: CodeRequest, amount: int) -> Reply:
    return request.page("confirm.html", amount=amount, reference=new_reference(request.kind))


async def confirm(request: CodeRequest) -> Reply:
    return _ask(request, request.amount())


async def pay(request: CodeRequest) -> Reply:
    """Makes the payment, which the checkout shows; the same form again shows the same payment."""
    address = client_prefix(request.http.client)
    throttle(
        request,
        [
            throttle_bucket(TILL_SALES_PER_ADDRESS, "till sale", address),
            throttle_bucket(TILL_SALES, "till sales", request.code.id),
        ],
    )
    draft = PaymentDraft(
        request.form.get("reference", ""),
        request.amount(),
        title=request.purpose,
        terminal_label=request.label,
        expires_at=request.deadline,
    )
    made = await make_sale(request, request.tenant, request.kind, draft)
    return request.go(f"/pay/{made.token}")


async def show_code(request: CodeRequest) -> Reply:
    return codes.image(request.backend.origin, request.code)


ROUTES: Routes = [
    route
    for kind in (TillRequest, LinkRequest)
    for route in (
        PageRoute(kind, "", get=show, post=confirm),
        PageRoute(kind, "/pay", post=pay, page=show),
        PageRoute(kind, "/code", get=show_code),
    )
]
