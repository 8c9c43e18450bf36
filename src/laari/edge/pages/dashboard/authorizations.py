"""Authorizations: the list, and an authorization's own page with its limits and payments."""

from __future__ import annotations

from laari.edge.merchant import authorizations as interface
from laari.edge.merchant.lists import AFTER, LIMIT, ListQuery, Query, status_filter
from laari.edge.moments import moment_at
from laari.edge.pages.dashboard.desk import Desk, desk_route
from laari.edge.pages.dashboard.listing import older, read_list, state_of
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.authorizations import as_of
from laari.rules.limits import counted, current_period, remaining
from laari.rules.refusals import Refusal
from laari.store.reads import authorizations, events
from laari.store.reads.listing import Window

LIST_QUERY = Query(ListQuery, LIMIT, AFTER, status_filter(*interface.STATUSES))
NEWEST = 20


async def show_list(desk: Desk) -> Reply:
    asked = read_list(desk, LIST_QUERY, interface.LISTING)
    if isinstance(asked, Refusal):
        written = dict(desk.visit.query)
        return desk.page("authorizations.html", problem=asked, written=written, rows=[], older=None)
    found = await desk.backend.page(
        authorizations.of_tenant(
            desk.tenant.id,
            desk.now,
            asked.window,
            asked.query.status,
        )
    )
    return await desk.long_page(
        "authorizations.html",
        written=asked.written,
        rows=[as_of(row, desk.now) for row in found.rows],
        older=older(desk, asked, interface.LISTING, found),
    )


async def show(desk: Desk, problem: Refusal | None = None) -> Reply:
    authorization_id = desk.id(ids.AUTHORIZATION)
    stored = (
        None
        if authorization_id is None
        else await desk.backend.authorizations.get(authorization_id)
    )
    if stored is None or stored.tenant_id != desk.tenant.id:
        return desk.missing()
    authorization = as_of(stored, desk.now)
    moment = await moment_at(
        desk.backend, desk.tenant.mode, desk.tenant, desk.now, counted(authorization)
    )
    paid = await desk.backend.page(
        authorizations.payments_of(authorization.id, Window(limit=NEWEST))
    )
    return desk.page(
        "authorization.html",
        problem=problem,
        authorization=authorization,
        shape=interface.shown(authorization, desk.backend),
        left=remaining(authorization, current_period(authorization, moment)),
        rows=paid.rows,
        more=paid.next is not None,
        state_of=state_of,
        events=await desk.backend.ask(events.of_object, authorization.id),
    )


async def cancel(desk: Desk) -> Reply:
    outcome = await desk.run(interface.CANCEL)
    if isinstance(outcome, Refusal):
        return await show(desk, outcome)
    return desk.go(f"/authorizations/{desk.visit.params['id']}", done="cancelled")


ROUTES = [
    desk_route("/authorizations", get=show_list),
    desk_route("/authorizations/{id}", get=show),
    desk_route("/authorizations/{id}/cancel", post=cancel),
]
