"""The rows the rules decide over, as immutable values. Amounts are laari, always `int`.

The fields of a record are the columns of its table: the store derives statements from them.
"""

from datetime import date, datetime
from typing import Annotated, Literal, NamedTuple
from uuid import UUID

from msgspec import Struct

from laari.rules.calendar import Interval

Mode = Literal["live", "sandbox"]
MODES: tuple[Mode, Mode] = ("live", "sandbox")

# A column whose sums can pass 2^63 is `numeric` in the database and still `int` here.
BigInt = Annotated[int, "numeric"]


class Tenant(Struct, frozen=True):
    """A merchant in one mode; `clock_offset_seconds` moves its time and is 0 in live mode.

    A command that takes money checks `active` again, under lock (`World.is_active`).
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
    max_payment: int | None = None  # the operator's limit for new payments, in laari


class MerchantActivity(Struct, frozen=True):
    """A merchant may take money only while it is active."""

    id: str
    active: bool


class MerchantSettings(Struct, frozen=True):
    """A merchant with its settings and its keys. Its lock also protects who works there."""

    id: str
    created_at: datetime
    sandbox_account: int
    name: str
    mode: Mode  # which of its tenants its credentials open
    active: bool
    inactive_reason: str | None  # shown to its people
    secret_digest: bytes
    secret_encrypted: bytes
    old_secret_digest: bytes | None
    old_secret_encrypted: bytes | None
    old_secret_until: datetime | None
    fee_bps: int
    fee_fixed: int
    webhook_url: str | None
    webhooks_enabled: bool
    requires_factor: bool  # of all its people


ApplicationStatus = Literal["submitted", "approved", "refused", "withdrawn"]


class ApplicationAnswers(Struct, frozen=True):
    """What a shop says about itself to go live; the names are columns."""

    legal_name: str
    registration_number: str
    tax_number: str | None  # None: not registered for tax
    address: str
    bank_name: str
    bank_holder: str
    bank_account: str
    monthly_volume: int  # expected, in laari
    contact: str


class Application(ApplicationAnswers, frozen=True):
    """The answers of a shop, and the operator's decision. A decided one never changes."""

    id: UUID
    merchant_id: str
    submitted_at: datetime
    submitted_by: str
    status: ApplicationStatus = "submitted"
    decided_at: datetime | None = None
    decided_by: str | None = None
    reason: str | None = None  # shown to the merchant

    @property
    def answers(self) -> ApplicationAnswers:
        return ApplicationAnswers(
            **{name: getattr(self, name) for name in ApplicationAnswers.__struct_fields__}
        )


class OAuthClient(Struct, frozen=True):
    """A client of a merchant's programs; its last use is not a setting."""

    id: str
    merchant_id: str
    secret_digest: bytes
    name: str | None  # for people
    scope: str  # as OAuth writes it
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None = None


class ScheduledFees(Struct, frozen=True):
    """Fees of a merchant that begin later."""

    merchant_id: str
    starts_at: datetime
    fee_bps: int
    fee_fixed: int
    scheduled_by: str
    scheduled_at: datetime


class BankHoliday(Struct, frozen=True):
    day: date
    name: str


class TenantSettings(Struct, frozen=True):
    """What the operator and the sandbox set for a merchant in one mode."""

    id: int
    merchant_id: str
    mode: Mode
    clock_offset_seconds: int
    max_payment: int | None  # beside the general limit


class TenantClock(Struct, frozen=True):
    id: int
    clock_offset_seconds: int


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


Language = Literal["en", "dv"]


COUNTRY = "960"  # the prefix of mobile numbers, which are stored without it


class Contact(Struct, frozen=True):
    """A live customer, and how a message can reach them."""

    account: int
    customer_id: UUID
    email: str | None
    mobile: str | None
    language: Language


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


class TillClosing(Struct, frozen=True):
    """The sums of a till since its previous closing; never changed, never deleted."""

    id: UUID
    tenant_id: int
    till: str  # empty for payments that name none
    number: int  # counts the closings of the till
    payments: int
    gross: int
    fees: int
    refunds: int
    refunded: int
    note: str | None
    actor_kind: str
    actor_name: str
    snapshot: str  # the transactions whose movements it has, as PostgreSQL writes them
    created_at: datetime

    @property
    def net(self) -> int:
        return self.gross - self.fees - self.refunded


