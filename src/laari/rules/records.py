"""The rows the rules decide over, as immutable values.

The fields of a record are the columns of its table, in order: the store derives its statements
from them. Amounts are laari, always `int`.
"""

from datetime import date, datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from laari.rules.calendar import Interval

Mode = Literal["live", "sandbox"]
MODES: tuple[Mode, Mode] = ("live", "sandbox")

# A column whose sums can pass 2^63 is `numeric` in the database and still `int` here.
BigInt = Annotated[int, "numeric"]


class Tenant(Struct, frozen=True):
    """A merchant in one mode: what every resource belongs to and every command carries.

    `clock_offset_seconds` moves the sandbox's time; it is 0 in live mode. `active` is what was read
    with the rest: a command that takes money asks again, under lock (`World.is_active`).
    """

    id: int
    merchant_id: str
    merchant_name: str
    mode: Mode
    fee_bps: int
    fee_fixed: int
    clock_offset_seconds: int
    sandbox_account: int
    active: bool


class MerchantActivity(Struct, frozen=True):
    """Whether a merchant may take money."""

    id: str
    active: bool


class TenantClock(Struct, frozen=True):
    id: int
    clock_offset_seconds: int


class ReferenceClaim(Struct, frozen=True):
    """A reference taken in the one name space of payments, charges and payment requests."""

    tenant_id: int
    reference: str
    kind: Literal["payment", "charge", "request"]
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
    # What changes after creation:
    status: PaymentStatus
    fee: int | None
    paid_at: datetime | None
    payment_reference: str | None
    payer_account: int | None
    reserved_at: datetime | None
    reserved_by: int | None
    cancelled_at: datetime | None
    rejected_at: datetime | None
    refunded_at: datetime | None


CustomerType = Literal["mobile", "email", "vpa"]


class PaymentRequest(Struct, frozen=True):
    """A payment asked of a customer, who finds it in the wallet application."""

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
    # What changes after creation:
    status: PaymentStatus
    fee: int | None
    paid_at: datetime | None
    payment_id: UUID | None
    payment_reference: str | None
    reserved_at: datetime | None
    cancelled_at: datetime | None
    rejected_at: datetime | None


AuthorizationType = Literal["recurring", "unscheduled", "one_time"]
AuthorizationStatus = Literal[
    "pending", "active", "rejected", "revoked", "expired", "cancelled", "suspended", "consumed"
]


class Authorization(Struct, frozen=True):
    """A customer's permission to be charged later, within limits; None is no limit of that kind."""

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
    # What changes after creation:
    status: AuthorizationStatus  # as stored; `expired` is derived from the deadlines
    account: int | None  # the wallet of the customer who approved
    payment_count: int
    total_paid: BigInt
    period_start: date | None
    period_paid: BigInt
    approved_at: datetime | None
    rejected_at: datetime | None
    revoked_at: datetime | None
    cancelled_at: datetime | None
    last_used_at: datetime | None
    updated_at: datetime
    counted_offset_seconds: int = 0  # of the sandbox's clock, when the period was last counted


class Wallet(Struct, frozen=True):
    """A customer's account: its balance and what it has spent in the running periods."""

    account: int
    customer_id: UUID
    mode: Mode
    tier: str
    balance: int
    day_start: date
    day_spent: BigInt
    week_start: date
    week_spent: BigInt
    month_start: date
    month_spent: BigInt
    counted_offset_seconds: int = 0  # of the sandbox's clock, when the periods were last counted
    frozen_at: datetime | None = None  # nothing leaves a frozen wallet
    frozen_reason: str | None = None  # the operator's, shown to nobody else


class WalletFreeze(Struct, frozen=True):
    """A wallet was frozen, or let go again; never changed, never deleted."""

    account: int
    time: datetime
    action: Literal["frozen", "unfrozen"]
    reason: str | None


class SandboxPeriod(Struct, frozen=True):
    """What a sandbox's wallet or authorization counted in a period that it has left."""

    owner: UUID  # the customer or the authorization
    unit: Interval
    start: date
    spent: BigInt


class Tier(Struct, frozen=True):
    """What a verification tier lets a wallet spend; None is no limit."""

    name: str
    per_transaction: int | None
    daily: int | None
    weekly: int | None
    monthly: int | None


TransferKind = Literal["payment", "fee", "refund", "topup", "adjustment"]


class Transfer(Struct, frozen=True):
    """One movement of money in the ledger; never changed, never deleted."""

    id: UUID
    kind: TransferKind
    debit_account: int
    credit_account: int
    amount: int
    payment_id: UUID | None
    tid: str
    created_at: datetime


RefundReason = Literal["requested_by_customer", "duplicate", "fraudulent", "other"]


class ReasonedRefund(Struct, frozen=True):
    """Why a payment was refunded."""

    payment_id: UUID
    reason: RefundReason


class TopupSlip(Struct, frozen=True):
    """The bank's reference of the transfer that a top-up brought in: each counts once."""

    mode: Mode
    slip: str
    tid: str


TransactionType = Literal["payment", "refund", "topup", "adjustment"]


class Transaction(Struct, frozen=True):
    """A line of a customer's history; a failed one moved no money."""

    tid: str
    account: int
    time: datetime
    type: TransactionType
    name: str
    details: str
    amount: int
    status: Literal["success", "failed"]


class AccessToken(Struct, frozen=True):
    """A Bearer token that was issued, known by its digest only.

    Times are real time. `sandbox_offset_seconds` is how far the merchant's sandbox clock stood off
    when it was issued, so that its age on that clock can be told.
    """

    digest: bytes
    client_id: str
    scope: str  # space-separated, as OAuth writes it
    issued_at: datetime
    expires_at: datetime
    sandbox_offset_seconds: int


class SavedResponse(Struct, frozen=True):
    """The response to a request with an idempotency key, kept for replay, and how often that has
    happened; `resource_id` is what it shows."""

    tenant_id: int
    operation: str
    key: str
    fingerprint: bytes
    status: int
    code: str  # of the refusal, if it is one
    body: bytes
    completed_at: datetime
    replays: int = 0
    last_replayed_at: datetime | None = None
    resource_id: UUID | None = None


class Event(Struct, frozen=True):
    """A notification with its exact bytes, frozen in the transaction that caused it."""

    id: UUID
    tenant_id: int
    type: str
    object_id: UUID
    created_at: datetime
    body: bytes
