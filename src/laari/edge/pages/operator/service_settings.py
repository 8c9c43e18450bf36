"""Settings of the service: bank holidays, tiers of wallets, and the operator's own people."""

import secrets
from typing import get_args

from laari.edge.pages.login import hash_in_queue
from laari.edge.pages.operator.forms import plain_form
from laari.edge.pages.operator.request import OperatorRequest, hand_over_link
from laari.edge.pages.person import long
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.operations.fields import NO_LIMIT
from laari.operations.service_settings import (
    ADD_PERSON,
    REMOVE,
    REMOVE_HOLIDAY,
    SET_HOLIDAY,
    SET_ROLE,
    SET_TIER,
)
from laari.rules.calendar import local_day
from laari.rules.people.persons import Enrolled, NewLogin
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


async def _add_person(request: OperatorRequest) -> Reply:
    """Adds a person, who sets a password by a link. An existing person keeps the password."""
    given = request.values(ADD_PERSON)
    unknown = await hash_in_queue(request, secrets.token_urlsafe(32))
    login = NewLogin(unknown, must_change=True)
    enrolled = await request.act(ADD_PERSON, None, {**given, "login": login})
    assert isinstance(enrolled, Enrolled)
    if not enrolled.has_new_password:
        return request.redirect(PAGE, done=ADD_PERSON.name)
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
        needs=ADD_PERSON.needs,
        runs={ADD_PERSON.name: {}},
    ),
    plain_form(f"{PAGE}/role", SET_ROLE, show, _back),
    plain_form(f"{PAGE}/remove-person", REMOVE, show, _back),
]
