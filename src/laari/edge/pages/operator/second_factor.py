"""The second factor of operators: required from the first log-in on."""

import base64

from laari.edge.pages.dashboard.second_factor import ISSUER, STARTED_AGAIN
from laari.edge.pages.login import code_problem
from laari.edge.pages.operator.request import (
    CODE,
    FACTOR,
    LOGIN,
    OperatorRequest,
    OperatorVisitor,
)
from laari.edge.pages.request import Problem
from laari.edge.pages.routes import PageRoute, Routes
from laari.edge.qr import qr_png
from laari.http.messages import Reply
from laari.rules.second_factor import otpauth_uri
from laari.store.people import second_factors
from laari.store.people.second_factors import CodeProblem


async def show_code(request: OperatorVisitor) -> Reply:
    return request.page("code.html") if await request.is_half_open() else request.go(LOGIN)


async def enter_code(request: OperatorVisitor) -> Reply | Problem:
    outcome = await request.enter_code(request.form.get("code", ""))
    if isinstance(outcome, CodeProblem):
        return code_problem(outcome)
    return request.go(request.wanted if outcome else LOGIN)


async def show(request: OperatorRequest) -> Reply:
    """The set-up; a factor that is on cannot be turned off by the person."""
    backend, whose = request.backend, request.person.whose
    factor = await backend.ask(second_factors.status, whose)
    seed = None
    if factor is None:
        seed = await backend.ask(
            second_factors.pending_seed, backend.master_key, whose, request.now
        )
    uri = None if seed is None else otpauth_uri(seed, request.person.email, ISSUER)
    image = None if uri is None else base64.b64encode(qr_png(uri)).decode()
    return request.page("factor.html", factor=factor, seed=seed, uri=uri, image=image)


async def begin(request: OperatorRequest) -> Reply | Problem:
    if request.person.has_factor:
        return STARTED_AGAIN
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


async def confirm_set_up(request: OperatorRequest) -> Reply | Problem:
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
    return request.page("recovery_codes.html", codes=outcome)


ROUTES: Routes = [
    PageRoute(
        OperatorVisitor, CODE.removeprefix("/operator"), get=show_code, post=enter_code, own=True
    ),
    PageRoute(OperatorRequest, FACTOR, get=show, post=begin, own=True),
    PageRoute(OperatorRequest, f"{FACTOR}/confirm", post=confirm_set_up, page=show, own=True),
]
