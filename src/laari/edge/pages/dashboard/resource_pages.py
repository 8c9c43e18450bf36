"""Lists and pages of payments, payment requests and authorizations in the dashboard."""

from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, TypeVar
from urllib.parse import urlencode

from laari.edge.input.fields import Query
from laari.edge.merchant.lists import ListQuery, PageQuery, read_window
from laari.edge.merchant.operations import Write
from laari.edge.pages.dashboard.days import DAY_FIELDS, read_days
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.person import long
from laari.edge.pages.request import shown
from laari.edge.pages.routes import Handler
from laari.edge.resources import R, Resource
from laari.http.messages import Reply
from laari.rules.calendar import show
from laari.rules.lifecycle import Payable, shown_state
from laari.rules.refusals import Refusal
from laari.store.reads.listing import Found, Listed, Listing, Window

Q = TypeVar("Q", bound=PageQuery)
F = TypeVar("F", bound=Listed)
T = TypeVar("T")


class ListRequest(NamedTuple, Generic[Q]):
    """The parameters of a list: as written in the form and as checked, and the window."""

    written: dict[str, str]
    query: Q
    window: Window


def read_list(request: DashboardRequest, query: Query[Q], listing: str) -> ListRequest[Q] | Refusal:
    """Reads the parameters of the merchant API from a form, whose empty fields do not count.

    The form has the days of creation, both included, or a preset instead of times.
    """
    written = {name: value for name, value in request.query.items() if value.strip()}
    sent = {name: value for name, value in written.items() if name not in DAY_FIELDS}
    if written.keys() & set(DAY_FIELDS):
        days = read_days(request)
        if isinstance(days, Refusal):
            return days
        written = {**sent, "first": str(days.first), "last": str(days.last)}
        sent |= {"created_from": show(days.begin), "created_to": show(days.end)}
    read = query.read([*sent.items()])
    if isinstance(read, Refusal):
        return read
    window = read_window(read, request.backend.cursors, listing, request.tenant.id)
    if isinstance(window, Refusal):
        return window
    return ListRequest(written, read, window)


def older(
    request: DashboardRequest, asked: ListRequest[Q], listing: str, found: Found[F]
) -> str | None:
    """The query of the next page; None on the last one."""
    if found.next is None:
        return None
    cursor = request.backend.cursors.make(listing, request.tenant.id, *found.next)
    return urlencode({**asked.written, "after": cursor})


def list_page(
    resource: Resource[R],
    query: Query[ListQuery],
    template: str,
    sums: Callable[[DashboardRequest, ListRequest[ListQuery]], Awaitable[dict[str, object]]]
    | None = None,
) -> Handler[DashboardRequest]:
    """`sums` adds values for the template: the sums of all rows of the filter."""

    @long
    async def show_page(request: DashboardRequest) -> Reply:
        asked = read_list(request, query, resource.listing)
        if isinstance(asked, Refusal):
            return refused_list(request, template, asked)
        found = await request.backend.page(listing_of(request, resource, asked))
        filters = {name: value for name, value in asked.written.items() if name != "after"}
        return await request.long_page(
            template,
            written=asked.written,
            rows=found.rows,
            older=older(request, asked, resource.listing, found),
            export=urlencode(filters),
            state_of=shown_state,
            **({} if sums is None else await sums(request, asked)),
        )

    return show_page


def refused_list(request: DashboardRequest, template: str, problem: Refusal) -> Reply:
    """The list without rows, with the filters as they were written."""
    request.problem = shown(problem)
    return request.page(template, written=request.query, rows=[], older=None, is_filtered=False)


def listing_of(
    request: DashboardRequest, resource: Resource[R], asked: ListRequest[ListQuery]
) -> Listing[R]:
    filters = asked.query.filters
    if request.till is not None:
        filters["terminal_label"] = request.till
    return resource.listed(request.tenant.id, request.tenant_now, asked.window, **filters)


async def find_own(request: DashboardRequest, resource: Resource[R]) -> R | None:
    """The resource in the address, if it belongs to this tenant and, for a cashier, to the till."""
    row = await resource.of_tenant(request.backend, request.tenant, request.params["id"])
    if row is None or request.till in (None, getattr(row, "terminal_label", None)):
        return row
    return None


def for_one(
    resource: Resource[R], handler: Callable[[DashboardRequest, R], Awaitable[T]]
) -> Callable[[DashboardRequest], Awaitable[T | Reply]]:
    """Looks up the resource in the address, if this person may see it."""

    async def handle(request: DashboardRequest) -> T | Reply:
        row = await find_own(request, resource)
        return request.missing() if row is None else await handler(request, row)

    return handle


def ask_cancel(resource: Resource[Payable]) -> Handler[DashboardRequest]:
    async def ask(request: DashboardRequest, row: Payable) -> Reply:
        return request.page(
            "cancel.html",
            noun=resource.noun,
            asked=row,
            state=shown_state(row, request.tenant_now),
            back=request.resource_path,
        )

    return for_one(resource, ask)


async def run_and_show(request: DashboardRequest, operation: Write[None, T], done: str) -> Reply:
    await request.run(operation)
    return request.redirect(request.resource_path, done=done)


def cancel(resource: Resource[R], operation: Write[None, T]) -> Handler[DashboardRequest]:
    async def run(request: DashboardRequest, row: R) -> Reply:
        return await run_and_show(request, operation, "cancelled")

    return for_one(resource, run)
