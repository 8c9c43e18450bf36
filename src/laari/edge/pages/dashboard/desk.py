"""Where one of a merchant's people works: their merchant, seen in one mode.

The mode is part of every address. So nothing has to be switched to look at the other one, a link
means the same to everybody, and two tabs in two modes never act for each other.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import TypeVar
from urllib.parse import urlencode
from uuid import UUID

from laari.edge.merchant.operations import Caller, Context, Write
from laari.edge.pages.dashboard.clock import clock_words
from laari.edge.pages.language import ENGLISH
from laari.edge.pages.login import Problem, confirm_password, is_fresh, unconfirmed
from laari.edge.pages.visit import Handler, PageRoute, Visit, page_route
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.command import Command
from laari.rules.records import Mode, Tenant
from laari.rules.refusals import Refusal, RefusalCode, refuse
from laari.rules.world import local_time
from laari.store.people import merchants
from laari.store.people.merchants import Merchant
from laari.store.people.sessions import UserSession
from laari.store.reads import tenants

B = TypeVar("B")
T = TypeVar("T")

HOME = "/dashboard"
LOGIN = f"{HOME}/login"
SIGN_UP = f"{HOME}/signup"
ACCOUNT = "/account"  # in either mode: one's own password and sessions
NOTHING: Mapping[str, object] = MappingProxyType({})  # the fields of an operation that has none
MODES: dict[str, Mode] = {"live": "live", "sandbox": "sandbox"}

# What `?done=…` says after a form that worked: nothing of the address itself is shown.
DONE = {
    "cancelled": "Cancelled.",
    "created": "The payment link is ready.",
    "refunded": "Refunded: the whole amount is back in the wallet that paid.",
    "controlled": "Done, as the sandbox customer.",
    "webhook": "Your webhook settings are saved.",
    "resent": "The event is on its way again.",
    "tested": "A sample event is on its way. Reload in a moment to see what came back.",
    "revoked": "The client is revoked; its tokens no longer work.",
    "mode": "Your credentials act in the other mode from now on.",
    "wallet": "The sandbox customer's wallet is set.",
    "clock": "The sandbox's clock is moved.",
    "password": "Your password is changed. Whoever else used the old one is logged out.",
}
# The code of what `unconfirmed` says: a page shows the words, and has the code's status.
PASSWORD_CODES: dict[Problem, RefusalCode] = {
    "wrong": "invalid_request",
    "throttled": "rate_limited",
    "busy": "service_unavailable",
}
_LOCAL_PATH = re.compile(r"/dashboard(/[A-Za-z0-9_-]+)*", re.ASCII)


class Desk:
    def __init__(self, visit: Visit, user: UserSession, merchant: Merchant, tenant: Tenant) -> None:
        self.visit = visit
        self.backend = visit.backend
        self.form = visit.form
        self.user = user
        self.merchant = merchant
        self.tenant = tenant
        self.now: datetime = local_time(visit.now, tenant)

    @property
    def moved_clock(self) -> str | None:
        """How far the sandbox's clock is from the real time; None where it shows it."""
        seconds = self.tenant.clock_offset_seconds
        return clock_words(seconds) if seconds else None

    def path(self, rest: str = "", **query: str) -> str:
        """An address of the dashboard in this mode."""
        return f"{HOME}/{self.tenant.mode}{rest}" + (f"?{urlencode(query)}" if query else "")

    @property
    def other_mode(self) -> str:
        """The same page in the other mode; what is one resource's belongs to one mode alone."""
        other = "sandbox" if self.tenant.mode == "live" else "live"
        section = self.visit.path.split("/")[3:4]
        shared = section if section and section[0] != "sandbox" else []
        return "/".join([HOME, other, *shared])

    @property
    def resource_path(self) -> str:
        """The page of the resource that the address names, in this mode."""
        return "/".join(["", *self.visit.path.split("/")[3:5]])

    def id(self, prefix: str) -> UUID | None:
        return ids.read_id(prefix, self.visit.params["id"])

    async def run(
        self, operation: Write[B, T], source: Mapping[str, object] = NOTHING
    ) -> T | Refusal:
        """Runs one of the interface's operations, on what the page's address names."""
        caller = Caller(self.tenant, scopes=None)
        context = Context(self.backend, caller, self.visit.params.get("id", ""))
        return await operation.run(context, source)

    async def submit(self, command: Command[T]) -> T | Refusal:
        """Decides what the interface has no operation for."""
        return await self.backend.spine.submit(command)

    @property
    def asks_password(self) -> bool:
        """Whether what cannot be undone, and credentials, want the password once more."""
        return not is_fresh(self.visit, self.user)

    async def confirm(self, *, always: bool = False) -> Refusal | None:
        """Takes the password from the form: always, or if the log-in is older than ten minutes."""
        check = confirm_password if always else unconfirmed
        wrong = await check(self.visit, self.user)
        return None if wrong is None else refuse(PASSWORD_CODES[wrong.problem], str(wrong.words))

    def page(
        self, template: str, status: int = 200, problem: Refusal | None = None, **values: object
    ) -> Reply:
        """A page of the dashboard; `problem` is why the form was not followed."""
        shown = self._common(problem) | values
        status = status if problem is None else problem.status
        return self.visit.page(f"dashboard/{template}", status, **shown)

    async def long_page(
        self, template: str, problem: Refusal | None = None, **values: object
    ) -> Reply:
        """The same with many rows, which is written in its turn."""
        shown = self._common(problem) | values
        status = 200 if problem is None else problem.status
        return await self.visit.long_page(f"dashboard/{template}", status, **shown)

    def _common(self, problem: Refusal | None) -> dict[str, object]:
        done = DONE.get(self.visit.query.get("done", ""))
        return {"desk": self, "problem": problem, "done": done}

    def go(self, rest: str = "", **query: str) -> Reply:
        return self.visit.go(self.path(rest, **query))

    def missing(self) -> Reply:
        return self.page("missing.html", 404)


