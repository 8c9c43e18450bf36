"""Operations that all resources share. An overdue resource expires when it is read."""

from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID

from laari.edge.input.fields import NO_BODY, NO_QUERY, Query
from laari.edge.merchant.lists import ListQuery, page_body, read_window
from laari.edge.merchant.operations import Context, Read, Write
from laari.edge.resources import R, Resource
from laari.http.messages import Reply
from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.lifecycle import is_overdue
from laari.rules.records.tenants import Tenant, local_time
from laari.rules.refusals import Refusal, RefusalCode, refuse
from laari.rules.shapes.envelopes import Data, to_json
from laari.store.reads.listing import Found, Listing, Window


def now_of(context: Context) -> datetime:
    return local_time(datetime.now(UTC), context.tenant)


async def find_one(context: Context, resource: Resource[R]) -> R | Refusal:
    """The row that the path names, as it is now."""
    backend, tenant = context.backend, context.tenant
    row = await resource.of_tenant(backend, tenant, context.written_id)
    if row is None:
        return refuse(resource.missing)
    now = now_of(context)
    if is_overdue(row, now):
        (row,) = await resource.current(backend, tenant, [row], now)
    return row


def get_operation(resource: Resource[R], shape: object, description: str = "") -> Read[None]:
    async def get(context: Context, query: None) -> Reply | Refusal:
        row = await find_one(context, resource)
        if isinstance(row, Refusal):
            return row
        return Reply(200, to_json(Data(resource.show(row, context.backend))))

    article = "an" if resource.noun.startswith("a") else "a"
    return Read(
        path=f"{resource.path}/{{id}}",
        name=f"get_{resource.listing.removesuffix('s')}",
        summary=f"Get {article} {resource.noun}",
        scope=f"{resource.listing}:read",
        query=NO_QUERY,
        get=get,
        shape=shape,
        refusals=(resource.missing,),
        description=description,
    )


def list_operation(
    resource: Resource[R], query: Query[ListQuery], shape: object, description: str = ""
) -> Read[ListQuery]:
    async def get(context: Context, query: ListQuery) -> Reply | Refusal:
        now = now_of(context)

        def listed(window: Window) -> Listing[R]:
            return resource.listed(context.tenant.id, now, window, **query.filters)

        return await show_page(context, query, resource, resource.listing, listed, now=now)

    return Read(
        path=resource.path,
        name=f"list_{resource.listing}",
        summary=f"List {resource.noun}s, newest first",
        scope=f"{resource.listing}:read",
        get=get,
        query=query,
        shape=shape,
        is_list=True,
        description=description,
    )


async def show_page(
    context: Context,
    query: ListQuery,
    resource: Resource[R],
    listing: str,
    listed: Callable[[Window], Listing[R]],
    *,
    now: datetime,
) -> Reply | Refusal:
    tenant, backend = context.tenant, context.backend
    window = read_window(query, backend.cursors, listing, tenant.id)
    if isinstance(window, Refusal):
        return window
    found = await backend.page(listed(window))
    rows = await resource.current(backend, tenant, found.rows, now)
    if rows is not found.rows:
        # A row that was paid or cancelled meanwhile no longer has the status asked for. This page
        # is not shared with other callers any more.
        status = query.status
        found = Found([row for row in rows if status in (None, row.status)], found.next)
    if found.shown is None:
        shapes = (resource.show(row, backend) for row in found.rows)
        found.shown = page_body(shapes, found, window, backend.cursors, listing, owner=tenant.id)
    return Reply(200, found.shown)


def cancel_operation(
    resource: Resource[R],
    command: Callable[[Tenant, UUID, Actor], Command[R]],
    shape: object,
    *refusals: RefusalCode,
    summary: str = "",
    description: str = "",
) -> Write[None, R]:
    return Write(
        path=f"{resource.path}/{{id}}/cancel",
        name=f"cancel_{resource.listing.removesuffix('s')}",
        summary=summary or f"Cancel a pending {resource.noun}",
        scope=f"{resource.listing}:cancel",
        body=NO_BODY,
        command=lambda context, fields: command(
            context.tenant, context.id(resource.prefix), context.caller.actor
        ),
        show=resource.show,
        shape=shape,
        refusals=(resource.missing, *refusals),
        description=description,
    )
