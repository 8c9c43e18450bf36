"""Resources as JSON, for replies and events alike; the OpenAPI document is made from these too."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Raw, Struct

from laari.rules import ids, records
from laari.rules.calendar import Interval, show, show_or_none, show_utc
from laari.rules.records import Event, Payment, Tenant
from laari.rules.refusals import Refusal
from laari.rules.world import World

PAYLOAD_VERSION = 1

PaymentStatus = Literal["pending", "paid", "rejected", "expired", "cancelled", "refunded"]
Timestamp = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Url = Annotated[str, Meta(extra_json_schema={"format": "uri"})]


class AuthorizationPayment(Struct, frozen=True):
    """A payment made by charging an authorization."""

    id: str
    reference: str
    amount: int
    fee: int | None
    net_amount: int | None
    title: str | None
    description: str | None
    bill_number: str | None
    status: PaymentStatus
    payment_reference: str | None
    created_at: Timestamp
    paid_at: Timestamp | None
    metadata: Raw


class HostedPayment(Struct, frozen=True):
    """A payment with a hosted checkout page, or one made from a payment request."""

    id: str
    reference: str
    amount: int
    fee: int | None
    net_amount: int | None
    title: str | None
    description: str | None
    terminal_label: str | None
    bill_number: str | None
    status: PaymentStatus
    payment_url: Url
    payment_reference: str | None
    qr_url: Url
    return_url: Url | None
    created_at: Timestamp
    paid_at: Timestamp | None
    expires_at: Timestamp | None
    metadata: Raw


def net_amount(payment: Payment) -> int | None:
    return None if payment.fee is None else payment.amount - payment.fee


def payment_shape(payment: Payment, origin: str) -> HostedPayment | AuthorizationPayment:
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
            status=payment.status,  # type: ignore[arg-type]  # the schema checks it
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
        status=payment.status,  # type: ignore[arg-type]  # the schema checks it
        payment_url=f"{origin}/pay/{payment.token}",
        payment_reference=payment.payment_reference,
        qr_url=f"{origin}/merchant/public/qr/{payment.token}",
        return_url=payment.return_url,
        created_at=show(payment.created_at),
        paid_at=show_or_none(payment.paid_at),
        expires_at=show_or_none(payment.expires_at),
        metadata=Raw(payment.metadata),
    )


AuthorizationStatus = Literal[
    "pending", "active", "rejected", "revoked", "expired", "cancelled", "suspended", "consumed"
]


class PeriodLimit(Struct, frozen=True):
    """Laari within one calendar period of Maldives time; an interval alone limits nothing."""

    interval: Interval
    amount: int | None


class AuthorizationLimits(Struct, frozen=True):
    """Limits in laari, all of them at once; null is no limit of that kind."""

    per_payment: int | None
    period: PeriodLimit | None
    total: int | None
    max_payments: int | None


class AuthorizationUsage(Struct, frozen=True):
    """Use over the whole life of the authorization; refunds do not give it back."""

    payment_count: int
    total_paid: int


class Authorization(Struct, frozen=True):
    """A customer's leave to be charged later, within limits."""

    id: str
    reference: str
    title: str
    description: str | None
    type: records.AuthorizationType
    currency: str
    limits: AuthorizationLimits
    usage: AuthorizationUsage
    status: AuthorizationStatus
    approval_url: Url
    approval_expires_at: Timestamp
    expires_at: Timestamp | None
    return_url: Url | None
    approved_at: Timestamp | None
    rejected_at: Timestamp | None
    revoked_at: Timestamp | None
    last_used_at: Timestamp | None
    created_at: Timestamp
    updated_at: Timestamp


def authorization_shape(authorization: records.Authorization, origin: str) -> Authorization:
    """An authorization whose status is already that of the moment."""
    interval = authorization.period_interval
    return Authorization(
        id=ids.show_id(ids.AUTHORIZATION, authorization.id),
        reference=authorization.reference,
        title=authorization.title,
        description=authorization.description,
        type=authorization.type,
        currency=authorization.currency,
        limits=AuthorizationLimits(
            per_payment=authorization.per_payment,
            period=PeriodLimit(interval, authorization.period_amount) if interval else None,
            total=authorization.total,
            max_payments=authorization.max_payments,
        ),
        usage=AuthorizationUsage(authorization.payment_count, authorization.total_paid),
        status=authorization.status,  # type: ignore[arg-type]  # the schema checks it
        approval_url=f"{origin}/approve/{authorization.token}",
        approval_expires_at=show(authorization.approval_expires_at),
        expires_at=show_or_none(authorization.expires_at),
        return_url=authorization.return_url,
        approved_at=show_or_none(authorization.approved_at),
        rejected_at=show_or_none(authorization.rejected_at),
        revoked_at=show_or_none(authorization.revoked_at),
        last_used_at=show_or_none(authorization.last_used_at),
        created_at=show(authorization.created_at),
        updated_at=show(authorization.updated_at),
    )


class RemainingLimits(Struct, frozen=True):
    """What is left of each limit, in laari and payments; null is no limit of that kind."""

    per_payment: int | None
    period: int | None
    total: int | None
    payments: int | None


class ChargePreview(Struct, frozen=True):
    """What a new charge would answer now; the customer's balance and wallet limits stay private."""

    amount: int
    would_succeed: bool
    code: str | None
    message: str | None
    remaining: RemainingLimits
    period_resets_at: Timestamp | None


class ErrorDetail(Struct, frozen=True, omit_defaults=True):
    code: str
    message: str
    field: str | None = None


class ErrorBody(Struct, frozen=True):
    """The merchant interface's error envelope."""

    error: ErrorDetail


class Data(Struct, frozen=True):
    """One resource, wrapped."""

    data: Any


class Pagination(Struct, frozen=True):
    limit: int
    has_more: bool
    next_cursor: str | None


class Page(Struct, frozen=True):
    """One page of a listing."""

    data: list[Any]
    pagination: Pagination


class EventBody(Struct, frozen=True):
    """A webhook notification."""

    id: str
    type: str
    payload_version: int
    mode: Literal["active", "sandbox"]
    created_at: Timestamp
    data: Any


to_json = msgspec.json.Encoder().encode


def refusal_body(refusal: Refusal) -> bytes:
    return to_json(ErrorBody(ErrorDetail(refusal.public_code, refusal.message, refusal.field)))


def emit(world: World, tenant: Tenant, event_type: str, object_id: Any, shape: Any) -> None:
    """Adds an event to the batch, its bytes frozen now."""
    event_id = ids.new_id()
    created_at = world.at(tenant)
    body = EventBody(
        id=ids.show_id(ids.EVENT, event_id),
        type=event_type,
        payload_version=PAYLOAD_VERSION,
        mode="active" if tenant.mode == "live" else "sandbox",
        created_at=show_utc(created_at),
        data=shape,
    )
    world.events.append(
        Event(event_id, tenant.id, event_type, object_id, created_at, to_json(body))
    )
