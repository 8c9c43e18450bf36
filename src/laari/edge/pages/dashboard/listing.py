"""Lists of the dashboard: the interface's own filters and cursors, from an ordinary form."""

from typing import Generic, NamedTuple, TypeVar
from urllib.parse import urlencode

from laari.edge.merchant.lists import PageQuery, Query, read_window
from laari.edge.pages.dashboard.desk import Desk
from laari.rules.refusals import Refusal
from laari.store.reads.listing import Found, Listed, Window

Q = TypeVar("Q", bound=PageQuery)
R = TypeVar("R", bound=Listed)


class ListRequest(NamedTuple, Generic[Q]):
    """What a list was asked for: as written in the form, as checked, and which part of it."""

    written: dict[str, str]
    query: Q
    window: Window


def read_list(desk: Desk, query: Query[Q], listing: str) -> ListRequest[Q] | Refusal:
    """A form sends its empty fields too; here they mean that nothing was asked."""
    written = {name: value for name, value in desk.visit.query.items() if value.strip()}
    read = query.read([*written.items()])
    if isinstance(read, Refusal):
        return read
    window = read_window(read, desk.backend.cursors, listing, desk.tenant.id)
    if isinstance(window, Refusal):
        return window
    return ListRequest(written, read, window)


def older(desk: Desk, asked: ListRequest[Q], listing: str, found: Found[R]) -> str | None:
    """The query of the next page; None on the last one."""
    if found.next is None:
        return None
    cursor = desk.backend.cursors.make(listing, desk.tenant.id, *found.next)
    return urlencode({**asked.written, "after": cursor})
