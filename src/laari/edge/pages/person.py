"""Requests of people: those of merchants on the dashboard, those of the operator on the desk."""

from collections.abc import Awaitable, Callable, Hashable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import wraps
from typing import ClassVar, Concatenate, ParamSpec, TypeVar
from urllib.parse import urlencode

from laari.edge.load.heavy import SLICED_REST, Line
from laari.edge.pages.login import confirm, is_fresh
from laari.edge.pages.render import render_long
from laari.edge.pages.request import Access, PageRequest, RefusedForm
from laari.http.messages import Reply
from laari.operations.fields import Field, FieldError, read_form
from laari.operations.operation import AnyOperation, Context
from laari.rules.actors import Actor, ActorKind
from laari.rules.command import Command
from laari.rules.people.permissions import Permission, may
from laari.rules.people.second_factors import CheckFactor
from laari.rules.records.people import PersonId
from laari.rules.refusals import Refusal
from laari.store.counters import sessions
from laari.store.counters.sessions import PersonSession
from laari.store.reads.people.memberships import Place

T = TypeVar("T")

# Within an area: the person's own password, sessions and second factor.
ACCOUNT = "/account"
FACTOR = f"{ACCOUNT}/factor"
OWN_DONE = {
    "session": "The session is ended.",
    "others": "All your other sessions are ended.",
    "factor_off": "The second factor is turned off.",
    "messages": "Your choice of messages is saved.",
    "password": "Your password is changed. All your other sessions are logged out.",
}


class PersonVisitor(PageRequest):
    """Anybody at the door of an area for people, which has only English texts."""

    english_only = True
    place: ClassVar[str]  # in the title of the log-in
    password_page: ClassVar[str]  # after the first log-in

    @property
    def login(self) -> str:
        return f"{self.home}/login"

    @property
    def code_page(self) -> str:
        """The second step of the log-in for people with a second factor."""
        return f"{self.login}/code"

    async def find_person(self) -> PersonSession | None:
        return await self._session(sessions.of_person)

    async def admits(self, whose: PersonId) -> bool:
        """Whether a person with the right password may log in to this area."""
        return True

    async def to_login(self) -> Reply:
        """Redirects to the log-in, or to its second step, and then back to this page."""
        step = self.code_page if await self.is_half_open() else self.login
        return self.go(f"{step}?{urlencode({'next': self.path})}")

    async def is_half_open(self) -> bool:
        """Whether a person has entered the password here, but not yet the code."""
        token = self.cookie(self.session_cookie)
        if token is None:
            return False
        found = await self.backend.ask(sessions.half_open, self.backend.master_key, token, self.now)
        return found is not None

    async def enter_code(self, code: str) -> Refusal | bool:
        """Opens the half-open session of this browser; False if there is none."""
        token, master = self.cookie(self.session_cookie), self.backend.master_key
        if token is None:
            return False
        whose = await self.backend.ask(sessions.half_open, master, token, self.now)
        if whose is None:
            return False
        refused = await self.backend.spine.submit(CheckFactor(whose, code))
        if refused is not None:
            return refused
        opened = await self.backend.write(sessions.complete, master, token, whose, self.now)
        if opened is None:
            return False
        self.keep_session(opened)
        return True

    def no_such_page(self, status: int = 404) -> Reply:
        return self.page("no_page.html", status)


