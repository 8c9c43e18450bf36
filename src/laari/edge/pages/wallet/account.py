"""Logging in and out of the wallet application, here or everywhere, and the password."""

import re

from laari.edge.pages.language import ENGLISH
from laari.edge.pages.login import STATUSES, Problem, log_in_customer
from laari.edge.pages.password import change_password
from laari.edge.pages.visit import Visit, page_route
from laari.edge.pages.wallet.frame import PASSWORD, app_page, app_route
from laari.http.messages import Reply
from laari.rules.records import Mode
from laari.store.people import logins
from laari.store.people.sessions import CustomerSession

_OUR_PAGE = re.compile(r"/app(/[A-Za-z0-9_-]+){0,3}", re.ASCII)


def _wanted(page: str) -> str:
    """Where to go after the log-in: only ever one of our own pages."""
    return page if _OUR_PAGE.fullmatch(page) else "/app"


def _login_page(
    visit: Visit, mode: Mode, wanted: str, status: int = 200, problem: Problem | None = None
) -> Reply:
    return visit.page(
        "app/login.html",
        status,
        mode=mode,
        wanted=_wanted(wanted),
        problem=problem,
        identity=visit.form.get("identity", ""),
    )


def _mode(text: str | None) -> Mode:
    return "sandbox" if text == "sandbox" else "live"


async def show_login(visit: Visit) -> Reply:
    visit.language = ENGLISH
    wanted = visit.query.get("next", "")
    if await visit.customer() is not None:
        return visit.go(_wanted(wanted))
    return _login_page(visit, _mode(visit.query.get("mode")), wanted)


async def log_in(visit: Visit) -> Reply:
    visit.language = ENGLISH
    mode, wanted = _mode(visit.form.get("mode")), visit.form.get("next", "")
    problem = await log_in_customer(visit, mode)
    if problem is None:
        return visit.go(f"{PASSWORD}?first=1" if visit.has_first_password else _wanted(wanted))
    return _login_page(visit, mode, wanted, STATUSES[problem], problem)


async def log_out(visit: Visit, customer: CustomerSession) -> Reply:
    await visit.end_session()
    return visit.go(f"/app/login?mode={customer.mode}")


async def log_out_everywhere(visit: Visit, customer: CustomerSession) -> Reply:
    """For a telephone that was lost, or a browser that one forgot to leave."""
    await visit.backend.write(logins.end_all, customer.whose)
    return await log_out(visit, customer)


async def show_password(visit: Visit, customer: CustomerSession) -> Reply:
    changed, first = visit.query.get("done") == "changed", "first" in visit.query
    return _password_page(visit, customer, changed=changed, first=first)


def _password_page(
    visit: Visit,
    customer: CustomerSession,
    status: int = 200,
    *,
    changed: bool = False,
    first: bool = False,
    problem: str | None = None,
) -> Reply:
    return app_page(
        visit, customer, "password", status, changed=changed, first=first, problem=problem
    )


async def set_password(visit: Visit, customer: CustomerSession) -> Reply:
    wrong = await change_password(visit, customer)
    if wrong is None:
        return visit.go(f"{PASSWORD}?done=changed")
    return _password_page(visit, customer, wrong.status, problem=wrong.words)


ROUTES = [
    page_route("/app/login", get=show_login, post=log_in),
    app_route("/app/logout", post=log_out, first=True),
    app_route("/app/logout/everywhere", post=log_out_everywhere, first=True),
    app_route(PASSWORD, get=show_password, post=set_password, first=True),
]
