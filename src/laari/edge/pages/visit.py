"""One request for a page: who asks, in which language, and how to reply.

Every page goes through a `PageRoute`: it reads the request, checks forms, and adds cookies to
whatever the handler returns.
"""

import logging
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from typing import Literal, NamedTuple, TypeVar
from urllib.parse import parse_qsl, quote
from uuid import UUID

import msgspec

from laari.edge.backend import Backend
from laari.edge.load.overload import Overloaded
from laari.edge.load.rate import Bucket, named_bucket
from laari.edge.pages.cookies import HOST_PREFIX, own_cookies, set_cookie
from laari.edge.pages.language import Language, choose
from laari.edge.pages.render import render, render_long
from laari.edge.pages.security import form_token, new_browser_id, stranger, token_fits
from laari.errors import UnavailableError
from laari.http.messages import HTML, NO_STORE, ClientGone, Header, Reply, Request
from laari.spine.engine import OutcomeUnknown
from laari.store.people import sessions
from laari.store.people.logins import Whose
from laari.store.people.sessions import IDLE, LIFE, SEEN_EVERY, CustomerSession, UserSession
from laari.store.secrets import digest

log = logging.getLogger(__name__)

MAX_FORM_BYTES = 20 * 1024  # the longest texts of a payment, each character in twelve bytes
MAX_FIELDS = 50
LANGUAGE_SECONDS = 365 * 24 * 3600
# Pages that one person may open, on all their browsers together: more than anybody does by hand,
# with room for tabs opened at once. What a page costs has turns of its own (`edge/load/heavy.py`).
PAGES_PER_SECOND = 5.0
PAGES_OVER_SECONDS = 20.0
TOKEN_FIELD = "form_token"  # noqa: S105  # a field's name
_SAFE_IN_LOCATION = "/:%#?=@[]!$&'()*+,;"  # what an address is made of

S = TypeVar("S", CustomerSession, UserSession)

Audience = Literal["customer", "user"]
_SESSION_COOKIES: dict[Audience, str] = {"customer": "laari", "user": "laari-dashboard"}
_PAGE_COOKIE = "laari-page"  # with the page's own mark behind it: two pages, two log-ins
_BROWSER_COOKIE = "laari-visit"
_LANGUAGE_COOKIE = "laari-lang"


