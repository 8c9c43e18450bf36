"""Logging in to the dashboard, and out."""

from laari.edge.pages.dashboard.desk import ACCOUNT, HOME, LOGIN, SIGN_UP, local_path
from laari.edge.pages.language import ENGLISH
from laari.edge.pages.login import STATUSES, Problem, log_in_user
from laari.edge.pages.visit import Visit, page_route
from laari.http.messages import Reply
from laari.store.people import merchants


async def home(visit: Visit) -> Reply:
    """Leads to the mode in which the merchant's credentials act."""
    user = await visit.user()
    if user is None:
        return visit.go(LOGIN)
    merchant = await visit.backend.ask(merchants.show, user.merchant_id)
    return visit.go(f"{HOME}/{merchant.mode}")


async def show(visit: Visit) -> Reply:
    return _login_page(visit, local_path(visit.query.get("next", HOME)))


async def log_in(visit: Visit) -> Reply:
    visit.language = ENGLISH
    following = local_path(visit.form.get("next", HOME))
    problem = await log_in_user(visit)
    if problem is None:
        return visit.go(f"{HOME}/live{ACCOUNT}?first=1" if visit.has_first_password else following)
    return _login_page(visit, following, problem)


def _login_page(visit: Visit, following: str, problem: Problem | None = None) -> Reply:
    visit.language = ENGLISH
    return visit.page(
        "dashboard/login.html",
        200 if problem is None else STATUSES[problem],
        following=following,
        identity=visit.form.get("identity", ""),
        problem=problem,
        signup=SIGN_UP if visit.backend.settings.sandbox_signup else None,
    )


async def log_out(visit: Visit) -> Reply:
    await visit.end_session()
    return visit.go(LOGIN)


ROUTES = [
    page_route(HOME, get=home, audience="user"),
    page_route(LOGIN, get=show, post=log_in, audience="user"),
    page_route(f"{HOME}/logout", post=log_out, audience="user"),
]
