"""Payments, payment requests and authorizations at the desk: lists, one of them, and cancelling."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar
from urllib.parse import urlencode

from laari.edge.merchant.lists import ListQuery, Query
from laari.edge.merchant.operations import Write
from laari.edge.pages.dashboard.desk import Desk, DeskHandler
from laari.edge.pages.dashboard.listing import ListRequest, older, read_list
from laari.edge.resources import R, Resource
from laari.http.messages import Reply
from laari.rules.lifecycle import Payable, shown_state
from laari.rules.refusals import Refusal
from laari.store.reads.listing import Listing

T = TypeVar("T")


class Show(Protocol):
    """A resource's own page; `problem` is why what was asked there was not done."""

    def __call__(self, desk: Desk, problem: Refusal | None = None) -> Awaitable[Reply]: ...


def list_page(resource: Resource[R], query: Query[ListQuery], template: str) -> DeskHandler:
    async def show(desk: Desk) -> Reply:
        asked = read_list(desk, query, resource.listing)
        if isinstance(asked, Refusal):
            written = dict(desk.visit.query)
            return desk.page(template, problem=asked, written=written, rows=[], older=None)
        found = await desk.backend.page(listing_of(desk, resource, asked))
        filters = {name: value for name, value in asked.written.items() if name != "after"}
        return await desk.long_page(
            template,
            written=asked.written,
            rows=found.rows,
            older=older(desk, asked, resource.listing, found),
            export=urlencode(filters),
            state_of=shown_state,
        )

    return show


def listing_of(desk: Desk, resource: Resource[R], asked: ListRequest[ListQuery]) -> Listing[R]:
    return resource.listed(desk.tenant.id, desk.now, asked.window, **asked.query.filters)


def for_one(
    resource: Resource[R], handler: Callable[[Desk, R, Refusal | None], Awaitable[Reply]]
) -> Show:
    """For what the address names, if it is this tenant's."""

    async def handle(desk: Desk, problem: Refusal | None = None) -> Reply:
        row = await resource.of_tenant(desk.backend, desk.tenant, desk.visit.params["id"])
        return desk.missing() if row is None else await handler(desk, row, problem)

    return handle


def ask_cancel(resource: Resource[Payable]) -> Show:
    async def ask(desk: Desk, row: Payable, problem: Refusal | None) -> Reply:
        state = shown_state(row, desk.now)
        return desk.page(
            "cancel.html", noun=resource.noun, asked=row, state=state, back=desk.resource_path
        )

    return for_one(resource, ask)


def cancel(operation: Write[None, T], show: Show) -> DeskHandler:
    return lambda desk: run_and_show(desk, operation, show, "cancelled")


async def run_and_show(desk: Desk, operation: Write[None, T], show: Show, done: str) -> Reply:
    outcome = await desk.run(operation)
    if isinstance(outcome, Refusal):
        return await show(desk, outcome)
    return desk.go(desk.resource_path, done=done)
