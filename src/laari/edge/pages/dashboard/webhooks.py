"""Webhooks: where they go, what became of each, sending one again and sending a sample."""

import json
import os
from typing import NamedTuple

import msgspec
from msgspec import Struct

from laari.edge.input.fields import choice
from laari.edge.merchant.events import LISTING, EventQuery
from laari.edge.merchant.lists import AFTER, LIMIT, Query
from laari.edge.pages.dashboard.desk import Desk, desk_route
from laari.edge.pages.dashboard.listing import older, read_list
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.events import EVENTS, SAMPLE_EVENT, EventBody, sample_event
from laari.rules.records import Event
from laari.rules.refusals import Refusal, refuse
from laari.rules.webhooks import check_webhook_url
from laari.store.people import merchants
from laari.store.reads import deliveries, events

TYPES = (*EVENTS, SAMPLE_EVENT)
LIST_QUERY = Query(
    EventQuery, LIMIT, AFTER, choice("type", TYPES), choice("delivered", ("true", "false"))
)

_ABOUT = {
    "payment": ("payment", "payments", ids.PAYMENT),
    "payment_request": ("payment request", "requests", ids.PAYMENT_REQUEST),
    "authorization": ("authorization", "authorizations", ids.AUTHORIZATION),
}


async def show(desk: Desk, problem: Refusal | None = None, url: str | None = None) -> Reply:
    asked = read_list(desk, LIST_QUERY, LISTING)
    if isinstance(asked, Refusal):
        return desk.page(
            "webhooks.html", problem=asked, url=None, written={}, rows=[], told={}, states={},
            older=None, types=TYPES,
        )  # fmt: skip
    delivered, event_type = asked.query.delivered, asked.query.type
    found = await desk.backend.page(
        events.of_tenant(
            desk.tenant.id,
            asked.window,
            types=None if event_type is None else [event_type],
            delivered=None if delivered is None else delivered == "true",
        )
    )
    return await desk.long_page(
        "webhooks.html",
        problem=problem,
        url=url,
        written=asked.written,
        rows=found.rows,
        told={event.id: _read_body(event.body).data for event in found.rows},
        states=await desk.backend.delivery_states([event.id for event in found.rows]),
        older=older(desk, asked, LISTING, found),
        types=TYPES,
    )


async def save(desk: Desk) -> Reply:
    """An empty URL removes it."""
    url = desk.form.get("webhook_url", "").strip()
    if url:
        refusal = check_webhook_url(url, desk.backend.settings.webhook_allow_private)
        if refusal is not None:
            message = refusal.message.replace("webhook_url", "The URL")
            return await show(desk, refusal._replace(message=message), url)
    problem = await desk.confirm()
    if problem is not None:
        return await show(desk, problem, url)
    await desk.backend.write(
        merchants.update, desk.merchant.id, webhook_url=url, webhooks="webhooks" in desk.form
    )
    return desk.go("/webhooks", done="webhook")


async def send_sample(desk: Desk) -> Reply:
    if desk.merchant.webhook_url is None or not desk.merchant.webhooks:
        message = "Set a URL and switch webhooks on first."
        return await show(desk, refuse("conflict", message))
    sample = sample_event(desk.tenant, desk.now, os.urandom)
    await desk.backend.write(deliveries.save_events, [sample])
    return desk.go(f"/webhooks/{ids.show_id(ids.EVENT, sample.id)}", done="tested")


async def _find(desk: Desk) -> Event | None:
    event_id = desk.id(ids.EVENT)
    event = None if event_id is None else await desk.backend.events.get(event_id)
    return event if event is not None and event.tenant_id == desk.tenant.id else None


class About(NamedTuple):
    """What an event tells of, and its page."""

    noun: str
    path: str


class Told(Struct, frozen=True):
    """What names the resource in an event's body; a sample has neither."""

    reference: str | None = None
    amount: int | None = None


_read_body = msgspec.json.Decoder(EventBody[Told]).decode


def _about(desk: Desk, event: Event) -> About | None:
    """By the event's type, whose first word is the kind; a sample is about nothing."""
    found = _ABOUT.get(event.type.partition(".")[0])
    if found is None:
        return None
    noun, section, prefix = found
    return About(noun, desk.path(f"/{section}/{ids.show_id(prefix, event.object_id)}"))


async def show_event(desk: Desk, problem: Refusal | None = None) -> Reply:
    event = await _find(desk)
    if event is None:
        return desk.missing()
    states = await desk.backend.delivery_states([event.id])
    attempts = await desk.backend.ask(events.attempts_of, [event.id])
    return desk.page(
        "event.html",
        problem=problem,
        event=event,
        state=states.get(event.id),
        attempts=attempts.get(event.id, []),
        about=_about(desk, event),
        body=json.dumps(json.loads(event.body), indent=2, ensure_ascii=False),
    )


async def resend(desk: Desk) -> Reply:
    event = await _find(desk)
    if event is None:
        return desk.missing()
    if desk.merchant.webhook_url is None or not desk.merchant.webhooks:
        message = "Set a URL and switch webhooks on first."
        return await show_event(desk, refuse("conflict", message))
    await desk.backend.write(deliveries.resend, event.id)
    return desk.go(f"/webhooks/{desk.visit.params['id']}", done="resent")


ROUTES = [
    desk_route("/webhooks", get=show, post=save),
    desk_route("/webhooks/sample", post=send_sample),
    desk_route("/webhooks/{id}", get=show_event),
    desk_route("/webhooks/{id}/resend", post=resend),
]
