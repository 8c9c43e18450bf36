"""The record of authorizations."""

from datetime import date, datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from laari.rules.calendar import Interval
from laari.rules.tables import BigInt

AuthorizationType = Literal["recurring", "unscheduled", "one_time"]

AuthorizationStatus = Literal[
    "pending", "active", "rejected", "revoked", "expired", "cancelled", "suspended", "consumed"
]


class Authorization(Struct, frozen=True):
    """A customer's permission to be charged later; a limit that is None does not apply."""

    id: UUID
    tenant_id: int
    token: str
    reference: str
    title: str
    description: str | None
    type: AuthorizationType
    currency: Literal["MVR"]
    per_payment: int | None
    period_interval: Interval | None
    period_amount: int | None
    total: int | None
    max_payments: int | None
    return_url: str | None
    created_at: datetime
    approval_expires_at: datetime
    expires_at: datetime | None
    # These change after creation:
    updated_at: datetime
    status: AuthorizationStatus = "pending"  # as stored; `expired` is derived from the deadlines
    account: int | None = None  # the wallet of the customer who approved
    payment_count: int = 0
    total_paid: BigInt = 0
    period_start: date | None = None
    period_paid: BigInt = 0
    approved_at: datetime | None = None
    rejected_at: datetime | None = None
    revoked_at: datetime | None = None
    cancelled_at: datetime | None = None
    last_used_at: datetime | None = None
    counted_offset_seconds: int = 0  # of the sandbox's clock, when the period was last counted
