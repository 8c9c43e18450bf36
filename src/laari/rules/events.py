"""Events that merchants are notified of. The decision makes the bytes of a notification."""

from datetime import datetime
from typing import Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar
from uuid import UUID

from msgspec import Struct

from laari.rules import ids
from laari.rules.calendar import show_utc
from laari.rules.records.events import Event
from laari.rules.records.tenants import Tenant
from laari.rules.shapes.authorizations import Authorization
from laari.rules.shapes.envelopes import to_json
from laari.rules.shapes.fields import EventId, UtcTimestamp
from laari.rules.shapes.payments import AnyPayment, HostedPayment
from laari.rules.shapes.payouts import Payout
from laari.rules.shapes.refunds import RefundData
from laari.rules.shapes.requests import PaymentRequest
from laari.rules.world import World

T = TypeVar("T")

PAYLOAD_VERSION = 1
SAMPLE_EVENT: Final = "webhook.test"  # unlike any real event, so that nobody takes it for a payment


class EventBody(Struct, Generic[T], frozen=True):
    """A webhook notification."""

    id: EventId
    type: str
    payload_version: int
    mode: Literal["active", "sandbox"]
    created_at: UtcTimestamp
    data: T


class SampleData(Struct, frozen=True):
    """The data of a sample, instead of a resource."""

    message: str


class EventKind(NamedTuple):
    """The description of a type of event in the reference."""

    meaning: str
    shape: object  # the type of its `data`


# The names are a closed type: a misspelt type of event fails the type check.
EventType: TypeAlias = Literal[
    "payment.created",
    "payment.paid",
    "payment.cancelled",
    "payment.expired",
    "payment.refunded",
    "payment_request.created",
    "payment_request.paid",
    "payment_request.rejected",
    "payment_request.cancelled",
    "payment_request.expired",
    "authorization.created",
    "authorization.approved",
    "authorization.rejected",
    "authorization.cancelled",
    "authorization.revoked",
    "payout.sent",
    "payout.settled",
    "payout.returned",
]

EVENTS: dict[EventType, EventKind] = {
    "payment.created": EventKind("A hosted payment was created.", HostedPayment),
    "payment.paid": EventKind(
        "A hosted payment or a charge of an authorization completed.", AnyPayment
    ),
    "payment.cancelled": EventKind("A payment was cancelled.", HostedPayment),
    "payment.expired": EventKind("A pending payment was marked expired.", HostedPayment),
    "payment.refunded": EventKind(
        "A payment, or a part of it, was refunded. Each refund has one.", RefundData
    ),
    "payment_request.created": EventKind("A payment request was created.", PaymentRequest),
    "payment_request.paid": EventKind("A customer paid a payment request.", PaymentRequest),
    "payment_request.rejected": EventKind("A customer rejected a payment request.", PaymentRequest),
    "payment_request.cancelled": EventKind("A payment request was cancelled.", PaymentRequest),
    "payment_request.expired": EventKind("A pending payment request expired.", PaymentRequest),
    "authorization.created": EventKind(
        "An authorization was created and awaits approval.", Authorization
    ),
    "authorization.approved": EventKind("The customer approved.", Authorization),
    "authorization.rejected": EventKind("The customer declined.", Authorization),
    "authorization.cancelled": EventKind("A pending authorization was cancelled.", Authorization),
    "authorization.revoked": EventKind("An approved authorization was revoked.", Authorization),
    "payout.sent": EventKind("A payout was sent to the bank.", Payout),
    "payout.settled": EventKind("The bank confirmed a payout.", Payout),
    "payout.returned": EventKind(
        "The bank returned a payout, or a part of it. The money is in the balance again.", Payout
    ),
}


def emit(
    world: World, tenant: Tenant, event_type: EventType, object_id: UUID, shape: Struct
) -> None:
    """Adds an event to the batch, with its exact bytes."""
    event = new_event(world.new_id(), tenant, event_type, object_id, world.at(tenant), shape=shape)
    world.events.append(event)


def emit_again(
    world: World, tenant: Tenant, event_type: EventType, object_id: UUID, shape: Struct
) -> None:
    """Adds an event that may happen to an object several times, but once in a batch."""
    told = (object_id, event_type)
    world.events[:] = [each for each in world.events if (each.object_id, each.type) != told]
    emit(world, tenant, event_type, object_id, shape)


def sample_event(tenant: Tenant, now: datetime, random: ids.Random) -> Event:
    """A sample for trying a receiver; nothing has happened."""
    message = SampleData("A sample. Nothing has happened.")
    event_id, object_id = ids.new_id(now, random), ids.new_id(now, random)
    return new_event(event_id, tenant, SAMPLE_EVENT, object_id, now, shape=message)


def new_event(
    event_id: UUID,
    tenant: Tenant,
    event_type: EventType | Literal["webhook.test"],
    object_id: UUID,
    created_at: datetime,
    *,
    shape: Struct,
) -> Event:
    body = EventBody(
        id=ids.show_id(ids.EVENT, event_id),
        type=event_type,
        payload_version=PAYLOAD_VERSION,
        mode="active" if tenant.mode == "live" else "sandbox",
        created_at=show_utc(created_at),
        data=shape,
    )
    return Event(
        id=event_id,
        tenant_id=tenant.id,
        type=event_type,
        object_id=object_id,
        created_at=created_at,
        body=to_json(body),
    )
