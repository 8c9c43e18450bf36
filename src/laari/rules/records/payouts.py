"""The records of payouts, their runs and orders."""

from datetime import date, datetime
from typing import Literal, NamedTuple
from uuid import UUID

from msgspec import Struct

from laari.rules.records.bank_accounts import owner
from laari.rules.records.ledger import MovementType
from laari.rules.records.tenants import Mode


class PayoutTerms(Struct, frozen=True):
    """The agreement with a merchant about payouts; these are the defaults."""

    tenant_id: int
    minimum: int = 1
    fee: int = 0
    on_request: bool = False  # its people may ask for a payout
    paused_reason: str | None = None  # no payouts while it is set


PayoutStatus = Literal["requested", "approved", "sent", "settled", "returned", "cancelled"]


class Payout(Struct, frozen=True):
    """Money on its way from a merchant's balance to its bank account.

    It consists of the movements before `cut_off` that `snapshot` shows, without those of the
    payouts before. The amount is their sum, after the fee. A withdrawal belongs to a wallet
    instead, and consists of no movements.
    """

    id: UUID
    tenant_id: int | None
    number: int  # among the payouts of the owner
    amount: int
    fee: int
    cut_off: datetime
    snapshot: str  # the transactions that had ended, as PostgreSQL writes them
    transfer_id: UUID
    created_at: datetime
    actor_kind: str
    actor_name: str
    account: int | None = None  # of a withdrawal
    # These change after creation:
    status: PayoutStatus = "requested"
    run_id: UUID | None = None
    bank_account_id: UUID | None = None
    returned_amount: int = 0
    approved_at: datetime | None = None
    sent_at: datetime | None = None
    settled_at: datetime | None = None
    returned_at: datetime | None = None
    cancelled_at: datetime | None = None
    cancelled_transfer_id: UUID | None = None

    @property
    def owner(self) -> int:
        return owner(self.tenant_id, self.account)


class PayoutMovement(Struct, frozen=True):
    """One transfer of the merchant's account that belongs to a payout."""

    id: UUID  # of the transfer
    type: MovementType
    created_at: datetime
    amount: int  # signed
    payment_id: UUID | None
    refund_id: UUID | None


class Due(Struct, frozen=True):
    """The state of a merchant's money in one snapshot, for a payout up to `cut_off`."""

    balance: int
    later: int  # the sum of movements at the cut-off or after it, without payouts
    cut_off: datetime  # never before that of the last payout
    snapshot: str


class PayoutRun(Struct, frozen=True):
    """The payouts that one file sends to the bank."""

    id: UUID
    mode: Mode
    number: int
    day: date  # the last day whose movements it pays out
    created_at: datetime
    created_by: str
    # These change after creation:
    status: Literal["requested", "approved", "sent", "cancelled"] = "requested"
    approved_at: datetime | None = None
    approved_by: str | None = None
    sent_at: datetime | None = None
    sent_by: str | None = None


class StoredBankFile(Struct, frozen=True):
    """The bytes that were made for the bank."""

    run_id: UUID
    value_date: date
    order_count: int
    total: int
    digest: str
    content: bytes


class BankOrder(Struct, frozen=True):
    """One order of a payout to the bank; the bank answers each."""

    reference: str
    payout_id: UUID
    place: int
    amount: int
    # These change after creation:
    status: Literal["sent", "settled", "returned"] = "sent"
    settled_at: datetime | None = None
    returned_at: datetime | None = None
    settled_transfer_id: UUID | None = None
    returned_transfer_id: UUID | None = None
    return_reason: str | None = None  # in the bank's words


class RunNumbers(NamedTuple):
    """The number of the last run, and the open one."""

    last: int
    open: PayoutRun | None


class ApprovedRun(NamedTuple):
    """When a run was approved, and its total without payouts that were cancelled."""

    approved_at: datetime
    total: int
