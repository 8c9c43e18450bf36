"""The static code of a till: the customer types the amount, confirms it and pays.

A payment exists only after the confirmation, so a scan alone leaves nothing behind.
"""

from laari.edge import codes
from laari.edge.load.token_buckets import throttle_bucket
from laari.edge.pages.login import throttle
from laari.edge.pages.request import Access, FormProblem, PageRequest, Problem
from laari.edge.pages.routes import PageRoute, Routes
from laari.edge.pages.tills.counter import make_sale, read_amount
from laari.edge.pages.tills.references import SCAN, new_reference
from laari.http.addresses import client_prefix
from laari.http.messages import Reply
from laari.rules import terms
from laari.rules.ids import is_token
from laari.rules.records import Payment, Tenant, Till
from laari.rules.world import local_time
from laari.store.reads.tills import records


class TillRequest(PageRequest):
    """Anybody who has scanned the code of a till."""

    prefix = "/till/{token}"
    till: Till
    tenant: Tenant

    async def enter(self, access: Access) -> Reply | None:
        token = self.params["token"]
        till = await self.backend.ask(records.by_token, token) if is_token(token) else None
        tenant = None if till is None else await self.backend.tenants.get(till.tenant_id)
        if till is None or tenant is None:
            return self.no_such_page()
        self.till, self.tenant = till, tenant
        return None if tenant.active else self.page("till_closed.html", 403)


async def show(request: TillRequest) -> Reply:
    return request.page("till_amount.html", amount=request.form.get("amount", ""))


async def confirm(request: TillRequest) -> Reply | Problem:
    amount = read_amount(request, request.tenant)
    if isinstance(amount, FormProblem):
        return amount
    return request.page("till_confirm.html", amount=amount, reference=new_reference(SCAN))


async def pay(request: TillRequest) -> Reply | Problem:
    """Makes the payment, which the checkout shows; the same form again shows the same payment."""
    address = client_prefix(request.http.client)
    throttle(
        request,
        [
            throttle_bucket(terms.TILL_SALES_PER_ADDRESS, "till sale", address),
            throttle_bucket(terms.TILL_SALES, "till sales", request.till.id),
        ],
    )
    now = local_time(request.now, request.tenant)
    made = await make_sale(request, request.tenant, now, request.till.name, SCAN)
    return request.go(f"/pay/{made.token}") if isinstance(made, Payment) else made


async def show_code(request: TillRequest) -> Reply:
    return codes.of_till(request.backend.origin, request.till)


ROUTES: Routes = [
    PageRoute(TillRequest, "", get=show, post=confirm),
    PageRoute(TillRequest, "/pay", post=pay, page=show),
    PageRoute(TillRequest, "/code", get=show_code),
]
