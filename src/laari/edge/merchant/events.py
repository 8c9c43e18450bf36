"""Events as the merchant reads them: to reconcile, and to fetch what no webhook brought."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Raw, Struct

from laari.edge.fields import choice
from laari.edge.http import Reply
from laari.edge.merchant.lists import (
    AFTER,
    CREATED_FROM,
    CREATED_TO,
    LIMIT,
    Query,
    page_reply,
    read_window,
)
from laari.edge.merchant.operations import ANY_READ_SCOPE, Call, Operation
from laari.rules import ids
from laari.rules.calendar import show_or_none
from laari.rules.records import Event
from laari.rules.refusals import Refusal, refuse
from laari.rules.shape_fields import Timestamp
from laari.rules.shapes import EVENTS, SAMPLE_EVENT, Data, EventBody, to_json
from laari.store import events
from laari.store.events import DeliveryState

LISTING = "events"


class EventDelivery(Struct, frozen=True):
    """What became of sending the event; `next_attempt_at` only while it is pending."""

    status: Literal["pending", "delivered", "failed"]
    attempts: int
    next_attempt_at: Timestamp | None


class ListedEvent(EventBody, frozen=True):
    """An event exactly as webhooks carry it, and its delivery: null where no webhook was set."""

    delivery: EventDelivery | None


def shown(event: Event, state: DeliveryState | None) -> Raw:
    """The event's own bytes with one member more."""
    delivery = state and EventDelivery(
        state.status, state.attempts, show_or_none(state.next_attempt_at)
    )
    return Raw(event.body[:-1] + b',"delivery":' + to_json(delivery) + b"}")


def read_scope(event_type: str) -> str:
    """The scope that reads what an event of this type carries; a sample carries nothing."""
    if event_type == SAMPLE_EVENT:
        return ANY_READ_SCOPE
    return f"{event_type.partition('.')[0]}s:read"


async def get(call: Call, query: dict[str, Any]) -> Reply | Refusal:
    event = await call.backend.events.get(call.id(ids.EVENT))
    if event is None or event.tenant_id != call.caller.tenant.id:
        return refuse("not_found")
    if not call.caller.may(read_scope(event.type)):
        return call.caller.lacks(read_scope(event.type))
    states = await call.backend.delivery_states([event.id])
    return Reply(200, to_json(Data(shown(event, states.get(event.id)))))


async def list_events(call: Call, filters: dict[str, Any]) -> Reply | Refusal:
    tenant, backend = call.caller.tenant, call.backend
    window = read_window(filters, backend.cursors, LISTING, tenant.id)
    if isinstance(window, Refusal):
        return window
    asked = filters.get("type")
    if asked is not None and not call.caller.may(read_scope(asked)):
        return call.caller.lacks(read_scope(asked))
    # An event shows its resource, so a token sees the events of what it may read.
    every = (*EVENTS, SAMPLE_EVENT)
    readable = [name for name in every if call.caller.may(read_scope(name))]
    types = [asked] if asked is not None else None if len(readable) == len(every) else readable
    delivered = filters.get("delivered")
    found = await backend.page(
        events.of_tenant(
            tenant.id,
            window,
            types=types,
            delivered=None if delivered is None else delivered == "true",
        )
    )
    states = await backend.delivery_states([event.id for event in found.rows])
    shapes = (shown(event, states.get(event.id)) for event in found.rows)
    return page_reply(shapes, found, window, backend.cursors, LISTING, tenant.id)


OPERATIONS = (
    Operation(
        "GET",
        "/events",
        "list_events",
        "List events, newest first",
        ANY_READ_SCOPE,
        answer=list_events,
        query=Query(
            LIMIT,
            AFTER,
            choice("type", tuple(EVENTS)),
            choice("delivered", ("true", "false")),
            CREATED_FROM,
            CREATED_TO,
        ),
        answers=ListedEvent,
        is_list=True,
    ),
    Operation(
        "GET",
        "/events/{id}",
        "get_event",
        "Get an event",
        ANY_READ_SCOPE,
        answer=get,
        answers=ListedEvent,
        refusals=("not_found",),
    ),
)
