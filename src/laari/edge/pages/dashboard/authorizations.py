"""Authorizations: the list, and the page of one authorization with its limits and payments."""

import base64

from laari.edge.merchant import authorizations as api
from laari.edge.pages.dashboard.by_hand.link import NAMES as LINK_NAMES
from laari.edge.pages.dashboard.by_hand.typed import new_reference, read_amount
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.dashboard.resource_pages import cancel, for_one, list_page
from laari.edge.pages.person import in_words
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import PageRoute
from laari.edge.qr import qr_png
from laari.edge.resources import AUTHORIZATIONS
from laari.http.messages import Reply
from laari.rules.lifecycle import shown_state
from laari.rules.limits.payments import MAX_PAYMENT_AMOUNT
from laari.rules.payments.authorization_limits import counted, current_period, remaining
from laari.rules.payments.authorizations import as_of
from laari.rules.payments.charges import ChargeByHand
from laari.rules.records.authorizations import Authorization
from laari.rules.refusals import Refusal
from laari.rules.shapes.authorizations import authorization_shape
from laari.store.reads import authorizations, events
from laari.store.reads.listing import Window

NEWEST = 20


async def _show(request: DashboardRequest, stored: Authorization) -> Reply:
    backend, tenant = request.backend, request.tenant
    authorization = as_of(stored, request.tenant_now)
    moment = await backend.moment(tenant.mode, tenant, request.tenant_now, counted(authorization))
    shape = authorization_shape(authorization, backend.origin)
    qr = base64.b64encode(qr_png(shape.approval_url)).decode() if shape.status == "pending" else ""
    paid = await backend.page(authorizations.payments_of(authorization.id, Window(limit=NEWEST)))
    return request.page(
        "authorization.html",
        authorization=authorization,
        shape=shape,
        left=remaining(authorization, current_period(authorization, moment)),
        qr=qr,
        written=request.form or {"reference": new_reference("CHARGE")},
        rows=paid.rows,
        more=paid.next is not None,
        state_of=shown_state,
        events=await backend.ask(events.of_objects, [authorization.id]),
    )


async def _charge(request: DashboardRequest, authorization: Authorization) -> Reply:
    form = request.form
    amount = read_amount(form, "amount", LINK_NAMES["amount"], MAX_PAYMENT_AMOUNT)
    texts = {name: form.get(name, "") for name in ("reference", "title", "bill_number")}
    draft = api.CHARGE_BODY.read({**texts, "amount": amount})
    if isinstance(draft, Refusal):
        raise RefusedForm.of(in_words(draft, LINK_NAMES))
    await request.submit(ChargeByHand(request.tenant, authorization.id, draft, request.actor))
    return request.redirect(request.resource_path, done="charged")


show = for_one(AUTHORIZATIONS, _show)
_list = list_page(AUTHORIZATIONS, api.LIST.query, "authorizations.html")
_cancel = cancel(AUTHORIZATIONS, api.CANCEL)
_charge_one = for_one(AUTHORIZATIONS, _charge)
ROUTES = [
    PageRoute(DashboardRequest, "/authorizations", get=_list, needs="authorizations.read"),
    PageRoute(DashboardRequest, "/authorizations/{id}", get=show, needs="authorizations.read"),
    PageRoute(
        DashboardRequest,
        "/authorizations/{id}/charge",
        post=_charge_one,
        page=show,
        needs="authorizations.charge",
    ),
    PageRoute(
        DashboardRequest,
        "/authorizations/{id}/cancel",
        post=_cancel,
        page=show,
        needs="authorizations.cancel",
    ),
]
