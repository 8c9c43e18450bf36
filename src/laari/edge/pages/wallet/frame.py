"""What all pages of the wallet application share: the log-in, the frame around them, and paging."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, TypeVar
from urllib.parse import quote
from uuid import UUID

from laari.edge.pages.language import ENGLISH
from laari.edge.pages.visit import Handler, PageRoute, Visit, page_route
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.records import Tenant
from laari.spine.coalesce import Coalesced
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


T = TypeVar("T")


def for_one(
    find: Callable[[Visit, CustomerSession], Awaitable[T | None]],
    handler: Callable[[Visit, CustomerSession, T], Awaitable[Reply]],
) -> CustomerHandler:
    """For one row of the customer's own; anybody else's does not exist."""

    async def handle(visit: Visit, customer: CustomerSession) -> Reply:
        one = await find(visit, customer)
        if one is None:
            section = "/".join(visit.path.split("/")[:3])
            return visit.refusal(404, "not_found", back=section)
        return await handler(visit, customer, one)

    return handle


class OfAccount(Protocol):
    @property
    def account(self) -> int | None: ...


W = TypeVar("W", bound=OfAccount)


async def own_row(
    visit: Visit, customer: CustomerSession, prefix: str, rows: Coalesced[UUID, W]
) -> W | None:
    """The row that the address names, if it belongs to this customer."""
    row_id = ids.read_id(prefix, visit.params["id"])
    row = None if row_id is None else await rows.get(row_id)
    return row if row is not None and row.account == customer.account else None


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


class OfTenant(Protocol):
    @property
    def tenant_id(self) -> int: ...


async def tenants_of(visit: Visit, rows: Iterable[OfTenant]) -> dict[int, Tenant]:
    """The merchants behind these rows, each in the mode of its row."""
    ids = list({row.tenant_id for row in rows})
    found = await asyncio.gather(*map(visit.backend.tenants.get, ids))
    return {tenant.id: tenant for tenant in found if tenant is not None}
