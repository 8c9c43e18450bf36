"""The link of an invitation. A new person sets a password; a known one logs in, then accepts."""

from laari.edge.pages.dashboard.people import ROLES
from laari.edge.pages.dashboard.request import DashboardVisitor, home_of
from laari.edge.pages.known import remember_browser
from laari.edge.pages.login import check_new_password, hash_new_password
from laari.edge.pages.request import Access
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.rules.actors import Actor
from laari.rules.people.invitations import JOIN, AcceptInvitation
from laari.rules.records.people import PersonId
from laari.rules.refusals import Refusal
from laari.store.counters.sessions import PersonSession, Proof
from laari.store.merchants import merchants
from laari.store.reads.people import invitations
from laari.store.reads.people.invitations import OpenInvitation
from laari.store.reads.people.logins import Login


class JoinRequest(DashboardVisitor):
    prefix = f"{JOIN}/{{token}}"
    invitation: OpenInvitation
    person: PersonSession | None

    async def enter(self, access: Access) -> Reply | None:
        """A used, expired, withdrawn or wrong link has the same page."""
        found = await self.backend.ask(
            invitations.find, self.backend.master_key, self.params["token"], self.now
        )
        if found is None:
            return self.page("join_invalid.html", 404)
        self.invitation, self.person = found, await self.find_person()
        return None

    @property
    def is_theirs(self) -> bool:
        """Whether the person who is logged in here was invited."""
        return self.person is not None and self.person.email == self.invitation.email


async def show(request: JoinRequest) -> Reply:
    return request.page("join.html", invitation=request.invitation, roles=ROLES)


async def accept(request: JoinRequest) -> Reply:
    if request.person is not None:
        return await _join(request, request.person.whose)
    if request.invitation.is_known:
        return request.go(request.path)
    check_new_password(request)
    return await _join(request, None, await hash_new_password(request))


async def _join(
    request: JoinRequest, person: PersonId | None, password_hash: str | None = None
) -> Reply:
    invitation = request.invitation
    actor = Actor("person", invitation.email, invitation.role, request.http.client)
    digest = invitations.of_link(request.backend.master_key, request.params["token"])
    person_id = None if person is None else person.id
    joined = await request.backend.spine.submit(
        AcceptInvitation(actor, digest, person_id, password_hash)
    )
    if isinstance(joined, Refusal) and joined.code == "not_found":
        return request.page("join_invalid.html", 404)
    if isinstance(joined, Refusal):
        return request.go(request.path)  # the page says who may accept
    if password_hash is not None:
        login = Login(PersonId(joined.person_id), password_hash)
        await request.start_session(login.whose, Proof(password_hash))
        remember_browser(request, login)
    merchant = await request.backend.ask(merchants.show, invitation.merchant_id)
    return request.go(home_of(merchant.id, merchant.mode))


ROUTES: Routes = [PageRoute(JoinRequest, "", get=show, post=accept, own=True)]
