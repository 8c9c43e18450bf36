"""Resources as JSON, for replies and events alike; the OpenAPI document is made from these too."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

import msgspec
from msgspec import Meta, Raw, Struct

from laari.rules import ids
from laari.rules.authorization_shapes import Authorization
from laari.rules.calendar import show, show_or_none, show_utc
from laari.rules.records import Event, Payment, Tenant
from laari.rules.records import PaymentRequest as RequestRecord
from laari.rules.refusals import Refusal
from laari.rules.shape_fields import (
    Amount,
    BillNumber,
    CustomerKind,
    CustomerValue,
    Description,
    EventId,
    Fee,
    Metadata,
    NetAmount,
    NextCursor,
    PaymentId,
    PaymentReference,
    PaymentRequestId,
    PaymentStatus,
    PaymentUrl,
    QrUrl,
    Reference,
    RequestPaymentId,
    ReturnUrl,
    TerminalLabel,
    Timestamp,
    Title,
    UtcTimestamp,
)
from laari.rules.world import World

PAYLOAD_VERSION = 1


class AuthorizationPayment(Struct, frozen=True):
    """A payment made by charging an authorization."""

    id: PaymentId
    reference: Reference
    amount: Amount
    fee: Fee
    net_amount: NetAmount
    title: Title
    description: Description
    bill_number: BillNumber
    status: PaymentStatus
    payment_reference: PaymentReference
    created_at: Timestamp
    paid_at: Timestamp | None
    metadata: Metadata


class HostedPayment(Struct, frozen=True):
    """A payment with a hosted checkout page, or one made from a payment request."""

    id: PaymentId
    reference: Reference
    amount: Amount
    fee: Fee
    net_amount: NetAmount
    title: Title
    description: Description
    terminal_label: TerminalLabel
    bill_number: BillNumber
    status: PaymentStatus
    payment_url: PaymentUrl
    payment_reference: PaymentReference
    qr_url: QrUrl
    return_url: ReturnUrl
    created_at: Timestamp
    paid_at: Timestamp | None
    expires_at: Timestamp | None
    metadata: Metadata


AnyPayment = HostedPayment | AuthorizationPayment


def net_amount(payment: Payment | RequestRecord) -> int | None:
    return None if payment.fee is None else payment.amount - payment.fee


def payment_shape(payment: Payment, origin: str) -> AnyPayment:
    if payment.kind == "charge":
        return AuthorizationPayment(
            id=ids.show_id(ids.PAYMENT, payment.id),
            reference=payment.reference,
            amount=payment.amount,
            fee=payment.fee,
            net_amount=net_amount(payment),
            title=payment.title,
            description=payment.description,
            bill_number=payment.bill_number,
            status=payment.status,
            payment_reference=payment.payment_reference,
            created_at=show(payment.created_at),
            paid_at=show_or_none(payment.paid_at),
            metadata=Raw(payment.metadata),
        )
    return HostedPayment(
        id=ids.show_id(ids.PAYMENT, payment.id),
        reference=payment.reference,
        amount=payment.amount,
        fee=payment.fee,
        net_amount=net_amount(payment),
        title=payment.title,
        description=payment.description,
        terminal_label=payment.terminal_label,
        bill_number=payment.bill_number,
        status=payment.status,
        payment_url=f"{origin}/pay/{payment.token}",
        payment_reference=payment.payment_reference,
        qr_url=f"{origin}/merchant/public/qr/{payment.token}",
        return_url=payment.return_url,
        created_at=show(payment.created_at),
        paid_at=show_or_none(payment.paid_at),
        expires_at=show_or_none(payment.expires_at),
        metadata=Raw(payment.metadata),
    )


class Customer(Struct, frozen=True):
    """Who a payment is asked of."""

    type: CustomerKind
    value: CustomerValue


class PaymentRequest(Struct, frozen=True):
    """A payment asked of a customer, who finds it in the wallet application."""

    id: PaymentRequestId
    reference: Reference
    amount: Amount
    fee: Fee
    net_amount: NetAmount
    title: Title
    description: Description
    terminal_label: TerminalLabel
    bill_number: BillNumber
    status: PaymentStatus
    payment_id: RequestPaymentId
    payment_reference: PaymentReference
    customer: Customer
    return_url: ReturnUrl
    created_at: Timestamp
    paid_at: Timestamp | None
    expires_at: Timestamp
    cancelled_at: Timestamp | None
    rejected_at: Timestamp | None


def request_shape(request: RequestRecord) -> PaymentRequest:
    payment_id = request.payment_id
    return PaymentRequest(
        id=ids.show_id(ids.PAYMENT_REQUEST, request.id),
        reference=request.reference,
        amount=request.amount,
        fee=request.fee,
        net_amount=net_amount(request),
        title=request.title,
        description=request.description,
        terminal_label=request.terminal_label,
        bill_number=request.bill_number,
        status=request.status,
        payment_id=None if payment_id is None else ids.show_id(ids.PAYMENT, payment_id),
        payment_reference=request.payment_reference,
        customer=Customer(request.customer_type, request.customer_value),
        return_url=request.return_url,
        created_at=show(request.created_at),
        paid_at=show_or_none(request.paid_at),
        expires_at=show(request.expires_at),
        cancelled_at=show_or_none(request.cancelled_at),
        rejected_at=show_or_none(request.rejected_at),
    )


class ErrorDetail(Struct, frozen=True, omit_defaults=True):
    code: Annotated[str, Meta(description="What to branch on.", examples=["invalid_request"])]
    message: Annotated[
        str, Meta(description="For people; may change.", examples=["amount is required."])
    ]
    field: Annotated[
        str | None, Meta(description="Of the request, where one is at fault.", examples=["amount"])
    ] = None


class ErrorBody(Struct, frozen=True):
    """The merchant interface's error envelope."""

    error: ErrorDetail


