"""Log-in and log-out of the dashboard, here or everywhere, and the password."""

from laari.edge.pages.dashboard.request import (
    ACCOUNT,
    CODE,
    HOME,
    LOGIN,
    SIGN_UP,
    DashboardRequest,
    DashboardVisitor,
    home_of,
)
from laari.edge.pages.login import change_password, log_in_person
from laari.edge.pages.request import FormProblem, Problem
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.store.people import logins, second_factors, sessions

WRONG = "These details do not match a login. Check the address and the password, then try again."


async def home(request: DashboardVisitor) -> Reply:
    """Redirects to a merchant, in the mode in which its credentials act."""
    person = await request.find_person()
    if person is None:
        return request.go(CODE if await request.is_half_open() else LOGIN)
    merchant = await request.first_merchant(person)
    if merchant is None:
        return request.page("no_merchant.html", 403)
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


async def show_login(request: DashboardVisitor) -> Reply:
    signup = SIGN_UP if request.backend.settings.sandbox_signup else None
    return request.page("login.html", signup=signup)


async def log_in(request: DashboardVisitor) -> Reply | Problem:
    outcome = await log_in_person(request)
    if isinstance(outcome, FormProblem):
        return outcome._replace(message=WRONG) if outcome.status == 422 else outcome
    if outcome.first_password:
        return request.go(f"{HOME}/live{ACCOUNT}?first=1")
    return request.go(request.wanted)


async def log_out(request: DashboardVisitor) -> Reply:
    await request.end_session()
    return request.go(LOGIN)


async def log_out_everywhere(request: DashboardRequest) -> Reply:
    """For a lost device, or a browser that was left open."""
    await request.backend.write(logins.end_all, request.person.whose)
    return await log_out(request)


async def show(request: DashboardRequest) -> Reply:
    person = request.person
    listed = await request.backend.ask(sessions.list_of, person.whose, request.now, person.digest)
    factor = await request.backend.ask(second_factors.status, person.whose)
    return request.page("account.html", sessions=listed, factor=factor)


async def end_session(request: DashboardRequest) -> Reply:
    """A session of another person does not exist here."""
    ended = await request.backend.write(
        sessions.end_one, request.person.whose, request.params["id"]
    )
    return request.redirect(ACCOUNT, done="session") if ended else request.missing()


async def end_other_sessions(request: DashboardRequest) -> Reply:
    await request.backend.write(sessions.end_others, request.person.whose, request.person.digest)
    return request.redirect(ACCOUNT, done="others")


async def show_merchants(request: DashboardRequest) -> Reply:
    return request.page("merchants.html")


async def set_password(request: DashboardRequest) -> Reply | Problem:
    problem = await change_password(request, request.person, request.actor)
    return problem or request.redirect(ACCOUNT, done="password")


ROUTES: Routes = [
    PageRoute(DashboardVisitor, "", get=home, own=True),
    PageRoute(DashboardVisitor, "/login", get=show_login, post=log_in, own=True),
    PageRoute(DashboardVisitor, "/logout", post=log_out, own=True),
    PageRoute(DashboardRequest, "/merchants", get=show_merchants, own=True),
    PageRoute(DashboardRequest, ACCOUNT, get=show, post=set_password, own=True),
    PageRoute(DashboardRequest, f"{ACCOUNT}/sessions/{{id}}", post=end_session, own=True),
    PageRoute(DashboardRequest, f"{ACCOUNT}/end-others", post=end_other_sessions, own=True),
    PageRoute(DashboardRequest, f"{ACCOUNT}/logout-everywhere", post=log_out_everywhere, own=True),
]

# Not for the router: every address below it is meant, and a merchant's id is never a mode.
WITHOUT_MERCHANT = PageRoute(DashboardVisitor, "/{mode}", get=go_on, post=go_on, own=True)
