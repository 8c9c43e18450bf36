"""Log-in and log-out of the desk, and the password."""

from laari.edge.pages.login import change_password, log_in_person
from laari.edge.pages.operator.request import (
    ACCOUNT,
    LOGIN,
    OperatorRequest,
    OperatorVisitor,
)
from laari.edge.pages.request import FormProblem, Problem
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.store.people import memberships
from laari.store.people.logins import PersonId

WRONG = FormProblem(
    422, "These details do not match a login. Check the address and the password, then try again."
)


async def show_login(request: OperatorVisitor) -> Reply:
    return request.page("login.html")


async def log_in(request: OperatorVisitor) -> Reply | Problem:
    """A person of a merchant alone is refused like an unknown one."""
    outcome = await log_in_person(request)
    if isinstance(outcome, FormProblem):
        return WRONG if outcome.status == 422 else outcome
    assert isinstance(outcome.whose, PersonId)
    every = await request.backend.ask(memberships.of_person, outcome.whose)
    if all(each.merchant_id is not None for each in every):
        await request.end_session()
        return WRONG
    if outcome.first_password:
        return request.go(f"/operator{ACCOUNT}?first=1")
    return request.go(request.wanted)


async def log_out(request: OperatorVisitor) -> Reply:
    await request.end_session()
    return request.go(LOGIN)


async def show(request: OperatorRequest) -> Reply:
    return request.page("account.html")


async def set_password(request: OperatorRequest) -> Reply | Problem:
    problem = await change_password(request, request.person, request.actor)
    return problem or request.redirect(ACCOUNT, done="password")


ROUTES: Routes = [
    PageRoute(OperatorVisitor, "/login", get=show_login, post=log_in, own=True),
    PageRoute(OperatorVisitor, "/logout", post=log_out, own=True),
    PageRoute(OperatorRequest, ACCOUNT, get=show, post=set_password, own=True),
]
