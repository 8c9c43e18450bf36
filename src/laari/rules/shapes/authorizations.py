"""Authorizations as JSON, and the preview of a charge."""

from typing import Literal

from msgspec import Struct

from laari.rules import ids, records
from laari.rules.calendar import Interval, show, show_or_none
from laari.rules.shapes.fields import (
    Amount,
    ApprovalUrl,
    AuthorizationId,
    AuthorizationStatus,
    AuthorizationTitle,
    Description,
    Limit,
    MaxPayments,
    Reference,
    ReturnUrl,
    Timestamp,
)


class PeriodLimit(Struct, frozen=True):
    """A limit for each calendar period of Maldives time; without an amount it has no effect."""

    interval: Interval
    amount: Limit


class AuthorizationLimits(Struct, frozen=True):
    """All of them apply together."""

    per_payment: Limit
    period: PeriodLimit | None
    total: Limit
    max_payments: MaxPayments


class AuthorizationUsage(Struct, frozen=True):
    """Lifetime usage of the authorization; refunds do not reduce it."""

    payment_count: int
    total_paid: Amount


class Authorization(Struct, frozen=True):
    """A customer's permission to be charged later, within limits."""

    id: AuthorizationId
    reference: Reference
    title: AuthorizationTitle
    description: Description
    type: records.AuthorizationType
    currency: Literal["MVR"]
    limits: AuthorizationLimits
    usage: AuthorizationUsage
    status: AuthorizationStatus
    approval_url: ApprovalUrl
    approval_expires_at: Timestamp
    expires_at: Timestamp | None
    return_url: ReturnUrl
    approved_at: Timestamp | None
    rejected_at: Timestamp | None
    revoked_at: Timestamp | None
    last_used_at: Timestamp | None
    created_at: Timestamp
    updated_at: Timestamp


def authorization_shape(authorization: records.Authorization, origin: str) -> Authorization:
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

    per_payment: Limit
    period: Limit
    total: Limit
    payments: MaxPayments


class ChargePreview(Struct, frozen=True):
    """The result of a new charge now, without the customer's private balance and wallet limits."""

    amount: Amount
    would_succeed: bool
    code: str | None
    message: str | None
    remaining: RemainingLimits
    period_resets_at: Timestamp | None
