"""One request for a page: the person, the language, the session, and the replies.

Each area of the pages has a subclass; a `PageRoute` names the subclass that its handlers receive.
"""

import hmac
import math
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from types import MappingProxyType
from typing import ClassVar, NamedTuple, TypeVar
from urllib.parse import parse_qsl, quote

import msgspec

from laari.edge.backend import Backend
from laari.edge.input.multipart import UploadedFile
from laari.edge.load.live import Key
from laari.edge.load.token_buckets import Bucket, named_bucket
from laari.edge.pages.cookies import full_name, own_cookies, set_cookie
from laari.edge.pages.devices import device_of
from laari.edge.pages.language import ENGLISH, Language, choose
from laari.edge.pages.render import render
from laari.errors import UnavailableError
from laari.http.messages import HTML, NO_STORE, Header, Reply, Request
from laari.rules.limits.sessions import SESSION_IDLE, SESSION_LIFE, SESSION_SEEN_EVERY
from laari.rules.people.permissions import Permission
from laari.rules.records.people import Whose
from laari.rules.records.tenants import Mode
from laari.rules.refusals import Refusal
from laari.spine.batches import OutcomeUnknown
from laari.store.counters import sessions
from laari.store.counters.sessions import (
    CustomerSession,
    Opened,
    PersonSession,
    Proof,
    Session,
)
from laari.store.people import devices
from laari.store.secrets import derive

MAX_FIELDS = 50  # of a query or a form
LANGUAGE_SECONDS = 365 * 24 * 3600
# The pages that one person may open in all their browsers: more than anybody opens by hand, with
# room for several tabs. The load of expensive pages is bounded in `edge/load/heavy.py`.
PAGES_PER_SECOND = 5.0
PAGES_OVER_SECONDS = 20.0
_SEGMENTS = r"(/[A-Za-z0-9_-]+)*"
_SAFE_IN_LOCATION = "/:%#?=@[]!$&'()*+,;"

NO_EMAIL = "This is not an email address."

S = TypeVar("S", CustomerSession, PersonSession)

NO_CHANNELS: frozenset[str] = frozenset()

_PAGE_COOKIE = "laari-page"  # followed by a digest of the page: two pages have two log-ins
_BROWSER_COOKIE = "laari-visit"
_LANGUAGE_COOKIE = "laari-lang"


class TooFast(Exception):  # noqa: N818  # not an error of ours
    """Somebody opens more pages than a person does."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


class FormProblem(NamedTuple):
    """Why a form was refused, in the reader's language; `fields` has the reason beside each."""

    status: int
    message: str
    retry_after: int | None = None
    fields: Mapping[str, str] = MappingProxyType({})


def shown(refusal: Refusal) -> FormProblem:
    """The refusal of a command, above the page."""
    return FormProblem(refusal.status, refusal.message, refusal.retry_after)


