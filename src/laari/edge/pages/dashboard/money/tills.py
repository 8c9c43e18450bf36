"""Tills: their sums since the last closing, the form that closes one, and closings to print."""

from laari.edge.pages.dashboard.money.closings import close_till, closer, shown_id
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.person import long
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.records.tills import OpenTill
from laari.rules.refusals import Refusal
from laari.store.reads.listing import Position
from laari.store.reads.merchants import applications
from laari.store.reads.money import tills
from laari.store.reads.tills import records

PAGE = 50  # closings
_LISTING = "till closings"


@long
async def show_list(request: DashboardRequest) -> Reply:
    ask, tenant_id = request.backend.ask, request.tenant.id
    after = request.backend.cursors.read(_LISTING, tenant_id, request.query.get("after", ""))
    found, older = await ask(
        tills.closings, tenant_id, request.till, PAGE, after and Position(*after)
    )
    cursor = older and request.backend.cursors.make(_LISTING, tenant_id, *older)
    return await request.long_page(
        "tills.html",
        registered=await _registered(request),
        open_tills=await ask(tills.show_open, tenant_id, request.till),
        closings=found,
        closing_id=shown_id,
        closer=closer,
        older=cursor and f"after={cursor}",
        written=request.query,
    )


async def _registered(request: DashboardRequest) -> list[records.ListedTill]:
    """For people who manage them."""
    if not request.may("tills.manage"):
        return []
    return await request.backend.ask(records.of_tenant, request.tenant.id, request.now)


async def _find_open(request: DashboardRequest) -> OpenTill | None:
    """The till in the address or in the form; a cashier has only one."""
    source = request.form if request.http.method == "POST" else request.query
    name = source.get("till", request.till or "").strip()
    if request.till not in (None, name):
        return None
    found = await request.backend.ask(tills.show_open, request.tenant.id, name)
    return found[0] if found else None


async def ask(request: DashboardRequest) -> Reply:
    found = await _find_open(request)
    if found is None:
        return request.missing()
    return request.page("close_till.html", till=found, written=request.form)


async def close(request: DashboardRequest) -> Reply:
    found = await _find_open(request)
    if found is None:
        return request.missing()
    outcome = await close_till(request, request.tenant, found.till, request.actor)
    if isinstance(outcome, Refusal):
        raise RefusedForm.of(outcome)
    done = "closed_already" if outcome.again else "closed"
    return request.redirect(f"/tills/closings/{shown_id(outcome.closing)}", done=done)


async def show(request: DashboardRequest) -> Reply:
    id = ids.read_id(ids.TILL_CLOSING, request.params["id"])
    ask, tenant_id = request.backend.ask, request.tenant.id
    found = None if id is None else await ask(tills.closing, tenant_id, id)
    if found is None or request.till not in (None, found.till):
        return request.missing()
    before = await ask(tills.numbered, tenant_id, found.till, found.number - 1)
    return request.page(
        "till_closing.html",
        closing=found,
        closer=closer(found),
        profile=await ask(applications.profile_of, request.merchant.id),
        before=before,
        closing_id=shown_id,
    )


ROUTES = [
    PageRoute(DashboardRequest, "/tills", get=show_list, needs="payments.read"),
    PageRoute(DashboardRequest, "/tills/close", get=ask, post=close, needs="tills.close"),
    PageRoute(DashboardRequest, "/tills/closings/{id}", get=show, needs="payments.read"),
]