class Till(Struct, frozen=True):
    """A place of a shop that sells: its name is the label of the payments made there."""

    id: UUID
    tenant_id: int
    name: str
    token: str  # of the address of its static code
    created_at: datetime
    # Of its digits without a connection (`laari.rules.merchants.offline`).
    secret_encrypted: bytes
    active: bool = True
    # A code pairs one device until its end; null without one.
    pairing_digest: bytes | None = None
    pairing_expires_at: datetime | None = None


class TillDevice(Struct, frozen=True):
    """A device that was paired with a till: it may use its counter, and nothing else."""

    digest: bytes
    binding: bytes
    till_id: UUID
    name: str  # "Chrome on Android"
    paired_at: datetime
    ended_at: datetime | None = None


class ReusableLink(Struct, frozen=True):
    """An address at which many customers pay, each with a payment of their own."""

    id: UUID
    tenant_id: int
    token: str  # of its address
    title: str
    amount: int | None  # None: the customer types it
    ends_at: datetime | None  # on the tenant's clock; None for never
    created_at: datetime
    ended_at: datetime | None = None  # by a person

    def takes_payments(self, now: datetime) -> bool:
        return self.ended_at is None and (self.ends_at is None or now < self.ends_at)


class OpenTill(Struct, frozen=True):
    """A till since its last closing, in one snapshot."""

    till: str
    number: int  # of the next closing
    since: datetime | None  # the last closing; None if there is none
    payments: int
    gross: int
    fees: int
    refunds: int
    refunded: int
    snapshot: str

    @property
    def net(self) -> int:
        return self.gross - self.fees - self.refunded

    @property
    def moved(self) -> bool:
        return self.payments + self.refunds > 0


class MerchantFunds(Struct, frozen=True):
    """How far a merchant's balance may fall. Money leaves only while this row is locked."""

    tenant_id: int
    refunded_fees: BigInt = 0  # of all payments that were refunded, in part or whole
    last_payout: int = 0  # its number
    paid_out_upto: datetime | None = None  # its cut-off

    @property
    def lowest(self) -> int:
        """Fees are not returned, so that refunds alone can make a balance negative."""
        return -self.refunded_fees


class FundMovement(Struct, frozen=True):
    """Why the operator held, released or corrected money of a merchant."""

    transfer_id: UUID
    tenant_id: int
    reason: str
    actor_kind: str
    actor_name: str
    created_at: datetime


class BankDetails(NamedTuple):
    """What a bank needs to send money to an account."""

    holder: str
    bank: str
    account_number: str


SHOWN_DIGITS = 4  # of an account number, to people who may not see all of it


class BankAccount(Struct, frozen=True):
    """An account at a bank, of a merchant or a wallet, from `effective_at` on; never changed."""

    id: UUID
    tenant_id: int | None
    holder: str
    bank: str
    account_number: str
    created_at: datetime
    effective_at: datetime
    actor_kind: str
    actor_name: str
    account: int | None = None

    @property
    def owner(self) -> int:
        """The tenant's number or the wallet's, which are far apart."""
        return owner(self.tenant_id, self.account)

    @property
    def entered_by(self) -> str:
        """As `written` for an actor."""
        return f"{self.actor_kind} {self.actor_name}"

    @property
    def details(self) -> BankDetails:
        return BankDetails(self.holder, self.bank, self.account_number)


Channel = Literal["email", "sms"]
ChosenChannel = Literal["email", "sms", "none"]


class MessageChoice(Struct, frozen=True):
    """Which messages about movements somebody wants; the others are always sent.

    Without a channel it is an email, or an SMS if there is no address.
    """

    channel: ChosenChannel | None = None
    least: int = 0  # laari: no message about a smaller movement


EVERY_MESSAGE = MessageChoice()


class Recipient(NamedTuple):
    """Somebody whom a message can reach; a person of a merchant is no customer."""

    email: str | None
    mobile: str | None
    language: Language
    customer_id: UUID | None
    choice: MessageChoice = EVERY_MESSAGE


