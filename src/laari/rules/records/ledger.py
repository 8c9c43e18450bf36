"""The record of the ledger."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

TransferKind = Literal[
    "payment",
    "fee",
    "refund",
    "topup",
    "adjustment",
    "payout",
    "payout_fee",
    "payout_settled",
    "payout_returned",
    "hold",
    "release",
    "merchant_adjustment",
    "receipt",
    "withdrawal",
    "sweep",
    "bank_charge",
]

# Movements of a merchant's balance that a payout can consist of.
MovementType = Literal[
    "payment",
    "fee",
    "refund",
    "payout_fee",
    "payout_returned",
    "hold",
    "release",
    "merchant_adjustment",
]


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
