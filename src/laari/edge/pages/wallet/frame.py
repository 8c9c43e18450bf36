"""What all pages of the wallet application share: the log-in, the frame around them, and paging."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote
from uuid import UUID

from laari.edge.pages.asked import Asked, decide, one_asked
from laari.edge.pages.language import ENGLISH
from laari.edge.pages.login import unconfirmed
from laari.edge.pages.visit import Handler, PageRoute, Visit, page_route
from laari.edge.resources import Resource
from laari.http.messages import Reply
from laari.rules.actors import Payer
from laari.rules.command import Command
from laari.rules.records import Authorization, PaymentRequest, Tenant
from laari.rules.refusals import Refusal
from laari.store.people.sessions import CustomerSession
from laari.store.reads.listing import Position

PAGE = 20  # rows of a listing
PASSWORD = "/app/password"  # noqa: S105  # where it is changed

CustomerHandler = Callable[[Visit, CustomerSession], Awaitable[Reply]]


def app_route(
    path: str,
    *,
    get: CustomerHandler | None = None,
    post: CustomerHandler | None = None,
    polled: bool = False,
    first: bool = False,
) -> PageRoute:
    """An address for customers who are logged in; others are led to the log-in.

    `polled`: the page asks by itself, so it does not keep the session alive. `first`: it may be
    used before a password is changed that somebody else has set; all else leads to that change.
    """

    def logged_in(handler: CustomerHandler | None) -> Handler | None:
        return None if handler is None else _logged_in(handler, polled=polled, first=first)

    return page_route(path, get=logged_in(get), post=logged_in(post))


def _logged_in(handler: CustomerHandler, *, polled: bool, first: bool) -> Handler:
    async def guarded(visit: Visit) -> Reply:
        visit.language = ENGLISH  # the application speaks no other one yet
        customer = await visit.customer(polled=polled)
        if customer is not None:
            if customer.must_change and not first:
                return visit.go(PASSWORD)
            return await handler(visit, customer)
        wanted = visit.path if visit.http.method != "POST" else visit.home
        return visit.go(f"/app/login?next={quote(wanted)}")

    return guarded


A = TypeVar("A", bound=Asked[Any])
W = TypeVar("W", PaymentRequest, Authorization)


class OwnPages(Generic[A]):
    """The handlers for one row of the customer's own; anybody else's does not exist.

    `refused_words` say why a decision was not followed.
    """

    def __init__(
        self,
        resource: Resource[W],
        kind: Callable[[W, Tenant, datetime], A],
        page: Callable[..., Awaitable[Reply]],
        refused_words: Callable[[Visit, A, Refusal, int], Awaitable[str]],
    ) -> None:
        async def find(visit: Visit, customer: CustomerSession) -> A | None:
            row = await resource.find(visit.backend, visit.params["id"])
            own = row if row is not None and row.account == customer.account else None
            return await one_asked(visit, own, kind)

        self._find = find
        self._page = page
        self._refused_words = refused_words

    @property
    def shown(self) -> CustomerHandler:
        return self._found(self._page)

    async def status(self, visit: Visit, customer: CustomerSession) -> Reply:
        """The state alone, for the page to watch."""
        asked = await self._find(visit, customer)
        return visit.json({"status": "not_found" if asked is None else asked.state})

    def decided(
        self,
        decision: Callable[[Tenant, UUID, Payer], Command[object]],
        *states: str,
        confirmed: bool = False,
    ) -> CustomerHandler:
        """In one of these states, or in any; with a recent password if it is to be confirmed."""

        async def handle(visit: Visit, customer: CustomerSession, asked: A) -> Reply:
            async def refused(now: A, refusal: Refusal) -> Reply:
                failed = await self._refused_words(visit, now, refusal, customer.account)
                return await self._page(visit, customer, now, refusal.status, failed=failed)

            if states and asked.state not in states:  # decided in another tab, or by the merchant
                return visit.go(asked.address)
            problem = await unconfirmed(visit, customer) if confirmed else None
            if problem is not None:
                return await self._page(
                    visit, customer, asked, problem.status, failed=problem.words
                )
            command = decision(asked.tenant, asked.row.id, customer.payer)
            return await decide(visit, asked, command, lambda: self._find(visit, customer), refused)

        return self._found(handle)

    def _found(
        self, handler: Callable[[Visit, CustomerSession, A], Awaitable[Reply]]
    ) -> CustomerHandler:
        async def handle(visit: Visit, customer: CustomerSession) -> Reply:
            asked = await self._find(visit, customer)
            if asked is None:
                section = "/".join(visit.path.split("/")[:3])
                return visit.refusal(404, "not_found", back=section)
            return await handler(visit, customer, asked)

        return handle


def app_page(
    visit: Visit, customer: CustomerSession, section: str, status: int = 200, **values: object
) -> Reply:
    """A page in the application's frame; `section` is its template and its place in the menu."""
    return visit.page(
        f"app/{section}.html",
        status,
        customer=customer,
        section=section.partition("/")[0],
        **values,
    )


# Paging: an older page begins after a sealed place, which says what it is a place of.


def read_place(visit: Visit, listing: str, customer: CustomerSession) -> Position | None:
    after = visit.query.get("after", "")
    place = visit.backend.cursors.read(listing, customer.account, after)
    return None if place is None else Position(*place)


def older(
    visit: Visit, listing: str, customer: CustomerSession, place: Position | None
) -> str | None:
    """The address of the page that begins after this place."""
    if place is None:
        return None
    return f"{visit.path}?after={visit.backend.cursors.make(listing, customer.account, *place)}"
