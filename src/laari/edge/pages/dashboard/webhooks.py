"""Webhooks: their URL, the events and their deliveries, resending, and a sample event."""

import json
import os

import msgspec
from msgspec import Struct

from laari.edge.input.fields import Query, choice
from laari.edge.merchant.events import LISTING, EventQuery
from laari.edge.merchant.lists import AFTER, LIMIT
from laari.edge.pages.dashboard.forms import form
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.dashboard.resource_pages import older, read_list
from laari.edge.pages.person import long
from laari.edge.pages.request import RefusedForm, shown
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.operations.merchants import SET_WEBHOOK
from laari.rules import ids
from laari.rules.calendar import local_day, start_of
from laari.rules.day_ranges import read_day
from laari.rules.events import EVENTS, SAMPLE_EVENT, EventBody, sample_event
from laari.rules.records.events import Event
from laari.rules.refusals import Refusal
from laari.store.outbox import deliveries
from laari.store.reads import events, webhook_states

TYPES = (*EVENTS, SAMPLE_EVENT)
LIST_QUERY = Query(
    EventQuery, LIMIT, AFTER, choice("type", TYPES), choice("delivered", ("true", "false"))
)

# The first word of an event's type: noun, section of the dashboard, prefix of its ids.
_RESOURCES = {
    "payment": ("payment", "payments", ids.PAYMENT),
    "payment_request": ("payment request", "requests", ids.PAYMENT_REQUEST),
    "authorization": ("authorization", "authorizations", ids.AUTHORIZATION),
}


@long
async def show(request: DashboardRequest) -> Reply:
    asked = read_list(request, LIST_QUERY, LISTING)
    if isinstance(asked, Refusal):
        request.problem = shown(asked)
        return request.page(
            "webhooks.html",
            written={},
            rows=[],
            about={},
            states={},
            older=None,
            types=TYPES,
            given_up=None,
        )
    delivered, event_type = asked.query.delivered, asked.query.type
    found = await request.backend.page(
        events.of_tenant(
            request.tenant.id,
            asked.window,
            types=None if event_type is None else [event_type],
            delivered=None if delivered is None else delivered == "true",
        )
    )
    given_up = await request.backend.ask(webhook_states.given_up, request.tenant.id)
    return await request.long_page(
        "webhooks.html",
        written=asked.written,
        rows=found.rows,
        about={event.id: _read_body(event.body).data for event in found.rows},
        states=await request.backend.delivery_states([event.id for event in found.rows]),
        older=older(request, asked, LISTING, found),
        types=TYPES,
        given_up=given_up,
        given_up_day=str(local_day(given_up.since)) if given_up.since else "",
    )


async def send_sample(request: DashboardRequest) -> Reply:
    if request.merchant.webhook_url is None or not request.merchant.webhooks:
        raise RefusedForm.of(deliveries.NO_WEBHOOK)
    sample = sample_event(request.tenant, request.tenant_now, os.urandom)
    await request.backend.write(deliveries.save_events, [sample])
    return request.redirect(f"/webhooks/{ids.show_id(ids.EVENT, sample.id)}", done="tested")


async def _find(request: DashboardRequest) -> Event | None:
    event_id = ids.read_id(ids.EVENT, request.params["id"])
    event = None if event_id is None else await request.backend.events.get(event_id)
    return event if event is not None and event.tenant_id == request.tenant.id else None


class EventData(Struct, frozen=True):
    """The fields that name the resource in an event's body; a sample event has none."""

    reference: str | None = None
    amount: int | None = None
    payment: "EventData | None" = None  # of a refund


_read_body = msgspec.json.Decoder(EventBody[EventData]).decode


async def show_event(request: DashboardRequest) -> Reply:
    event = await _find(request)
    if event is None:
        return request.missing()
    states = await request.backend.delivery_states([event.id])
    attempts = await request.backend.ask(events.attempts_of, [event.id])
    # A sample event is about no resource.
    noun, section, prefix = _RESOURCES.get(event.type.partition(".")[0], (None, "", ""))
    return request.page(
        "event.html",
        event=event,
        state=states.get(event.id),
        attempts=attempts.get(event.id, []),
        noun=noun,
        resource_path=f"/{section}/{ids.show_id(prefix, event.object_id)}",
        body=json.dumps(json.loads(event.body), indent=2, ensure_ascii=False),
    )


async def resend_given_up(request: DashboardRequest) -> Reply:
    """After the receiver was down: everything that was given up since a day."""
    since = read_day(request.form.get("since", ""))
    if since is None:
        raise RefusedForm(422, "Choose the first day.")
    sent = await request.backend.write(
        deliveries.resend_given_up, request.tenant.id, start_of(since)
    )
    if isinstance(sent, Refusal):
        raise RefusedForm.of(sent)
    return request.redirect("/webhooks", done="resent_all")


async def resend(request: DashboardRequest) -> Reply:
    event = await _find(request)
    if event is None:
        return request.missing()
    refusal = await request.backend.write(deliveries.resend, event.id)
    if refusal is not None:
        raise RefusedForm.of(refusal)
    return request.redirect(f"/webhooks/{request.params['id']}", done="resent")


ROUTES = [
    form("/webhooks", SET_WEBHOOK, show, "/webhooks", "webhooks.read"),
    PageRoute(
        DashboardRequest, "/webhooks/sample", post=send_sample, page=show, needs="webhooks.manage"
    ),
    PageRoute(
        DashboardRequest,
        "/webhooks/given-up/resend",
        post=resend_given_up,
        page=show,
        needs="webhooks.manage",
    ),
    PageRoute(DashboardRequest, "/webhooks/{id}", get=show_event, needs="webhooks.read"),
    PageRoute(
        DashboardRequest,
        "/webhooks/{id}/resend",
        post=resend,
        page=show_event,
        needs="webhooks.manage",
    ),
]
