"""Authorizations as JSON, and the preview of a charge."""

from typing import Literal

from msgspec import Struct

from laari.rules import ids
from laari.rules.calendar import Interval, show, show_or_none
from laari.rules.records import authorizations
from laari.rules.shapes import fields


class PeriodLimit(Struct, frozen=True):
    """A limit for each calendar period of Maldives time; without an amount it has no effect."""

    interval: Interval
    amount: fields.Limit


class AuthorizationLimits(Struct, frozen=True):
    """All of them apply together."""

    per_payment: fields.Limit
    period: PeriodLimit | None
    total: fields.Limit
    max_payments: fields.MaxPayments


class AuthorizationUsage(Struct, frozen=True):
    """Lifetime usage of the authorization; refunds do not reduce it."""

    payment_count: int
    total_paid: fields.Amount


class Authorization(Struct, frozen=True):
    """A customer's permission to be charged later, within limits."""

    id: fields.AuthorizationId
    reference: fields.Reference
    title: fields.AuthorizationTitle
    description: fields.Description
    type: authorizations.AuthorizationType
    currency: Literal["MVR"]
    limits: AuthorizationLimits
    usage: AuthorizationUsage
    status: fields.AuthorizationStatus
    approval_url: fields.ApprovalUrl
    approval_expires_at: fields.Timestamp
    expires_at: fields.Timestamp | None
    return_url: fields.ReturnUrl
    approved_at: fields.Timestamp | None
    rejected_at: fields.Timestamp | None
    revoked_at: fields.Timestamp | None
    last_used_at: fields.Timestamp | None
    created_at: fields.Timestamp
    updated_at: fields.Timestamp


def authorization_shape(authorization: authorizations.Authorization, origin: str) -> Authorization:
    """The caller has already derived the current status."""
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
        status=authorization.status,
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
    """The rest of each limit."""

    per_payment: fields.Limit
    period: fields.Limit
    total: fields.Limit
    payments: fields.MaxPayments


class ChargePreview(Struct, frozen=True):
    """The result of a new charge now, without the customer's private balance and wallet limits."""

    amount: fields.Amount
    would_succeed: bool
    code: str | None
    message: str | None
    remaining: RemainingLimits
    period_resets_at: fields.Timestamp | None
