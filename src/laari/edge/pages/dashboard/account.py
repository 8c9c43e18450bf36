"""Log-in and log-out of the dashboard, here or everywhere, and the password."""

from laari.edge.pages.dashboard.request import (
    ACCOUNT,
    HOME,
    LOGIN,
    SIGN_UP,
    DashboardRequest,
    DashboardVisitor,
)
from laari.edge.pages.login import change_password, log_in_person
from laari.edge.pages.request import FormProblem, Problem
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.store.people import logins, merchants

WRONG = "These details do not match a login. Check the address and the password, then try again."


async def home(request: DashboardVisitor) -> Reply:
    """Redirects to the mode in which the merchant's credentials act."""
    person = await request.find_person()
    found = {} if person is None else await request.merchants_of(person)
    if not found:
        return request.go(LOGIN)
    merchant = await request.backend.ask(merchants.show, next(iter(found)))
    return request.go(f"{HOME}/{merchant.mode}")


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
    return request.page("account.html")


async def set_password(request: DashboardRequest) -> Reply | Problem:
    problem = await change_password(request, request.person)
    return problem or request.redirect(ACCOUNT, done="password")


ROUTES: Routes = [
    PageRoute(DashboardVisitor, "", get=home),
    PageRoute(DashboardVisitor, "/login", get=show_login, post=log_in),
    PageRoute(DashboardVisitor, "/logout", post=log_out),
    PageRoute(DashboardRequest, ACCOUNT, get=show, post=set_password, own=True),
    PageRoute(DashboardRequest, f"{ACCOUNT}/logout-everywhere", post=log_out_everywhere, own=True),
]