class Data(Struct, frozen=True):
    """One resource, wrapped."""

    data: Any


class Pagination(Struct, frozen=True):
    limit: Annotated[int, Meta(examples=[20])]
    has_more: Annotated[bool, Meta(examples=[False])]
    next_cursor: NextCursor


class Page(Struct, frozen=True):
    """One page of a listing."""

    data: list[Any]
    pagination: Pagination


class EventBody(Struct, frozen=True):
    """A webhook notification."""

    id: EventId
    type: str
    payload_version: int
    mode: Literal["active", "sandbox"]
    created_at: UtcTimestamp
    data: Any


class EventKind(NamedTuple):
    """What the reference says about a type of event."""

    meaning: str
    shape: object  # the type of its `data`


EVENTS: dict[str, EventKind] = {
    "payment.created": EventKind("A hosted payment was created.", HostedPayment),
    "payment.paid": EventKind(
        "A hosted payment or a charge of an authorization completed.", AnyPayment
    ),
    "payment.cancelled": EventKind("A payment was cancelled.", HostedPayment),
    "payment.expired": EventKind("A pending payment was marked expired.", HostedPayment),
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
}


to_json = msgspec.json.Encoder().encode


def refusal_body(refusal: Refusal) -> bytes:
    return to_json(ErrorBody(ErrorDetail(refusal.public_code, refusal.message, refusal.field)))


class SampleData(Struct, frozen=True):
    """What a sample carries instead of a resource."""

    message: str


SAMPLE_EVENT = "webhook.test"  # no event of ours: nobody can take the sample for a payment


def emit(world: World, tenant: Tenant, event_type: str, object_id: UUID, shape: Struct) -> None:
    """Adds an event to the batch, its bytes frozen now."""
    world.events.append(new_event(tenant, event_type, object_id, world.at(tenant), shape))


def sample_event(tenant: Tenant, now: datetime) -> Event:
    """A sample for trying a receiver; nothing has happened."""
    message = SampleData("A sample. Nothing has happened.")
    return new_event(tenant, SAMPLE_EVENT, ids.new_id(), now, message)


def new_event(
    tenant: Tenant, event_type: str, object_id: UUID, created_at: datetime, shape: Struct
) -> Event:
    event_id = ids.new_id()
    body = EventBody(
        id=ids.show_id(ids.EVENT, event_id),
        type=event_type,
        payload_version=PAYLOAD_VERSION,
        mode="active" if tenant.mode == "live" else "sandbox",
        created_at=show_utc(created_at),
        data=shape,
    )
    return Event(event_id, tenant.id, event_type, object_id, created_at, to_json(body))
