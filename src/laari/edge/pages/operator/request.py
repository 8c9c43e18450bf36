"""A request of one of the operator's people."""

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar
from urllib.parse import parse_qsl

from laari.edge.input.multipart import MEDIA_TYPE
from laari.edge.load.heavy import Line
from laari.edge.pages.login import WRONG
from laari.edge.pages.person import ACCOUNT, OWN_DONE, PersonRequest, PersonVisitor
from laari.edge.pages.request import Access, FormProblem, RefusedForm
from laari.edge.pages.routes import NO_OPERATION, PageRoute
from laari.errors import LaariError
from laari.http.messages import Reply
from laari.operations.every import OPERATIONS
from laari.rules.banking.second_person import person
from laari.rules.people.password_links import HandOverPasswordLink
from laari.rules.people.permissions import WITHOUT_PASSWORD, Permission
from laari.rules.records.people import PersonId, Whose
from laari.rules.records.second_person import Help
from laari.store.counters import sessions
from laari.store.reads.money import movement_lists
from laari.store.reads.people import helps, memberships
from laari.store.reads.people.memberships import Place

S = TypeVar("S")
T = TypeVar("T")

HOME = "/operator"
# Of the person who sends a form: another field must not have such a name.
OWN_FIELDS = frozenset({"password", "code"})
# The texts for `?done=…` after a form: the address itself is never shown.
DONE = {
    **OWN_DONE,
    **{name: text for each in OPERATIONS for name, text in each.texts.items()},
    "identity": "The identity data is kept. It is shown only for a reason.",
    "unidentified": "The identity data is deleted.",
    "caller_fits": "It fits the identity data. A note says that the caller is verified.",
    "caller_fails": "It does not fit the identity data. A note says so.",
    "link": "A message with a link that sets a new password is on its way.",
    "code": "A code is on its way to the new contact. Ask the caller to read it out.",
    "contact": "The change is requested. Confirm it when you are sure of the caller.",
    "confirmed": "The change is confirmed. It takes effect after the delay.",
    "uncontact": "The change is cancelled.",
    "asked": "The movement waits for a second person. The page Money shows it.",
    "import_asked": "The statement waits for a second person. Nothing of it is booked.",
}


class OperatorVisitor(PersonVisitor):
    """Anybody at the door of the desk."""

    prefix = HOME
    folders = ("operator/", "person/")
    session_cookie = "laari-operator"
    place = "the operator's desk"
    password_page = f"{HOME}{ACCOUNT}"

    async def membership_of(self, whose: PersonId) -> Place | None:
        """The person's role at the operator; None for everybody else."""
        every = await self.backend.ask(memberships.of_person, whose)
        return next((each for each in every if each.merchant_id is None), None)

    async def admits(self, whose: PersonId) -> bool:
        return await self.membership_of(whose) is not None


class OperatorRequest(PersonRequest, OperatorVisitor):
    actor_kind = "operator"
    texts = DONE
    root = HOME
    employer = "The operator's desk"
    requires_factor = True

    async def enter(self, access: Access) -> Reply | None:
        """Redirects to the log-in, to a required password change, or to the second factor.

        A person who lost the role is logged out of the desk with the next request.
        """
        found = await self.find_person()
        membership = None if found is None else await self.membership_of(found.whose)
        if found is None or membership is None:
            return await self.to_login()
        self.person, self.membership = found, membership
        if not access.polled and self.is_unseen(found):
            await self.note_seen(sessions.note_seen, found, self.now)
        return self.check(access)

    async def ask_password(self, access: Access) -> Reply | None:
        """Every form needs a recent password, except those of a few harmless permissions.

        The page that asks for it repeats the fields of the form, so nothing has to be entered
        twice. A form with a file is too long for that: it has fields for the password itself.
        """
        if access.own or access.to_change in WITHOUT_PASSWORD or not self.asks_password:
            return None
        is_upload = self.http.media_type == MEDIA_TYPE
        if "password" in self.form or is_upload:
            try:
                await self.confirm()
            except RefusedForm as refused:
                if is_upload:
                    raise
                self.problem = refused.problem
            else:
                return None
        fields = {name: text for name, text in self.form.items() if name not in OWN_FIELDS}
        return self.page("again.html", None if self.problem else WRONG, fields=fields)

    async def helps(self) -> Sequence[Help]:
        """Who gave whom a log-in, for the rule of the second person; none without the rule."""
        if self.backend.settings.second_operator_above is None:
            return ()
        return await self.backend.ask(helps.recent)

    @property
    def line(self) -> Line:
        return self.backend.heavy.desk

    @property
    def turn_of(self) -> Hashable:
        return self.whose

    async def movements_made(self) -> int:
        """The person's movements so far. A form that names their number acts only once."""
        return await self.backend.ask(movement_lists.made_by, person(self.actor))

    def back_to(self, address: str, done: str) -> Reply:
        """Redirects to a page of the desk, which says what was done."""
        page, _, query = address.partition("?")
        return self.redirect(page, **dict(parse_qsl(query)), done=done)

    def text_of(self, name: str, longest: int) -> str:
        """A required text of the form, on one line."""
        text = self.form.get(name, "").strip()
        if not 1 <= len(text) <= longest or not text.isprintable():
            label = name.replace("_", " ")
            message = f"The {label} must be 1 to {longest} printable characters."
            raise RefusedForm(422, message)
        return text


class Subject(Generic[S]):
    """A customer, merchant or run that the address names: its page, and the forms on it."""

    def __init__(
        self,
        path: str,
        find: Callable[[OperatorRequest], Awaitable[S | None]],
        show: Callable[[OperatorRequest, S], Awaitable[Reply]],
    ) -> None:
        self._path = path
        self._find = find
        self.show = self.found(show)

    def found(
        self, handler: Callable[[OperatorRequest, S], Awaitable[T]]
    ) -> Callable[[OperatorRequest], Awaitable[T | Reply]]:
        """Looks the subject up for the handler."""

        async def handle(request: OperatorRequest) -> T | Reply:
            subject = await self._find(request)
            return request.missing() if subject is None else await handler(request, subject)

        return handle

    def form(
        self,
        path: str,
        handler: Callable[[OperatorRequest, S], Awaitable[Reply]],
        needs: Permission,
        runs: Mapping[str, Mapping[str, str]] = NO_OPERATION,
    ) -> PageRoute[OperatorRequest]:
        return PageRoute(
            OperatorRequest,
            self._path + path,
            post=self.found(handler),
            page=self.show,
            needs=needs,
            runs=runs,
        )


async def hand_over_link(request: OperatorRequest, whose: Whose, back: str) -> Reply:
    """Sends a link that sets a password; without a way to send it, shows it once."""
    made = await request.submit(HandOverPasswordLink(request.actor, whose, "message or shown"))
    if made.link is None:
        return request.redirect(back, done="link")
    return request.page("password_link.html", made=made, back=back)


def in_words(error: LaariError) -> FormProblem:
    """A refused change of the store, as a sentence above the page."""
    text = str(error)
    return FormProblem(409, f"{text[:1].upper()}{text[1:]}.")
