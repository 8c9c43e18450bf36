"""The records of payments, payment requests and refunds, and their references."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

ReferenceKind = Literal["payment", "charge", "request"]


class ReferenceClaim(Struct, frozen=True):
    """A reference in use; payments, charges and payment requests share one name space."""

    tenant_id: int
    reference: str
    kind: ReferenceKind
    resource_id: UUID


PaymentKind = Literal["hosted", "request", "charge"]

PaymentStatus = Literal["pending", "paid", "rejected", "expired", "cancelled", "refunded"]


class Payment(Struct, frozen=True):
    id: UUID
    tenant_id: int
    kind: PaymentKind
    token: str
    reference: str
    amount: int
    title: str | None
    description: str | None
    terminal_label: str | None
    bill_number: str | None
    return_url: str | None
    metadata: str  # JSON text of an object, as it was sent
    created_at: datetime
    expires_at: datetime | None
    request_id: UUID | None
    authorization_id: UUID | None
    # These change after creation:
    status: PaymentStatus = "pending"
    fee: int | None = None
    paid_at: datetime | None = None
    payment_reference: str | None = None
    payer_account: int | None = None
    reserved_at: datetime | None = None
    reserved_by: int | None = None
    cancelled_at: datetime | None = None
    rejected_at: datetime | None = None
    refunded_at: datetime | None = None  # when all of it was refunded
    refunded_amount: int | None = None  # None instead of 0, so that no payment writes it


CustomerType = Literal["mobile", "email", "vpa"]


class PaymentRequest(Struct, frozen=True):
    """A payment that a merchant requests from one customer, in the wallet application."""

    id: UUID
    tenant_id: int
    reference: str
    amount: int
    title: str | None
    description: str | None
    terminal_label: str | None
    bill_number: str | None
    return_url: str | None
    customer_type: CustomerType
    customer_value: str
    account: int  # the recipient's wallet
    created_at: datetime
    expires_at: datetime
    # These change after creation:
    status: PaymentStatus = "pending"
    fee: int | None = None
    paid_at: datetime | None = None
    payment_id: UUID | None = None
    payment_reference: str | None = None
    reserved_at: datetime | None = None
    cancelled_at: datetime | None = None
    rejected_at: datetime | None = None


RefundReason = Literal["requested_by_customer", "duplicate", "fraudulent", "other"]


class Refund(Struct, frozen=True):
    """A payment, or a part of it, that was returned; never changed, never deleted."""

    id: UUID
    tenant_id: int
    payment_id: UUID
    amount: int
    reason: RefundReason | None
    note: str | None
    actor_kind: str
    actor_name: str
    tid: str
    created_at: datetime
