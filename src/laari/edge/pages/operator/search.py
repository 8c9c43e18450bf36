"""The first page of the desk: one search field with everything that fits, and what waits."""

from laari.edge.pages.dashboard.refunds import REASONS
from laari.edge.pages.dashboard.timeline import timeline
from laari.edge.pages.operator.inbox import waits
from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.person import long
from laari.edge.pages.request import FormProblem
from laari.edge.pages.routes import PageRoute
from laari.edge.resources import PAYMENTS
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.day_ranges import read_day
from laari.rules.lifecycle import shown_state
from laari.rules.money import read_rufiyaa
from laari.rules.records.tenants import MODES, local_time
from laari.store.merchants import merchants
from laari.store.reads import payment_history, refunds, tenants
from laari.store.reads.find import LONGEST, Finds, find, payments_of_amount

MOST_FOUND = 50


@long
async def show(request: OperatorRequest) -> Reply:
    sought = request.query.get("q", "").strip()[:LONGEST]
    backend = request.backend
    if not sought:
        return request.page(
            "home.html",
            sought="",
            found=None,
            state_of=shown_state,
            waits=await waits(request),
        )
    async with request.searching():
        found = await backend.ask(
            find, sought, MOST_FOUND, vpa_suffixes=backend.settings.vpa_suffixes
        )
    single = _only(found)
    if single is not None:
        return request.redirect(single)
    return await request.long_page(
        "home.html", sought=sought, found=found, state_of=shown_state, waits=[]
    )


def _only(found: Finds) -> str | None:
    """The page of the only thing that was found."""
    pages = [f"/customers/{ids.show_id(ids.CUSTOMER, each)}" for each in found.customers]
    pages += [f"/merchants/{each}" for each in found.merchants]
    pages += [f"/payments/{ids.show_id(ids.PAYMENT, each)}" for each in found.payments]
    others = (found.requests, found.authorizations, found.transactions, found.payouts, found.lines)
    return pages[0] if len(pages) == 1 and not any(others) else None


@long
async def show_amount(request: OperatorRequest) -> Reply:
    """Payments of one amount, within a merchant and a day."""
    merchant_id, mode = request.query.get("merchant", ""), request.query.get("mode", "live")
    amount = read_rufiyaa(request.query.get("amount", ""))
    day = read_day(request.query.get("day", ""))
    if mode not in MODES or await request.backend.ask(merchants.find, merchant_id) is None:
        return request.missing()
    tenant = await request.backend.ask(tenants.in_mode, merchant_id, mode)
    if amount is None or day is None:
        request.problem = FormProblem(422, "Enter an amount such as 125.50 and a day.")
        return request.page("home.html", sought="", found=None, state_of=shown_state, waits=[])
    rows = []
    if tenant is not None:
        rows = await request.backend.ask(payments_of_amount, tenant.id, amount, day, MOST_FOUND + 1)
    found = Finds() if tenant is None else Finds.of_payments(rows, tenant, MOST_FOUND)
    return await request.long_page(
        "home.html", sought=request.query["amount"], found=found, state_of=shown_state, waits=[]
    )


@long
async def show_payment(request: OperatorRequest) -> Reply:
    payment_id = ids.read_id(ids.PAYMENT, request.params["id"])
    payment = None if payment_id is None else await request.backend.payments.get(payment_id)
    if payment is None:
        return request.missing()
    tenant = await request.backend.tenants.get(payment.tenant_id)
    assert tenant is not None
    refunded = await request.backend.ask(refunds.of_payment, payment.id)
    return await request.long_page(
        "payment.html",
        payment=payment,
        tenant=tenant,
        shape=PAYMENTS.show(payment, request.backend),
        state=shown_state(payment, local_time(request.now, tenant)),
        refunds=refunded,
        actor_of=_actor,
        reasons=REASONS,
        attempts=await request.backend.ask(payment_history.failed_attempts_at, payment.id),
        entries=await timeline(request, tenant, payment, refunded, _actor),
    )


def _actor(kind: str, name: str) -> str:
    return f"API, {name}" if kind == "credential" else name


ROUTES = [
    PageRoute(OperatorRequest, "", get=show, needs="customers.read"),
    PageRoute(OperatorRequest, "/amounts", get=show_amount, needs="merchants.read"),
    PageRoute(OperatorRequest, "/payments/{id}", get=show_payment, needs="payments.read"),
]
