"""A person's own account: log-in and log-out, password, sessions and the second factor.

The dashboard and the operator's desk have the same pages.
"""

import base64

from laari.edge.pages.login import WRONG, change_password, log_in_person
from laari.edge.pages.person import ACCOUNT, FACTOR, PersonRequest, PersonVisitor
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import PageRoute, Routes
from laari.edge.qr import qr_png
from laari.http.messages import Reply
from laari.rules.people.factor_codes import otpauth_uri
from laari.rules.people.second_factors import (
    BeginFactor,
    ConfirmFactor,
    RenewRecoveryCodes,
    TurnOffFactor,
)
from laari.rules.records.people import PersonId
from laari.rules.refusals import Refusal
from laari.store.counters import sessions
from laari.store.reads.people import message_choices, second_factors

ISSUER = "Laari"
WRONG_DETAILS = (
    "These details do not match a login. Check the address and the password, then try again."
)

# Log-in and log-out.


async def show_login(request: PersonVisitor) -> Reply:
    return request.page("login.html")


async def log_in(request: PersonVisitor) -> Reply:
    """A person who has no place in this area is refused like an unknown one."""
    try:
        login = await log_in_person(request)
    except RefusedForm as refused:
        if refused.problem.status != WRONG:
            raise
        raise RefusedForm(WRONG, WRONG_DETAILS) from None
    assert isinstance(login.whose, PersonId)
    if not await request.admits(login.whose):
        await request.end_session()
        raise RefusedForm(WRONG, WRONG_DETAILS)
    return request.go(
        f"{request.password_page}?first=1" if login.first_password else request.wanted
    )


async def show_code(request: PersonVisitor) -> Reply:
    return request.page("code.html") if await request.is_half_open() else request.go(request.login)


async def enter_code(request: PersonVisitor) -> Reply:
    outcome = await request.enter_code(request.form.get("code", ""))
    if isinstance(outcome, Refusal):
        raise RefusedForm.of_field(outcome)
    return request.go(request.wanted if outcome else request.login)


async def log_out(request: PersonVisitor) -> Reply:
    await request.end_session()
    return request.go(request.login)


async def log_out_everywhere(request: PersonRequest) -> Reply:
    """For a lost device, or a browser that was left open."""
    await request.backend.write(sessions.end_all, request.person.whose)
    return await log_out(request)


# Password and sessions.


async def show(request: PersonRequest) -> Reply:
    person = request.person
    listed = await request.backend.ask(sessions.list_of, person.whose, request.now, person.digest)
    factor = await request.backend.ask(second_factors.status, person.whose)
    choice = None  # the operator's people get no messages about money
    if request.gets_messages:
        choice = await request.backend.ask(message_choices.of, person.whose)
    return request.page("account.html", sessions=listed, factor=factor, choice=choice)


async def set_password(request: PersonRequest) -> Reply:
    await change_password(request, request.person, request.actor)
    return request.redirect(ACCOUNT, done="password")


async def end_session(request: PersonRequest) -> Reply:
    """A session of another person does not exist here."""
    ended = await request.backend.write(
        sessions.end_one, request.person.whose, request.params["id"]
    )
    return request.redirect(ACCOUNT, done="session") if ended else request.missing()


async def end_other_sessions(request: PersonRequest) -> Reply:
    await request.backend.write(sessions.end_others, request.person.whose, request.person.digest)
    return request.redirect(ACCOUNT, done="others")


# The second factor.


async def show_factor(request: PersonRequest) -> Reply:
    backend, whose = request.backend, request.person.whose
    factor = await backend.ask(second_factors.status, whose)
    seed = None
    if factor is None:
        seed = await backend.ask(
            second_factors.pending_seed,
            backend.master_key,
            whose,
            request.now,
            request.person.digest,
        )
    uri = None if seed is None else otpauth_uri(seed, request.person.email, ISSUER)
    image = None if uri is None else base64.b64encode(qr_png(uri)).decode()
    return request.page("factor.html", factor=factor, seed=seed, uri=uri, image=image)


async def begin(request: PersonRequest) -> Reply:
    await request.confirm()
    person = request.person
    await request.submit(BeginFactor(request.actor, person.whose, person.digest))
    return request.redirect(FACTOR)


async def confirm_set_up(request: PersonRequest) -> Reply:
    person, code = request.person, request.form.get("code", "")
    outcome = await request.backend.spine.submit(
        ConfirmFactor(request.actor, person.whose, person.digest, code)
    )
    if isinstance(outcome, Refusal):
        raise RefusedForm.of_field(outcome)
    return request.page("recovery_codes.html", codes=outcome, is_new=True)


async def ask_renewal(request: PersonRequest) -> Reply:
    return _page_with_factor(request, "renew_codes.html")


async def renew(request: PersonRequest) -> Reply:
    await request.confirm(always=True)
    codes = await request.submit(RenewRecoveryCodes(request.actor, request.person.whose))
    return request.page("recovery_codes.html", codes=codes, is_new=False)


async def ask_off(request: PersonRequest) -> Reply:
    return _page_with_factor(request, "factor_off.html")


async def turn_off(request: PersonRequest) -> Reply:
    await request.confirm(always=True)
    await request.submit(TurnOffFactor(request.actor, request.person.whose))
    return request.redirect(ACCOUNT, done="factor_off")


def _page_with_factor(request: PersonRequest, template: str) -> Reply:
    return request.page(template) if request.person.has_factor else request.redirect(FACTOR)


def routes(visitor: type[PersonVisitor], person: type[PersonRequest]) -> Routes:
    """The pages in one area, with its kinds of requests."""
    forms = {
        f"{ACCOUNT}/sessions/{{id}}": end_session,
        f"{ACCOUNT}/end-others": end_other_sessions,
        f"{ACCOUNT}/logout-everywhere": log_out_everywhere,
    }
    return [
        PageRoute(visitor, "/login", get=show_login, post=log_in, own=True),
        PageRoute(visitor, "/login/code", get=show_code, post=enter_code, own=True),
        PageRoute(visitor, "/logout", post=log_out, own=True),
        PageRoute(person, ACCOUNT, get=show, post=set_password, own=True),
        *(PageRoute(person, path, post=form, own=True) for path, form in forms.items()),
        PageRoute(person, FACTOR, get=show_factor, post=begin, own=True),
        PageRoute(person, f"{FACTOR}/confirm", post=confirm_set_up, page=show_factor, own=True),
        PageRoute(person, f"{FACTOR}/codes", get=ask_renewal, post=renew, own=True),
        PageRoute(person, f"{FACTOR}/off", get=ask_off, post=turn_off, own=True),
    ]