class PersonRequest(PersonVisitor):
    """A request of a person who is logged in, with the role of one membership."""

    actor_kind: ClassVar[ActorKind]
    texts: ClassVar[Mapping[str, str]]  # for `?done=…` after a form: it is never shown itself
    person: PersonSession
    membership: Place
    gets_messages: ClassVar[bool] = False  # about money, if they choose so
    is_long = False  # True inside of a handler that is `long`

    def check(self, access: Access) -> Reply | None:
        """Redirects to a required password change or second factor; refuses other roles."""
        if access.own:
            return None
        if self.person.must_change:
            return self.redirect(ACCOUNT)
        if self.requires_factor and not self.person.has_factor:
            return self.redirect(FACTOR)
        permission = access.to_change if self.http.method == "POST" else access.needs
        if permission is None or not self.may(permission):
            return self.page("forbidden.html", 403)
        return None

    @property
    def line(self) -> Line:
        """The long pages that this one waits with."""
        raise NotImplementedError

    @property
    def turn_of(self) -> Hashable:
        """Who takes turns in the line: a merchant, or a person of the operator."""
        raise NotImplementedError

    async def submit(self, command: Command[T]) -> T:
        """Runs a command of this person; a refusal is shown above the page."""
        outcome = await self.backend.spine.submit(command)
        if isinstance(outcome, Refusal):
            raise RefusedForm.of(outcome)
        return outcome

    def values(self, declared: AnyOperation, **more: str) -> dict[str, object]:
        """What the form says for an operation; `more` are texts that it writes in another way."""
        return fields_of(declared.fields, self.form | more)

    async def act(
        self, declared: AnyOperation, subject: object, given: Mapping[str, object]
    ) -> object:
        """Runs an operation for this person; a refusal is shown above the page."""
        backend = self.backend
        context = Context(self.actor, backend.ask, backend.spine.submit, backend.settings, self.now)
        result = await declared.act(context, subject, given)
        if isinstance(result, Refusal):
            names = {field.name: f"The {field.words}" for field in declared.fields}
            raise RefusedForm.of(in_words(result, names))
        return result

    def searching(self) -> AbstractAsyncContextManager[None]:
        assert self.is_long, f"{self.http.operation} needs @long"
        return self.line.searches.slot(self.turn_of, soon=True)

    def writing(self) -> AbstractAsyncContextManager[None]:
        assert self.is_long, f"{self.http.operation} needs @long"
        return self.line.writing.slot(self.turn_of, soon=True)

    async def long_page(self, template: str, **values: object) -> Reply:
        """A page with many rows, rendered in slices while no other such page is."""
        async with self.line.writing.slot(self.turn_of, soon=True, rest=SLICED_REST):
            text = await render_long(self.named(template), self.language, **self.common(), **values)
        return self.html(text, None)

    @property
    def root(self) -> str:
        """The address before those of `url`."""
        raise NotImplementedError

    @property
    def employer(self) -> str:
        raise NotImplementedError

    @property
    def requires_factor(self) -> bool:
        raise NotImplementedError

    @property
    def actor(self) -> Actor:
        return Actor(self.actor_kind, self.person.email, self.membership.role, self.http.client)

    def may(self, permission: Permission) -> bool:
        """Whether the person's role here has this permission; templates ask it too."""
        return may(self.membership.role, permission)

    @property
    def done(self) -> str | None:
        return self.texts.get(self.query.get("done", ""))

    def url(self, rest: str = "", **query: str) -> str:
        return self.root + rest + (f"?{urlencode(query)}" if query else "")

    def redirect(self, rest: str = "", **query: str) -> Reply:
        return self.go(self.url(rest, **query))

    def missing(self) -> Reply:
        return self.page("missing.html", 404)

    @property
    def asks_password(self) -> bool:
        """Whether money, credentials and approvals need the password again."""
        return not is_fresh(self, self.person)

    @property
    def asks_code(self) -> bool:
        return self.person.has_factor

    async def confirm(self, *, always: bool = False) -> None:
        """Verifies the form's password, and the code of a second factor: always, or if asked."""
        await confirm(self, self.person, always=always or self.asks_password)
        self.person = self.person._replace(authenticated_at=self.now)


def fields_of(fields: tuple[Field, ...], form: Mapping[str, str]) -> dict[str, object]:
    """The values of the form; the first wrong one refuses it."""
    try:
        return read_form(fields, form)
    except FieldError as error:
        raise RefusedForm(422, str(error)) from None


def in_words(refusal: Refusal, names: Mapping[str, str]) -> Refusal:
    """The API's message with the field's name of the form instead of its own."""
    name = (refusal.field or "").partition(".")[0]
    rest = refusal.message.removeprefix(refusal.field or "")
    if name not in names or rest == refusal.message:
        return refusal
    return refusal._replace(message=names[name] + rest)


R = TypeVar("R", bound=PersonRequest)
P = ParamSpec("P")


def long(
    handler: Callable[Concatenate[R, P], Awaitable[T]],
) -> Callable[Concatenate[R, P], Awaitable[T]]:
    """A handler that reads or writes much: a person has one at a time, before it reads anything."""

    @wraps(handler)
    async def handle(request: R, /, *args: P.args, **options: P.kwargs) -> T:
        if request.is_long:
            return await handler(request, *args, **options)
        async with request.line.doors.enter(request.whose):
            request.is_long = True
            try:
                return await handler(request, *args, **options)
            finally:
                request.is_long = False

    return handle
