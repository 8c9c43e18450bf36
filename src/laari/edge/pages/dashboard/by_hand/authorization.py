"""An authorization offered by hand: a tab with a total and an end, which a person charges."""

from laari.edge.merchant.authorizations import CREATE
from laari.edge.pages.dashboard.by_hand.typed import (
    new_reference,
    read_amount,
    read_deadline,
)
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.money import MAX_MONEY

NAMES = {
    "reference": "The reference",
    "title": "The text of “What for”",
    "description": "The description",
    "expires_at": "The end",
}


async def show(request: DashboardRequest) -> Reply:
    written = request.form or {"reference": new_reference("TAB")}
    return request.page("new_authorization.html", written=written)


async def create(request: DashboardRequest) -> Reply:
    form = request.form
    total = read_amount(form, "total", "The total", MAX_MONEY)
    end = read_deadline(form)
    if not end:
        raise RefusedForm(400, "The end is required.")
    texts = {name: form.get(name, "") for name in ("reference", "title", "description")}
    body = {**texts, "limits": {"total": total}, **end}
    outcome = await request.run(CREATE, body, NAMES)
    shown = ids.show_id(ids.AUTHORIZATION, outcome.id)
    return request.redirect(f"/authorizations/{shown}", done="offered")


ROUTES = [
    PageRoute(
        DashboardRequest,
        "/authorizations/new",
        get=show,
        post=create,
        needs="authorizations.create",
    )
]
