"""Reusable links: made, shown to print or send, and ended."""

from laari.edge import codes
from laari.edge.pages.dashboard.by_hand.typed import read_amount, read_moment
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.request import read_count
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.limits.payments import MAX_PAYMENT_AMOUNT
from laari.rules.merchants.links import CreateReusableLink, EndReusableLink
from laari.rules.records.merchants import ReusableLink
from laari.store.reads.merchants import reusable_links


def _page_of(link: ReusableLink) -> str:
    return f"/links/{ids.show_id(ids.REUSABLE_LINK, link.id)}"


async def _find(request: DashboardRequest) -> ReusableLink | None:
    link_id = ids.read_id(ids.REUSABLE_LINK, request.params["id"])
    if link_id is None:
        return None
    return await request.backend.ask(reusable_links.find, request.tenant.id, link_id)


async def show_list(request: DashboardRequest) -> Reply:
    links = await request.backend.ask(reusable_links.open_links, request.tenant.id)
    return request.page("links.html", links=links, now=request.tenant_now, written=request.form)


async def create(request: DashboardRequest) -> Reply:
    amount = _amount(request.form)
    ends_at = read_moment(request.form, "ends_at", "The end")
    title = request.form.get("title", "").strip()
    count = read_count(request.form.get("count", ""))
    command = CreateReusableLink(
        request.actor, request.tenant, title, amount, ends_at, if_count=count
    )
    link = await request.submit(command)
    return request.redirect(_page_of(link), done="link")


def _amount(form: dict[str, str]) -> int | None:
    """Empty: the customer types it."""
    if not form.get("amount", "").strip():
        return None
    return read_amount(form, "amount", "The amount", MAX_PAYMENT_AMOUNT)


async def show(request: DashboardRequest) -> Reply:
    link = await _find(request)
    if link is None:
        return request.missing()
    return request.page(
        "link.html",
        link=link,
        path=_page_of(link),
        address=codes.address(request.backend.origin, link),
        is_open=link.takes_payments(request.tenant_now),
    )


async def end(request: DashboardRequest) -> Reply:
    link = await _find(request)
    if link is None:
        return request.missing()
    await request.submit(EndReusableLink(request.actor, request.tenant, link.id))
    return request.redirect(_page_of(link), done="link_ended")


ROUTES = [
    PageRoute(DashboardRequest, "/links", get=show_list, needs="links.manage"),
    PageRoute(DashboardRequest, "/links/new", post=create, page=show_list, needs="links.manage"),
    PageRoute(DashboardRequest, "/links/{id}", get=show, needs="links.manage"),
    PageRoute(DashboardRequest, "/links/{id}/end", post=end, page=show, needs="links.manage"),
]