class TooFast(Exception):  # noqa: N818  # named for what is the case
    """Somebody opens more pages than a person does."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


class Visit:
    """What a handler is given. `form` holds the fields of a checked form, empty for a GET."""

    def __init__(
        self, backend: Backend, request: Request, params: dict[str, str], audience: Audience
    ) -> None:
        self.backend = backend
        self.http = request
        self.path = request.path
        self.params = params
        self.query = read_query(request.query)
        self.form: dict[str, str] = {}
        self.now = datetime.now(UTC)
        self._cookies = own_cookies(request.fields)
        self._audience = audience
        self.retry_after: int | None = None  # seconds, where the visitor is to come back later
        self.has_first_password = False  # whoever has just logged in, chosen by an operator
        self._set: list[tuple[str, str, int | None]] = []
        self._counted = False
        self.language = self._choose_language()

    @property
    def home(self) -> str:
        """The page a form of ours stands on: `/pay/TOKEN` for its log-in, `/app` for all of it."""
        segments = self.path.split("/")
        return "/".join(segments[: 3 if segments[1] in ("pay", "approve") else 2])

    @property
    def page_alone(self) -> str | None:
        """The page that a log-in made here is good for; None where it is good everywhere.

        Checkout and approval are opened in a shop's browser too, in which the next person must not
        find a wallet open.
        """
        return self.home if self.home.startswith(("/pay/", "/approve/")) else None

    def _choose_language(self) -> Language:
        asked = self.query.get("lang")
        accepted = self.http.headers.get(b"accept-language", "")
        language = choose(asked or self.cookie(_LANGUAGE_COOKIE), accepted)
        if asked == language.code:
            self.keep_cookie(_LANGUAGE_COOKIE, asked, LANGUAGE_SECONDS)
        return language

    # Cookies: `__Host-` binds them to this host and https, where there is https.

    def cookie(self, name: str) -> str | None:
        return self._cookies.get(self._cookie_name(name))

    def _cookie_name(self, name: str) -> str:
        return HOST_PREFIX + name if self.http.secure else name

    def keep_cookie(self, name: str, value: str, seconds: int | None = None) -> None:
        self._set.append((self._cookie_name(name), value, seconds))

    @property
    def _session_cookie(self) -> str:
        """Where a log-in made here is kept."""
        if self.page_alone is None:
            return _SESSION_COOKIES[self._audience]
        return f"{_PAGE_COOKIE}-{digest(self.page_alone).hex()[:16]}"

    @property
    def _session_tokens(self) -> dict[str, str]:
        """What this browser shows, by cookie: this page's own log-in first, then the general."""
        names = dict.fromkeys((self._session_cookie, _SESSION_COOKIES[self._audience]))
        held = {name: self.cookie(name) for name in names}
        return {name: token for name, token in held.items() if token}

    @property
    def _held(self) -> str | None:
        """What the tokens of this browser's forms are bound to."""
        return next(iter(self._session_tokens.values()), None) or self.cookie(_BROWSER_COOKIE)

    @cached_property
    def form_token(self) -> str:
        """For the page's forms: bound to the session, or to this browser where there is none."""
        held = self._held
        if held is None:
            held = new_browser_id()
            self.keep_cookie(_BROWSER_COOKIE, held)
        return form_token(self.backend.master_key, held)

    def token_fits(self, token: str) -> bool:
        held = self._held
        return held is not None and token_fits(self.backend.master_key, held, token)

    # Sessions.

    async def customer(self, *, polled: bool = False) -> CustomerSession | None:
        """The customer who is logged in on this browser.

        `polled`: the page asked by itself, which does not keep the session alive.
        """
        if self._audience != "customer":
            return None
        for token in self._session_tokens.values():
            session = await self.backend.ask(sessions.of_customer, token, self.now, self.page_alone)
            if session is not None:
                self._count(session.customer_id)
                return session if polled else await self._seen(session)
        return None

    async def user(self, *, polled: bool = False) -> UserSession | None:
        """The merchant's person who is logged in on this browser: pages of the dashboard only."""
        if self._audience != "user":
            return None
        for token in self._session_tokens.values():
            session = await self.backend.ask(sessions.of_user, token, self.now)
            if session is not None:
                self._count(session.email)
                return session if polled else await self._seen(session)
        return None

    def _count(self, whose: UUID | str) -> None:
        """Counts this page, once, for the person who opens it."""
        if self._counted:
            return
        self._counted = True
        bucket = Bucket(named_bucket("pages", whose), PAGES_PER_SECOND, PAGES_OVER_SECONDS)
        seconds = self.backend.rates.take(bucket, time.monotonic())
        if seconds > 0:
            raise TooFast(seconds)

    async def _seen(self, session: S) -> S:
        if self.now - session.seen_at > SEEN_EVERY:
            with suppress(UnavailableError, OutcomeUnknown):  # the next visit will note it
                await self.backend.write(sessions.note_seen, session, self.now)
        return session

    async def start_session(self, whose: Whose, verified: str) -> bool:
        """After a log-in: always a new token, and the old one ends.

        False where the password is another one by now than the one that was verified.
        """
        token = await self.backend.write(
            sessions.open_for, whose, self.now, verified, self.page_alone
        )
        if token is None:
            return False
        old = self._session_tokens.get(self._session_cookie)
        if old is not None:
            await self.backend.write(sessions.end, old)
        life = LIFE if self.page_alone is None else IDLE
        self.keep_cookie(self._session_cookie, token, int(life.total_seconds()))
        # A page in reply to this very request is the new session's already, forms and all.
        self._cookies[self._cookie_name(self._session_cookie)] = token
        return True

    async def end_session(self) -> None:
        """Whoever is logged in here, on this page alone or everywhere."""
        for name, token in self._session_tokens.items():
            await self.backend.write(sessions.end, token)
            self.keep_cookie(name, "", 0)

    # Replies.

    def page(self, template: str, status: int = 200, **values: object) -> Reply:
        return _html(render(template, self.language, **self._common(), **values), status)

    async def long_page(self, template: str, status: int = 200, **values: object) -> Reply:
        """A page with many rows, written in its turn and in slices."""
        async with self.backend.heavy.writing.slot(soon=True):
            html = await render_long(template, self.language, **self._common(), **values)
        return _html(html, status)

    def _common(self) -> dict[str, object]:
        """What every template is given."""
        here = self.path if self.http.method != "POST" else self.home
        return {"form_token": self.form_token, "here": here}

    def json(self, value: dict[str, str]) -> Reply:
        return Reply(200, msgspec.json.encode(value))

    def go(self, path: str) -> Reply:
        """After a form that worked: the page is asked for anew, so a reload repeats nothing."""
        location = quote(path, safe=_SAFE_IN_LOCATION).encode()
        return Reply(303, headers=((b"location", location),), content_type=b"")

    def refusal(self, status: int, name: str, back: str | None = None) -> Reply:
        """A page that says why nothing was shown or done; `name` is a text of `[problem]`."""
        return self.page("problem.html", status, problem=name, back=back)

    def come_back(self, status: int, name: str, seconds: float) -> Reply:
        """A refusal that lasts for so long."""
        self.retry_after = math.ceil(seconds)
        return self.refusal(status, name)

    def finish(self, reply: Reply) -> Reply:
        """What every reply to this visitor carries: cookies, and when to come back."""
        headers: list[Header] = [NO_STORE]
        if self.retry_after is not None:
            headers.append((b"retry-after", str(self.retry_after).encode()))
        for name, value, seconds in self._set:
            headers.append(set_cookie(name, value, seconds, secure=self.http.secure))
        return reply.plus(*headers)