class RefusedForm(Exception):  # noqa: N818  # not an error of ours
    """Ends the handler of a form: its page shows the problem. Nothing else refuses a form."""

    def __init__(
        self,
        status: int,
        message: str,
        retry_after: int | None = None,
        fields: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.problem = FormProblem(status, message, retry_after, fields)

    @classmethod
    def of(cls, refusal: Refusal) -> "RefusedForm":
        return cls(refusal.status, refusal.message, refusal.retry_after)

    @classmethod
    def of_field(cls, refusal: Refusal) -> "RefusedForm":
        """The same, with the status of every other wrong field if a field was refused."""
        status = refusal.status if refusal.field is None else 422
        return cls(status, refusal.message, refusal.retry_after)


class Access(NamedTuple):
    """What a route says about the people who may open it."""

    polled: bool  # a script of the page asks: that does not keep the session alive
    own: bool  # it is about the person's own account
    hands_out: bool  # even a GET gives something away, such as a file or a key
    needs: Permission | None = None  # None for public pages and for the person's own account
    to_change: Permission | None = None  # for the form, if it is another one


class PageRequest:
    """`form` has the fields of a checked form and is empty for a GET; `files` has its files.

    `whose` is logged in; None if `enter` found nobody. `problem` says why the form was refused: the
    page shows it and has its status.
    """

    prefix: ClassVar[str] = ""  # of the addresses of this area
    folders: ClassVar[tuple[str, ...]] = ("",)  # of its templates: the first that has one counts
    session_cookie: ClassVar[str] = "laari"
    english_only: ClassVar[bool] = False

    def __init__(self, backend: Backend, http: Request, params: dict[str, str]) -> None:
        self.backend = backend
        self.http = http
        self.path = http.path
        self.params = params
        self.query = _read_query(http.query)
        self.form: dict[str, str] = {}
        self.files: dict[str, UploadedFile] = {}
        self.whose: Whose | None = None
        self.problem: FormProblem | None = None
        self.on_own_device = False  # whether the customer says so, with a log-in
        self.now = datetime.now(UTC)
        self._cookies = own_cookies(http.fields)
        self._set: list[tuple[str, str, int | None]] = []
        self.language = self._choose_language()

    async def enter(self, access: Access) -> Reply | None:
        """Looks up who asks and for what; a reply if this person may not open the page."""
        return None

    async def ask_password(self, access: Access) -> Reply | None:
        """A page that asks for the password again, if this form needs it; before its handler."""
        return None

    @property
    def home(self) -> str:
        """`/pay/TOKEN` for its forms, as for other addresses with a token; else as `/dashboard`."""
        segments = self.path.split("/")
        return "/".join(segments[: 3 if segments[1] in ("pay", "approve", "till", "link") else 2])

    @property
    def page_alone(self) -> str | None:
        """The only page that a log-in made here is valid for; None if it is valid everywhere.

        In a shop's browser the next person must not find an open wallet.
        """
        is_linked = self.home.startswith(("/pay/", "/approve/"))
        return self.home if is_linked and not self.on_own_device else None

    @property
    def can_sign_up(self) -> bool:
        """Whether a customer can open a wallet alone."""
        settings = self.backend.settings
        return settings.customer_signup and "sms" in settings.channels

    @property
    def wanted(self) -> str:
        """The page after the log-in: only one of this area."""
        page = (self.form or self.query).get("next", "")
        return page if re.fullmatch(f"{self.home}{_SEGMENTS}", page, re.ASCII) else self.home

    def _choose_language(self) -> Language:
        wanted = self.query.get("lang")
        accepted = self.http.headers.get(b"accept-language", "")
        language = choose(wanted or self.cookie(_LANGUAGE_COOKIE), accepted)
        if wanted == language.code:
            self.keep_language(language)
        return ENGLISH if self.english_only else language

    def keep_language(self, language: Language) -> None:
        self.keep_cookie(_LANGUAGE_COOKIE, language.code, LANGUAGE_SECONDS)

    # Cookies.

    def cookie(self, name: str) -> str | None:
        return self._cookies.get(self._cookie_name(name))

    def _cookie_name(self, name: str) -> str:
        return full_name(name, secure=self.http.secure)

    def keep_cookie(self, name: str, value: str, seconds: int | None = None) -> None:
        self._set.append((name, value, seconds))

    @property
    def _own_session_cookie(self) -> str:
        """The cookie of a log-in made here."""
        if self.page_alone is None:
            return self.session_cookie
        return f"{_PAGE_COOKIE}-{sha256(self.page_alone.encode()).hexdigest()[:16]}"

    @property
    def _session_tokens(self) -> dict[str, str]:
        """By cookie: first the log-in of this page, then the general one."""
        names = dict.fromkeys((self._own_session_cookie, self.session_cookie))
        return {name: token for name in names if (token := self.cookie(name))}

    @property
    def _form_secret(self) -> str | None:
        """The form tokens of this browser are derived from its session, or from its own id."""
        return next(iter(self._session_tokens.values()), None) or self.cookie(_BROWSER_COOKIE)

    @cached_property
    def form_token(self) -> str:
        return self._derived_token(self.browser_secret)

    @property
    def browser_secret(self) -> str:
        """What only this browser sends: its session, or an id of its own."""
        secret = self._form_secret
        if secret is None:
            secret = secrets.token_urlsafe(32)
            self.keep_cookie(_BROWSER_COOKIE, secret)
            self._cookies[self._cookie_name(_BROWSER_COOKIE)] = secret
        return secret

    def token_fits(self, token: str) -> bool:
        secret = self._form_secret
        if secret is None:
            return False
        expected = self._derived_token(secret).encode()
        return hmac.compare_digest(expected, token.encode("utf-8", "replace"))

    def _derived_token(self, secret: str) -> str:
        return derive(self.backend.master_key, "form-token", secret).hex()

    # Sessions.

    @property
    def asks_code(self) -> bool:
        """Whether a confirmation takes a code of the second factor beside the password."""
        return False

    async def find_customer(
        self, mode: Mode | None = None, *, polled: bool = False, everywhere: bool = False
    ) -> CustomerSession | None:
        """The customer who is logged in on this browser, if their wallet is in this mode.

        With `everywhere`, a log-in that is valid for this page alone does not count.
        """
        page = None if everywhere else self.page_alone
        customer = await self._session(sessions.of_customer, page)
        if customer is not None and not polled and self.is_unseen(customer):
            await self.note_seen(sessions.note_seen, customer, self.now)
        return customer if customer is not None and mode in (None, customer.mode) else None

    async def _session(
        self, find: Callable[..., Awaitable[S | None]], *args: str | None
    ) -> S | None:
        for token in self._session_tokens.values():
            session: S | None = await self.backend.ask(
                find, self.backend.master_key, token, self.now, *args
            )
            if session is not None:
                if self.whose is None:
                    self.whose = session.whose
                    self.count(session.whose.id)
                return session
        return None

    def is_unseen(self, session: Session) -> bool:
        return self.now - session.seen_at > SESSION_SEEN_EVERY

    async def note_seen(self, note: Callable[..., Awaitable[None]], *args: object) -> None:
        with suppress(UnavailableError, OutcomeUnknown):  # the next request notes it
            await self.backend.write(note, *args)

    def count(self, visitor: object) -> None:
        """Counts this request for the person or the device that is logged in."""
        bucket = Bucket(named_bucket("pages", visitor), PAGES_PER_SECOND, PAGES_OVER_SECONDS)
        seconds = self.backend.rates.take(bucket, time.monotonic())
        if seconds > 0:
            raise TooFast(seconds)

    async def start_session(self, whose: Whose, proof: Proof, *, is_new: bool = False) -> bool:
        """Replaces the session after a log-in; False if its proof does not count any more.

        With `is_new`, the person gets a notice of a log-in on a new device.
        """
        # By email only: an SMS for each log-in at another shop's browser would cost too much.
        channels = self.backend.settings.channels & {"email"} if is_new else NO_CHANNELS
        token = await self.backend.write(
            devices.open_session,
            self.backend.master_key,
            whose,
            self.now,
            proof,
            opened=self._opened,
            channels=channels,
        )
        if token is None:
            return False
        old = self._session_tokens.get(self._own_session_cookie)
        if old is not None:
            await self.backend.write(sessions.end, self.backend.master_key, old)
        self.keep_session(token)
        return True

    def keep_session(self, token: str) -> None:
        cookie = self._own_session_cookie
        life = SESSION_LIFE if self.page_alone is None else SESSION_IDLE
        self.keep_cookie(cookie, token, int(life.total_seconds()))
        self._cookies[self._cookie_name(cookie)] = token  # for a page in reply to this request

    @property
    def _opened(self) -> Opened:
        device = device_of(self.http.headers.get(b"user-agent", ""))
        return Opened(self.http.client[:64] or None, device, self.page_alone)

    async def end_session(self) -> None:
        """Ends the log-in of this page and the general one."""
        for name, token in self._session_tokens.items():
            await self.backend.write(sessions.end, self.backend.master_key, token)
            self.keep_cookie(name, "", 0)

    # Replies.

    def wrong(self, field: str) -> str | None:
        """Why this field of the form was refused."""
        return None if self.problem is None else self.problem.fields.get(field)

    def page(self, template: str, status: int | None = None, **values: object) -> Reply:
        html = render(self.named(template), self.language, **self.common(), **values)
        return self.html(html, status)

    def named(self, template: str) -> list[str]:
        return [folder + template for folder in self.folders]

    def common(self) -> dict[str, object]:
        here = self.path if self.http.method != "POST" else self.home
        return {
            "request": self,
            "problem": self.problem,
            "form_token": self.form_token,
            "here": here,
        }

    def html(self, text: str, status: int | None) -> Reply:
        found = 200 if self.problem is None else self.problem.status
        return Reply(status or found, text.encode(), content_type=HTML)

    def json(self, value: dict[str, str]) -> Reply:
        return Reply(200, msgspec.json.encode(value))

    async def state_reply(self, read: Callable[[], Awaitable[str]], *keys: Key) -> Reply:
        """The state of what a page shows; `?status=` has the state that it shows now."""
        live, admission = self.backend.live, self.backend.page_admission
        known = self.query.get("status")
        return self.json(await live.state(self.http, admission, read, known, keys))

    def go(self, path: str, status: int = 303) -> Reply:
        """Redirects after a form, so that a reload does not send the form again."""
        location = quote(path, safe=_SAFE_IN_LOCATION).encode()
        return Reply(status, headers=((b"location", location),), content_type=b"")

    def refusal(self, status: int, name: str, back: str | None = None) -> Reply:
        """A page that says why nothing was shown or done; `name` is a text of `[problem]`."""
        values = {**self.common(), "problem": name, "back": back}
        return self.html(render(["problem.html"], self.language, **values), status)

    def no_such_page(self, status: int = 404) -> Reply:
        return self.refusal(status, "not_found")

    def come_back(self, status: int, name: str, seconds: float) -> Reply:
        """A refusal that ends after some seconds."""
        return self.refusal(status, name).plus((b"retry-after", str(math.ceil(seconds)).encode()))

    def finish(self, reply: Reply) -> Reply:
        headers: list[Header] = [NO_STORE]
        if self.problem is not None and self.problem.retry_after is not None:
            headers.append((b"retry-after", str(self.problem.retry_after).encode()))
        for name, value, seconds in self._set:
            headers.append(set_cookie(name, value, seconds, secure=self.http.secure))
        return reply.plus(*headers)


def _read_query(query: bytes) -> dict[str, str]:
    """The last parameter of a name counts. A query with too many parameters counts as empty.

    The database has no zero bytes in texts.
    """
    if query.count(b"&") >= MAX_FIELDS:
        return {}
    fields = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    return {name: value.replace("\0", "") for name, value in fields}


def read_count(text: str) -> int:
    """A count that a form carries; -1, which never matches, for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
