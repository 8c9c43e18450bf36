"""The records of movements that wait for a second person."""

from datetime import date, datetime
from typing import Literal, NamedTuple
from uuid import UUID

from msgspec import Struct

from laari.rules.records.payments import RefundReason


class PersonDay(Struct, frozen=True):
    """The sum that a person of the operator moved alone on a day, and their movements so far."""

    person: str
    # These change after creation:
    day: date
    alone: int
    movements: int = 0  # also those that wait or are of a sandbox


class Help(NamedTuple):
    """Somebody gave an operator the role, or could see the log-in of a person."""

    email: str  # of the person
    by: str  # the name of who did it, as `written`
    at: datetime


PendingMovementKind = Literal[
    "topup",
    "adjustment",
    "refund",
    "release",
    "merchant_adjustment",
    "assign",
    "send_back",
    "charge",
    "sweep",
    "return",
    "bank_account",
    "import",
]


class PendingMovement(Struct, frozen=True):
    """A movement that waits for a second person."""

    id: UUID
    requested_at: datetime
    requested_by: str  # with the kind of the actor
    kind: PendingMovementKind
    amount: int
    details: str
    account: int | None  # the wallet
    tenant_id: int | None  # the merchant
    payout_id: UUID | None  # that the bank returned
    reference: str | None  # of the slip, the bank's line, the order or the payment
    below_zero: bool
    refund_reason: RefundReason | None
    refund_note: str | None
    matches: str | None  # the digest of what the lines of a statement become
    # Of a bank account:
    holder: str | None
    bank: str | None
    account_number: str | None
    # These change after creation:
    status: Literal["waiting", "done", "refused"] = "waiting"
    decided_at: datetime | None = None
    decided_by: str | None = None
    reason: str | None = None  # of a refusal
    tid: str | None = None
