"""Events for the merchant, to reconcile and to fetch events that no webhook delivered."""

from typing import Literal, TypeVar

from msgspec import Raw, Struct

from laari.edge.input.fields import NO_QUERY, Query, choice
from laari.edge.merchant.lists import (
    AFTER,
    CREATED_FROM,
    CREATED_TO,
    LIMIT,
    PageQuery,
    page_body,
    read_window,
)
from laari.edge.merchant.operations import ANY_READ_SCOPE, Context, Operation, Read
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.calendar import show_or_none
from laari.rules.events import EVENTS, SAMPLE_EVENT, EventBody
from laari.rules.records.events import Event
from laari.rules.refusals import Refusal, refuse
from laari.rules.shapes.envelopes import Data, to_json
from laari.rules.shapes.fields import Timestamp
from laari.store.reads import events
from laari.store.reads.events import DeliveryState

T = TypeVar("T")

LISTING = "events"


class EventDelivery(Struct, frozen=True):
    """The delivery of the event; `next_attempt_at` only while it is pending."""

    status: Literal["pending", "delivered", "failed"]
    attempts: int
    next_attempt_at: Timestamp | None


class ListedEvent(EventBody[T], frozen=True):
    """An event exactly as webhooks carry it, and its delivery: null if no webhook was set."""

    delivery: EventDelivery | None


class EventQuery(PageQuery, frozen=True, kw_only=True):
    type: str | None = None
    delivered: Literal["true", "false"] | None = None


def shown(event: Event, state: DeliveryState | None) -> Raw:
    """The stored bytes of the event with one more member."""
    delivery = state and EventDelivery(
        state.status, state.attempts, show_or_none(state.next_attempt_at)
    )
    return Raw(event.body[:-1] + b',"delivery":' + to_json(delivery) + b"}")


def read_scope(event_type: str) -> str:
    """The scope to read an event of this type."""
    if event_type == SAMPLE_EVENT:
        return ANY_READ_SCOPE
    return f"{event_type.partition('.')[0]}s:read"


async def get(context: Context, query: None) -> Reply | Refusal:
    event = await context.backend.events.get(context.id(ids.EVENT))
    if event is None or event.tenant_id != context.tenant.id:
        return refuse("not_found")
    if not context.caller.may(read_scope(event.type)):
        return context.caller.lacks(read_scope(event.type))
    states = await context.backend.delivery_states([event.id])
    return Reply(200, to_json(Data(shown(event, states.get(event.id)))))


async def list_events(context: Context, query: EventQuery) -> Reply | Refusal:
    tenant, backend = context.tenant, context.backend
    window = read_window(query, backend.cursors, LISTING, tenant.id)
    if isinstance(window, Refusal):
        return window
    asked = query.type
    if asked is not None and not context.caller.may(read_scope(asked)):
        return context.caller.lacks(read_scope(asked))
    # An event shows its resource, so a token sees only events of resources that it may read.
    every = (*EVENTS, SAMPLE_EVENT)
    readable = [name for name in every if context.caller.may(read_scope(name))]
    types = [asked] if asked is not None else None if len(readable) == len(every) else readable
    found = await backend.page(
        events.of_tenant(
            tenant.id,
            window,
            types=types,
            delivered=None if query.delivered is None else query.delivered == "true",
        )
    )
    states = await backend.delivery_states([event.id for event in found.rows])
    shapes = (shown(event, states.get(event.id)) for event in found.rows)
    return Reply(200, page_body(shapes, found, window, backend.cursors, LISTING, owner=tenant.id))


LIST = Read(
    path="/events",
    name="list_events",
    summary="List events, newest first",
    scope=ANY_READ_SCOPE,
    get=list_events,
    query=Query(
        EventQuery,
        LIMIT,
        AFTER,
        choice("type", tuple(EVENTS)),
        choice("delivered", ("true", "false")),
        CREATED_FROM,
        CREATED_TO,
    ),
    shape=ListedEvent,
    is_list=True,
)
GET = Read(
    path="/events/{id}",
    name="get_event",
    summary="Get an event",
    scope=ANY_READ_SCOPE,
    query=NO_QUERY,
    get=get,
    shape=ListedEvent,
    refusals=("not_found",),
)

OPERATIONS: tuple[Operation, ...] = (LIST, GET)