DeskHandler = Callable[[Desk], Awaitable[Reply]]


def desk_route(
    path: str,
    *,
    get: DeskHandler | None = None,
    post: DeskHandler | None = None,
    read_only: bool = True,
    own: bool = False,
    polled: bool = False,
) -> PageRoute:
    """An address of the dashboard, once for each mode; people who are not logged in do so first.

    While the merchant is not active, its people may read the pages and change nothing. `read_only`
    is False where even looking hands something out: a file of payments, a key. `own` is about
    oneself and not about the merchant: it is always there, and also comes before a password is
    changed that somebody else has set. `polled` is what a page asks for by itself: that does not
    keep the session alive.
    """

    def at_desk(handler: DeskHandler | None, changes: bool) -> Handler | None:
        needs_active = (changes or not read_only) and not own
        return handler and _at_desk(handler, needs_active=needs_active, first=own, polled=polled)

    return page_route(
        f"{HOME}/{{mode}}{path}", get=at_desk(get, False), post=at_desk(post, True), audience="user"
    )


def _at_desk(handler: DeskHandler, *, needs_active: bool, first: bool, polled: bool) -> Handler:
    async def handle(visit: Visit) -> Reply:
        mode = MODES.get(visit.params["mode"])
        if mode is None:
            return no_such_page(visit)
        desk = await desk_of(visit, mode, polled=polled)
        if isinstance(desk, Reply):
            return desk
        if desk.user.must_change and not first:
            return desk.go(ACCOUNT)
        if needs_active and not desk.merchant.active:
            return desk.page("inactive.html", 403)
        return await handler(desk)

    return handle


def no_such_page(visit: Visit, status: int = 404) -> Reply:
    """For a merchant's people, whether they are logged in or not."""
    visit.language = ENGLISH
    return visit.page("dashboard/no_page.html", status)


async def desk_of(visit: Visit, mode: Mode, *, polled: bool = False) -> Desk | Reply:
    """The desk of whoever is logged in, or where they have to go first."""
    visit.language = ENGLISH
    user = await visit.user(polled=polled)
    if user is None:
        return visit.go(f"{LOGIN}?{urlencode({'next': visit.path})}")
    merchant = await visit.backend.ask(merchants.show, user.merchant_id)
    if mode == "live" and not merchant.has_live:
        return visit.go(f"{HOME}/sandbox")
    tenant = await visit.backend.ask(tenants.of_merchant, user.merchant_id, mode)
    return Desk(visit, user, merchant, tenant)


def local_path(text: str) -> str:
    """An address of the dashboard to go on to after the log-in, whatever a link says."""
    return text if _LOCAL_PATH.fullmatch(text) else HOME
