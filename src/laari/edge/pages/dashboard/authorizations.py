"""Authorizations: the list, and an authorization's own page with its limits and payments."""

from laari.edge.merchant import authorizations as interface
from laari.edge.moments import moment_at
from laari.edge.pages.dashboard.desk import Desk, desk_route
from laari.edge.pages.dashboard.views import cancel, for_one, list_page
from laari.edge.resources import AUTHORIZATIONS
from laari.http.messages import Reply
from laari.rules.authorizations import as_of
from laari.rules.lifecycle import shown_state
from laari.rules.limits import counted, current_period, remaining
from laari.rules.records import Authorization
from laari.rules.refusals import Refusal
from laari.store.reads import authorizations, events
from laari.store.reads.listing import Window

NEWEST = 20


async def _show(desk: Desk, stored: Authorization, problem: Refusal | None) -> Reply:
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
        shape=AUTHORIZATIONS.show(authorization, desk.backend),
        left=remaining(authorization, current_period(authorization, moment)),
        rows=paid.rows,
        more=paid.next is not None,
        state_of=shown_state,
        events=await desk.backend.ask(events.of_object, authorization.id),
    )


show = for_one(AUTHORIZATIONS, _show)
_list = list_page(AUTHORIZATIONS, interface.LIST.query, "authorizations.html")
ROUTES = [
    desk_route("/authorizations", get=_list),
    desk_route("/authorizations/{id}", get=show),
    desk_route("/authorizations/{id}/cancel", post=cancel(interface.CANCEL, show)),
]