def _html(text: str, status: int) -> Reply:
    return Reply(status, text.encode(), content_type=HTML)


def read_query(query: bytes) -> dict[str, str]:
    """The parameters of an address; the last of a name counts, and what is no text is replaced.

    None of an address with more of them than any page has: no link of ours leads there.
    """
    if query.count(b"&") >= MAX_FIELDS:
        return {}
    return dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))


def read_count(text: str) -> int:
    """How many there were when a form was shown; -1, which is never right, for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


Handler = Callable[[Visit], Awaitable[Reply]]


class PageRoute(NamedTuple):
    """One address of the pages. A GET changes nothing; a POST is a checked form."""

    path: str
    get: Handler
    post: Handler | None
    audience: Audience

    @property
    def operations(self) -> list[str]:
        """What metrics count this by: `GET /pay/{token}`, for every payment's page."""
        methods = ("GET",) if self.post is None else ("GET", "POST")
        return [f"{method} {self.path}" for method in methods]

    async def serve(self, backend: Backend, request: Request, params: dict[str, str]) -> Reply:
        is_form = request.method == "POST"
        request.operation = self.operations[is_form]  # HEAD is a GET
        visit = Visit(backend, request, params, self.audience)
        handler = self.post if is_form else self.get
        assert handler is not None  # the router knows the methods
        return visit.finish(await _served(visit, handler))


def page_route(
    path: str,
    *,
    get: Handler | None = None,
    post: Handler | None = None,
    audience: Audience = "customer",
) -> PageRoute:
    """Where only a form is sent, whoever reloads or keeps the address is redirected to its page."""
    return PageRoute(path, get or _redirect_home, post, audience)


async def _served(visit: Visit, handler: Handler) -> Reply:
    """The handler's reply, or a page that says why there is none."""
    try:
        return await _checked(visit, handler)
    except ClientGone:
        raise
    except TooFast as fast:
        return visit.come_back(429, "too_fast", fast.seconds)
    except Overloaded as full:
        return visit.come_back(503, "busy", full.retry_after)
    except UnavailableError:
        return visit.come_back(503, "unavailable", 1)
    except Exception:
        log.exception("%s failed", visit.http.operation, extra={"request_id": visit.http.id})
        return visit.refusal(500, "unexpected")


async def _redirect_home(visit: Visit) -> Reply:
    return visit.go(visit.home)


async def _checked(visit: Visit, handler: Handler) -> Reply:
    """Runs the handler if the connection is secure where it has to be, and a form is our own."""
    if visit.backend.settings.require_https and not visit.http.secure:
        return visit.refusal(403, "https")
    if visit.http.method == "POST":
        problem = stranger(visit.http, visit.backend.origin)
        if problem is not None:
            ours = visit.backend.origin + visit.home if problem == "other_address" else None
            return visit.refusal(403, problem, back=ours)
        form = _read_form(visit.http)
        if form is None:
            return visit.refusal(400, "unreadable")
        if not visit.token_fits(form.pop(TOKEN_FIELD, "")):
            return visit.refusal(403, "stale", back=visit.home)
        visit.form = form
    return await handler(visit)


def _read_form(request: Request) -> dict[str, str] | None:
    """The fields of an ordinary form; the last of a name counts."""
    if request.media_type != "application/x-www-form-urlencoded":
        return None
    body = request.body(MAX_FORM_BYTES)
    if body is None:
        return None
    try:
        fields = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(body),
            errors="strict",
            max_num_fields=MAX_FIELDS,
        )
    except ValueError:
        return None
    return {name: value for name, value in fields if "\0" not in value}
