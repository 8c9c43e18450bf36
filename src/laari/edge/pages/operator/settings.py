"""Settings of the service: bank holidays, tiers of wallets, and the operator's own people."""

import secrets
from typing import get_args

from laari.edge.pages.login import hash_in_queue
from laari.edge.pages.operator.forms import plain_form
from laari.edge.pages.operator.request import OperatorRequest, hand_over_link
from laari.edge.pages.person import long
from laari.edge.pages.request import FormProblem, Problem
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.operations.fields import NO_LIMIT
from laari.operations.settings import (
    REMOVE,
    REMOVE_HOLIDAY,
    SET_HOLIDAY,
    SET_ROLE,
    SET_TIER,
)
from laari.rules.calendar import local_day
from laari.rules.people.contacts import read_email
from laari.rules.people.memberships import AddMember
from laari.rules.people.persons import NewLogin
from laari.rules.records.people import OperatorRole, PersonId
from laari.store.reads.money import payouts
from laari.store.reads.people import memberships
from laari.store.reads.tiers import LIMITS, all_tiers

PAGE = "/settings"
ROLES: dict[OperatorRole, str] = {
    "admin": "Everything, also people and tiers",
    "finance": "Money, payouts, the bank and fees",
    "support": "Customers, calls and messages",
}
assert [*ROLES] == [*get_args(OperatorRole)]


@long
async def show(request: OperatorRequest) -> Reply:
    ask, manages = request.backend.ask, request.may("operators.manage")
    return await request.long_page(
        "settings.html",
        holidays=await ask(payouts.holidays),
        today=local_day(request.now),
        tiers=(await ask(all_tiers)).values(),
        limits=LIMITS,
        no_limit=NO_LIMIT,
        people=await ask(memberships.list_members, None) if manages else [],
        roles=ROLES,
    )


async def _add_person(request: OperatorRequest) -> Reply | Problem:
    """Adds a person, who sets the own password by a link. One who exists keeps the password."""
    email, role = read_email(request.form.get("email", "")[:300]), request.form.get("role")
    if email is None or role not in ROLES:
        return FormProblem(422, "Enter an email address and choose a role.")
    unknown = await hash_in_queue(request, secrets.token_urlsafe(32))
    command = AddMember(request.actor, None, email, role, None, NewLogin(unknown, must_change=True))
    enrolled = await request.submit(command)
    if not enrolled.has_new_password:
        return request.redirect(PAGE, done="person_added")
    return await hand_over_link(request, PersonId(enrolled.id), PAGE)


def _back(*_: object) -> str:
    return PAGE


ROUTES: Routes = [
    PageRoute(OperatorRequest, PAGE, get=show, needs="wallets.read"),
    plain_form(f"{PAGE}/holiday", SET_HOLIDAY, show, _back),
    plain_form(f"{PAGE}/remove-holiday", REMOVE_HOLIDAY, show, _back),
    plain_form(f"{PAGE}/tier", SET_TIER, show, _back),
    PageRoute(
        OperatorRequest,
        f"{PAGE}/person",
        post=_add_person,
        page=show,
        needs="operators.manage",
    ),
    plain_form(f"{PAGE}/role", SET_ROLE, show, _back),
    plain_form(f"{PAGE}/remove-person", REMOVE, show, _back),
]
