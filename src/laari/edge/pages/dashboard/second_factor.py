"""The second factor: the code after the password, set-up, recovery codes, and turning it off."""

import base64

from laari.edge.pages.dashboard.people import problem_of
from laari.edge.pages.dashboard.request import (
    ACCOUNT,
    CODE,
    FACTOR,
    LOGIN,
    DashboardRequest,
    DashboardVisitor,
)
from laari.edge.pages.login import code_problem
from laari.edge.pages.request import FormProblem, Problem
from laari.edge.pages.routes import PageRoute, Routes
from laari.edge.qr import qr_png
from laari.http.messages import Reply
from laari.rules.second_factor import otpauth_uri
from laari.store.people import memberships, second_factors
from laari.store.people.memberships import MembershipError
from laari.store.people.second_factors import CodeProblem

ISSUER = "Laari"
STARTED_AGAIN = FormProblem(
    409, "The set-up has expired, or another tab has finished it. Start again."
)
REQUIRED = FormProblem(
    409, "You work for somebody who requires a second factor, so it cannot be turned off."
)
OWN_FIRST = FormProblem(409, "Set up your own second factor first.")


# The second step of the log-in.


async def show_code(request: DashboardVisitor) -> Reply:
    if not await request.is_half_open():
        return request.go(LOGIN)
    return request.page("code.html", action=CODE)


async def enter_code(request: DashboardVisitor) -> Reply | Problem:
    outcome = await request.enter_code(request.form.get("code", ""))
    if isinstance(outcome, CodeProblem):
        return code_problem(outcome)
    return request.go(request.wanted if outcome else LOGIN)


# The set-up.


async def show(request: DashboardRequest) -> Reply:
    whose = request.person.whose
    factor = await request.backend.ask(second_factors.status, whose)
    seed = None
    if factor is None:
        seed = await request.backend.ask(
            second_factors.pending_seed, request.backend.master_key, whose, request.now
        )
    uri = None if seed is None else otpauth_uri(seed, request.person.email, ISSUER)
    image = None if uri is None else base64.b64encode(qr_png(uri)).decode()
    return request.page("factor.html", factor=factor, seed=seed, uri=uri, image=image)


async def begin(request: DashboardRequest) -> Reply | Problem:
    if problem := await request.confirm():
        return problem
    await request.backend.write(
        second_factors.begin,
        request.actor,
        request.backend.master_key,
        request.person.whose,
        request.now,
    )
    return request.redirect(FACTOR)


async def confirm_set_up(request: DashboardRequest) -> Reply | Problem:
    outcome = await request.backend.write(
        second_factors.confirm,
        request.actor,
        request.backend.master_key,
        request.person.whose,
        request.form.get("code", ""),
        request.now,
        request.person.digest,
    )
    if outcome is None:
        return STARTED_AGAIN
    if isinstance(outcome, CodeProblem):
        return code_problem(outcome)
    return request.page("recovery_codes.html", codes=outcome, is_new=True)


async def ask_renewal(request: DashboardRequest) -> Reply:
    return _page_with_factor(request, "renew_codes.html")


async def renew(request: DashboardRequest) -> Reply | Problem:
    if problem := await request.confirm(always=True):
        return problem
    codes = await request.backend.write(
        second_factors.renew_recovery_codes,
        request.actor,
        request.backend.master_key,
        request.person.whose,
        request.now,
    )
    if not codes:
        return STARTED_AGAIN
    return request.page("recovery_codes.html", codes=codes, is_new=False)


async def ask_off(request: DashboardRequest) -> Reply:
    return _page_with_factor(request, "factor_off.html")


async def turn_off(request: DashboardRequest) -> Reply | Problem:
    if await request.backend.ask(second_factors.is_required, request.person.whose):
        return REQUIRED
    if problem := await request.confirm(always=True):
        return problem
    await request.backend.write(second_factors.remove, request.actor, request.person.whose)
    return request.redirect(ACCOUNT, done="factor_off")


def _page_with_factor(request: DashboardRequest, template: str) -> Reply:
    return request.page(template) if request.person.has_factor else request.redirect(FACTOR)


async def require(request: DashboardRequest) -> Reply | Problem:
    """An owner decides whether all people of the merchant need a second factor."""
    required = request.form.get("required") == "yes"
    if required and not request.person.has_factor:
        return OWN_FIRST
    if problem := await request.confirm(always=True):
        return problem
    try:
        await request.backend.write(
            memberships.require_factor, request.actor, request.merchant.id, required
        )
    except MembershipError as error:
        return problem_of(error)
    return request.redirect(FACTOR, done="required")


ROUTES: Routes = [
    PageRoute(DashboardVisitor, "/login/code", get=show_code, post=enter_code, own=True),
    PageRoute(DashboardRequest, FACTOR, get=show, post=begin, own=True),
    PageRoute(DashboardRequest, f"{FACTOR}/confirm", post=confirm_set_up, page=show, own=True),
    PageRoute(DashboardRequest, f"{FACTOR}/codes", get=ask_renewal, post=renew, own=True),
    PageRoute(DashboardRequest, f"{FACTOR}/off", get=ask_off, post=turn_off, own=True),
    PageRoute(
        DashboardRequest, f"{FACTOR}/required", post=require, page=show, needs="people.manage"
    ),
]
