"""The records of the operator's bank account: lines, fees, sign-offs and holidays."""

from datetime import date, datetime
from typing import Literal, NamedTuple
from uuid import UUID

from msgspec import Struct

from laari.rules.records.tenants import Mode


class BankHoliday(Struct, frozen=True):
    day: date
    name: str


BankLineUse = Literal[
    "topup", "receipt", "assigned", "sent_back", "settled", "returned", "charge", "matched", "none"
]


class BankLine(Struct, frozen=True):
    """A line of the bank's statement, and what became of it."""

    reference: str  # the bank's
    day: date
    description: str
    amount: int  # negative if money left the account
    balance: int | None
    imported_at: datetime
    imported_by: str
    movement_id: UUID | None  # the import that a second person confirmed
    # These change after creation:
    use: BankLineUse
    account: int | None = None
    order_reference: str | None = None
    tid: str | None = None  # the last movement of its money
    booked_at: datetime | None = None  # when the bank account moved in the books
    handled_at: datetime | None = None
    handled_by: str | None = None


BankMovementKind = Literal["sent_back", "sweep", "order"]


class BankMovement(NamedTuple):
    """Money that the books know as gone from the live bank account, for a line that shows it.

    The books of an order have only its return: the money left and came back.
    """

    kind: BankMovementKind
    name: str  # the reference of the line that was sent back or of the order, the sweep's number
    amount: int
    tid: str | None
    time: datetime
    matched: str | None  # the reference of the line that shows it


class FeeSweep(Struct, frozen=True):
    """Fees that the operator took out of the bank account."""

    mode: Mode
    number: int
    transfer_id: UUID
    amount: int
    actor_kind: str
    actor_name: str
    created_at: datetime


class EarnedFees(Struct, frozen=True):
    """The fees that can be swept, what merchants owe beside them, and the last sweep's number.

    `balance` is negative if merchants came to owe more fees after a sweep.
    """

    balance: int
    owed: int
    last_sweep: int


class FloatSignoff(Struct, frozen=True):
    """A person compared a day of the books with the bank's closing balance."""

    id: UUID
    day: date
    closing: int
    bank_closing: int
    note: str | None
    actor_kind: str
    actor_name: str
    created_at: datetime
