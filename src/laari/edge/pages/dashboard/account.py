"""The start of the dashboard, a person's own account, and the required second factor."""

from laari.edge.pages import own_account, own_messages
from laari.edge.pages.dashboard.request import (
    HOME,
    DashboardRequest,
    DashboardVisitor,
    home_of,
)
from laari.edge.pages.person import ACCOUNT, FACTOR
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.merchants.merchant_settings import RequireFactor
from laari.store.merchants import merchants


async def home(request: DashboardVisitor) -> Reply:
    """Redirects to a merchant, in the mode in which its credentials act."""
    person = await request.find_person()
    if person is None:
        return request.go(request.code_page if await request.is_half_open() else request.login)
    merchant = await request.first_merchant(person)
    if merchant is None:
        return request.page("no_merchant.html", 403)
    return request.go(home_of(merchant.id, merchant.mode))


async def home_of_one(request: DashboardVisitor) -> Reply:
    """Redirects the address of a merchant without a mode."""
    merchant_id = request.params["merchant"]
    if not merchant_id.startswith(ids.MERCHANT):
        return request.no_such_page()
    person = await request.find_person()
    if person is None:
        return await request.to_login()
    if merchant_id not in await request.merchants_of(person):
        return request.no_such_page()
    merchant = await request.backend.ask(merchants.show, merchant_id)
    return request.go(home_of(merchant.id, merchant.mode))


async def go_on(request: DashboardVisitor) -> Reply:
    """Redirects an address without the merchant, `/dashboard/live/…`, with the same method."""
    person = await request.find_person()
    if person is None:
        return await request.to_login()
    merchant = await request.first_merchant(person)
    if merchant is None:
        return request.page("no_merchant.html", 403)
    rest = request.path.removeprefix(HOME)
    query = f"?{request.http.query.decode('latin-1')}" if request.http.query else ""
    return request.go(f"{HOME}/{merchant.id}{rest}{query}", 307)


async def show_merchants(request: DashboardRequest) -> Reply:
    return request.page("merchants.html")


async def require_factor(request: DashboardRequest) -> Reply:
    """An owner decides whether all people of the merchant need a second factor."""
    required = request.form.get("required") == "yes"
    if required and not request.person.has_factor:
        raise RefusedForm(409, "Set up your own second factor first.")
    await request.confirm(always=True)
    await request.submit(RequireFactor(request.actor, request.merchant.id, required))
    return request.redirect(FACTOR, done="required")


async def choose_messages(request: DashboardRequest) -> Reply:
    await own_messages.choose(request, request.actor, request.person.whose)
    return request.redirect(ACCOUNT, done="messages")


ROUTES: Routes = [
    PageRoute(DashboardVisitor, "", get=home, own=True),
    PageRoute(DashboardVisitor, "/{merchant}", get=home_of_one, own=True),
    *own_account.routes(DashboardVisitor, DashboardRequest),
    PageRoute(
        DashboardRequest,
        f"{ACCOUNT}/messages",
        post=choose_messages,
        page=own_account.show,
        own=True,
    ),
    PageRoute(DashboardRequest, "/merchants", get=show_merchants, own=True),
    PageRoute(
        DashboardRequest,
        f"{FACTOR}/required",
        post=require_factor,
        page=own_account.show_factor,
        needs="people.manage",
    ),
]

# Not for the router: every address below it is meant, and a merchant's id is never a mode.
WITHOUT_MERCHANT = PageRoute(DashboardVisitor, "/{mode}", get=go_on, post=go_on, own=True)