class AccountOwner(NamedTuple):
    """The merchant or the customer who has a bank account, and who hears of a change."""

    name: str
    mode: Mode
    merchant_id: str | None
    recipients: tuple[Recipient, ...]


def owner(tenant_id: int | None, account: int | None) -> int:
    number = account if tenant_id is None else tenant_id
    assert number is not None  # by a constraint of the table
    return number


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


class RunNumbers(NamedTuple):
    """The number of the last run, and the open one."""

    last: int
    open: PayoutRun | None


class ApprovedRun(NamedTuple):
    """When a run was approved, and its total without payouts that were cancelled."""

    approved_at: datetime
    total: int


class EarnedFees(Struct, frozen=True):
    """The balance of the fees, and the number of the last sweep."""

    balance: int
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


class TopupSlip(Struct, frozen=True):
    """The bank's reference of the transfer behind a top-up; each counts once."""

    mode: Mode
    slip: str
    tid: str


class PersonDay(Struct, frozen=True):
    """The sum that a person of the operator moved alone on a day."""

    person: str
    # These change after creation:
    day: date
    alone: int


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


class AccessToken(Struct, frozen=True):
    """An issued Bearer token, known by its digest only. Times are real time.

    `binding` ties it to its client and scope, by the master key.
    `sandbox_offset_seconds` is the clock's offset at issue: the token also ages on that clock.
    """

    digest: bytes
    client_id: str
    scope: str  # space-separated, as OAuth writes it
    issued_at: datetime
    expires_at: datetime
    sandbox_offset_seconds: int
    binding: bytes


class SavedResponse(Struct, frozen=True):
    """The response to a request with an idempotency key, kept for replay.

    `resource_id` is the resource that the body shows.
    """

    tenant_id: int
    operation: str
    key: str
    fingerprint: bytes
    status: int
    code: str  # of a refusal; otherwise empty
    body: bytes
    completed_at: datetime
    replays: int = 0
    last_replayed_at: datetime | None = None
    resource_id: UUID | None = None


class Event(Struct, frozen=True):
    """A notification with its exact bytes, stored in the transaction that caused it."""

    id: UUID
    tenant_id: int
    type: str
    object_id: UUID
    created_at: datetime
    body: bytes


class JournalEntry(Struct, frozen=True):
    """An action on an object: who, from where and why, with values before and after as JSON."""

    time: datetime
    actor_kind: str
    actor_name: str
    actor_role: str | None
    address: str | None
    action: str
    object_type: str
    object_id: str
    merchant_id: str | None
    mode: Mode | None
    before: str | None
    after: str | None
    reason: str | None


MessageKind = Literal[
    "payment_request",
    "receipt",
    "invitation",
    "new_device",
    "passkey_added",
    "passkey_ended",
    "password_link",
    "password_code",
    "signup_code",
    "signup_known",
    "contact_code",
    "contact_change",
    "contact_lost",
    "contact_taken",
    "case_answered",
    "bank_account_changed",
    "own_bank_account_changed",
    "trust_asked",
    "trust_agreed",
    "trust_ending",
    "trust_ended",
    "trusted_payment",
    "trusted_authorization",
    "trusted_bank_account",
    "topup",
    "refund",
    "charge",
    "correction",
    "withdrawal_returned",
    "withdrawal_cancelled",
    "wallet_frozen",
    "wallet_unfrozen",
    "payout_sent",
    "payout_returned",
    "payout_cancelled",
    "merchant_hold",
    "merchant_release",
    "merchant_correction",
    "payouts_paused",
    "payouts_resumed",
    "application_approved",
    "application_refused",
    "webhook_given_up",
]


class Message(Struct, frozen=True):
    """A message to a person, stored in the transaction that caused it and sent later.

    `parameters` is the content for the message's kind (`laari.rules.messages`), as JSON that is
    encrypted for this recipient.
    """

    id: UUID
    created_at: datetime
    kind: MessageKind
    channel: Channel
    recipient: str
    language: Language
    parameters: bytes
    tenant_id: int | None
    customer_id: UUID | None
    object_id: UUID | None
