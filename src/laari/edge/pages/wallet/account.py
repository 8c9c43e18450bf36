"""Logging in and out of the wallet application, and the password."""

from __future__ import annotations

import re

from starlette.responses import Response

from laari.edge.pages.language import ENGLISH
from laari.edge.pages.login import (
    MAX_PASSWORD,
    STATUSES,
    Problem,
    change_password,
    confirm_failed,
    confirm_password,
    log_in_customer,
)
from laari.edge.pages.visit import Visit, page_route
from laari.edge.pages.wallet.frame import app_page, app_route
from laari.rules.records import Mode
from laari.store.sessions import CustomerSession

MIN_PASSWORD = 10  # characters

_OUR_PAGE = re.compile(r"/app(/[A-Za-z0-9_-]+){0,3}", re.ASCII)


def _wanted(page: str) -> str:
    """Where to go after the log-in: only ever one of our own pages."""
    return page if _OUR_PAGE.fullmatch(page) else "/app"


def _login_page(
    visit: Visit, mode: Mode, wanted: str, status: int = 200, problem: Problem | None = None
) -> Response:
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


async def show_login(visit: Visit) -> Response:
    visit.language = ENGLISH
    wanted = visit.query.get("next", "")
    if await visit.customer() is not None:
        return visit.go(_wanted(wanted))
    return _login_page(visit, _mode(visit.query.get("mode")), wanted)


async def log_in(visit: Visit) -> Response:
    visit.language = ENGLISH
    mode, wanted = _mode(visit.form.get("mode")), visit.form.get("next", "")
    problem = await log_in_customer(visit, mode)
    if problem is None:
        return visit.go(_wanted(wanted))
    return _login_page(visit, mode, wanted, STATUSES[problem], problem)


async def log_out(visit: Visit, customer: CustomerSession) -> Response:
    await visit.end_session()
    return visit.go(f"/app/login?mode={customer.mode}")


async def show_password(visit: Visit, customer: CustomerSession) -> Response:
    changed = visit.query.get("done") == "changed"
    return app_page(visit, customer, "password", changed=changed, problem=None)


async def set_password(visit: Visit, customer: CustomerSession) -> Response:
    new, repeated = visit.form.get("new", ""), visit.form.get("repeated", "")
    problem: str | None = None
    status = 422
    if not MIN_PASSWORD <= len(new) <= MAX_PASSWORD:
        problem = f"The new password needs at least {MIN_PASSWORD} characters."
    elif new != repeated:
        problem = "The new password and its repetition are not the same."
    elif new == visit.form.get("password"):
        problem = "The new password is the one you have already."
    else:
        wrong = await confirm_password(visit, customer)
        if wrong is not None:
            problem, status = confirm_failed(visit, wrong), STATUSES[wrong]
    if problem is not None:
        return app_page(visit, customer, "password", status, changed=False, problem=problem)
    await change_password(visit, customer, new)
    return visit.go("/app/password?done=changed")


ROUTES = [
    page_route("/app/login", get=show_login, post=log_in),
    app_route("/app/logout", post=log_out),
    app_route("/app/password", get=show_password, post=set_password),
]
