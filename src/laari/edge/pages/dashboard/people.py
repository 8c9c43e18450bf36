"""The people of a merchant, for its owners: roles, sessions and invitations."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias, cast, get_args

from laari.edge.pages.dashboard.forms import form
from laari.edge.pages.dashboard.request import HOME, DashboardRequest
from laari.edge.pages.request import NO_EMAIL, RefusedForm
from laari.edge.pages.routes import NO_OPERATION, Handler, PageRoute, Routes
from laari.http.messages import Reply
from laari.operations.merchant_people import REMOVE, SET_ROLE, WITHDRAW_INVITATION, MemberOf
from laari.rules import ids
from laari.rules.people.contacts import read_email
from laari.rules.people.invitations import Invited, InvitePerson, Offer
from laari.rules.people.memberships import EndSessionsAt, TransferOwnership
from laari.rules.people.permissions import MAX_TILL
from laari.rules.records.messages import Language
from laari.rules.records.people import MerchantRole
from laari.store.counters import sessions
from laari.store.reads.people import invitations, memberships
from laari.store.reads.people.memberships import Member

ROLES: dict[MerchantRole, str] = {
    "owner": "Everything, also people and ownership",
    "manager": "Everything except people, bank details, the mode, the public name and the "
    "application",
    "accountant": "Reads and exports, changes nothing",
    "cashier": "Payment links and sales of one till",
}
assert [*ROLES] == [*get_args(MerchantRole)]

Change: TypeAlias = Callable[[DashboardRequest, Member], Awaitable[None]]

NO_TILL = f"A cashier needs a till: a label of 1 to {MAX_TILL} characters, as on payments."


def _read_role(request: DashboardRequest) -> tuple[MerchantRole, str | None]:
    """The role, and the till of a cashier; the till of other roles is ignored."""
    role = request.form.get("role", "")
    if role not in ROLES:
        raise RefusedForm(422, "Choose a role.")
    if role != "cashier":
        return cast(MerchantRole, role), None
    till = request.form.get("till", "").strip()
    if not 1 <= len(till) <= MAX_TILL or not till.isprintable():
        raise RefusedForm(422, NO_TILL)
    return "cashier", till


def _sends_email(request: DashboardRequest) -> bool:
    """A merchant that came by sign-up sends none: anybody could write to anybody."""
    return "email" in request.backend.settings.channels and request.merchant.has_live


async def show(request: DashboardRequest, invited: Invited | None = None, email: str = "") -> Reply:
    """Shows the link of a new invitation once, if it was not sent by email."""
    ask, merchant_id = request.backend.ask, request.merchant.id
    return request.page(
        "people.html",
        members=await ask(memberships.list_members, merchant_id),
        invitations=await ask(invitations.list_open, merchant_id, request.now),
        roles=ROLES,
        invited=invited,
        invited_email=email,
        sends_email=_sends_email(request),
        written=request.form if request.problem else {},
        person_id=lambda member: ids.show_id(ids.PERSON, member.person_id.id),
    )


async def invite(request: DashboardRequest) -> Reply:
    email = read_email(request.form.get("email", "")[:300])
    if email is None or not email.isprintable():
        raise RefusedForm(422, NO_EMAIL)
    role, till = _read_role(request)
    await request.confirm()
    language: Language = "dv" if request.form.get("language") == "dv" else "en"
    invited = await request.submit(
        InvitePerson(
            request.actor,
            request.merchant.id,
            Offer(email, role, till),
            by=request.person.person_id,
            language=language if _sends_email(request) else None,
        )
    )
    if invited.is_sent:
        return request.redirect("/people", done="invited")
    return await show(request, invited, email)


async def _find(request: DashboardRequest) -> Member | None:
    person_id = ids.read_id(ids.PERSON, request.params["id"])
    members = await request.backend.ask(memberships.list_members, request.merchant.id)
    found = [each for each in members if each.person_id.id == person_id]
    return found[0] if found else None


async def show_one(request: DashboardRequest) -> Reply:
    member = await _find(request)
    if member is None:
        return request.missing()
    return request.page(
        "person.html",
        member=member,
        here_path=f"/people/{request.params['id']}",
        is_self=member.person_id == request.person.whose,
        roles=ROLES,
        written=request.form if request.problem else {},
        sessions=await request.backend.ask(
            sessions.seen_at_merchant, member.person_id, request.merchant.id, request.now
        ),
    )


def _for_member(change: Change, done: str, *, always: bool = False) -> Handler[DashboardRequest]:
    """A form about one person of this merchant, with a recent password."""

    async def handle(request: DashboardRequest) -> Reply:
        member = await _find(request)
        if member is None:
            return request.missing()
        await request.confirm(always=always)
        problem = None
        try:
            await change(request, member)
        except RefusedForm as refused:
            problem = refused
        # A person who has just given away or lost a role may no longer open this page.
        if not await request.still_may("people.manage"):
            return request.go(HOME)
        if problem is not None:
            raise problem
        return request.redirect("/people", done=done)

    return handle


async def _set_role(request: DashboardRequest, member: Member) -> None:
    """The form always has a till, which only a cashier gets."""
    is_cashier = request.form.get("role") == "cashier"
    given = request.values(SET_ROLE, till=request.form.get("till", "") if is_cashier else "")
    await request.act(SET_ROLE, MemberOf(request.merchant.id, member), given)


async def _remove(request: DashboardRequest, member: Member) -> None:
    await request.act(REMOVE, MemberOf(request.merchant.id, member), {})


async def _end_sessions(request: DashboardRequest, member: Member) -> None:
    """All of them, whatever page they opened last, but for this merchant only."""
    person_id = member.person_id.id
    await request.submit(EndSessionsAt(request.actor, request.merchant.id, person_id))


async def _transfer(request: DashboardRequest, member: Member) -> None:
    own, other = request.person.person_id, member.person_id.id
    await request.submit(TransferOwnership(request.actor, request.merchant.id, own, other))


_ONE = "/people/{id}"
ROUTES: Routes = [
    PageRoute(DashboardRequest, "/people", get=show, post=invite, needs="people.manage"),
    form("/people/withdraw", WITHDRAW_INVITATION, show, "/people", confirms=False),
    PageRoute(DashboardRequest, _ONE, get=show_one, needs="people.manage"),
    *(
        PageRoute(
            DashboardRequest,
            f"{_ONE}/{name}",
            post=handler,
            page=show_one,
            needs="people.manage",
            runs=runs,
        )
        for name, handler, runs in (
            ("role", _for_member(_set_role, SET_ROLE.name), {SET_ROLE.name: {}}),
            ("remove", _for_member(_remove, REMOVE.name), {REMOVE.name: {}}),
            ("sessions", _for_member(_end_sessions, "sessions"), NO_OPERATION),
            ("transfer", _for_member(_transfer, "transferred", always=True), NO_OPERATION),
        )
    ),
]
