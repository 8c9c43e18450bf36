"""The records of wallets, their history and their limits."""

from datetime import date, datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from laari.rules.calendar import Interval
from laari.rules.records.tenants import Mode
from laari.rules.tables import BigInt


class Wallet(Struct, frozen=True):
    """A customer's account: its balance, and its spending in the current periods."""

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
    frozen_at: datetime | None = None  # while it is set, the wallet cannot pay or approve
    frozen_reason: str | None = None  # only the operator sees it
    frozen_silently: bool = False  # the customer's pages do not name the freeze


class WalletFreeze(Struct, frozen=True):
    """A wallet was frozen or unfrozen; never changed, never deleted."""

    account: int
    time: datetime
    action: Literal["frozen", "unfrozen"]
    reason: str | None
    silent: bool = False


class SandboxPeriod(Struct, frozen=True):
    """The sum that a sandbox's wallet or authorization counted in a period it has left."""

    owner: UUID  # the customer or the authorization
    unit: Interval
    start: date
    spent: BigInt


class Tier(Struct, frozen=True):
    """How much a wallet of this verification tier can spend; None is no limit."""

    name: str
    per_transaction: int | None
    daily: int | None
    weekly: int | None
    monthly: int | None


class TopupSlip(Struct, frozen=True):
    """The bank's reference of the transfer behind a top-up; each counts once."""

    mode: Mode
    slip: str
    tid: str


TransactionType = Literal["payment", "refund", "topup", "withdraw", "adjustment"]

Failure = Literal["insufficient_balance", "per_transaction", "daily", "weekly", "monthly", "frozen"]


class Transaction(Struct, frozen=True):
    """A line of a customer's history; a failed one moved no money and says why."""

    tid: str
    account: int
    time: datetime
    type: TransactionType
    name: str
    details: str
    amount: int
    status: Literal["success", "failed"]
    failure: Failure | None = None
    unpaid_id: UUID | None = None  # the payment or request that a failed attempt did not pay
