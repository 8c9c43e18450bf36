"""The rows that one batch has loaded, and the changes of its decisions, for the store to write."""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from datetime import datetime, timedelta
from typing import TypeAlias, cast
from uuid import UUID

from msgspec import Struct

from laari.rules import ids
from laari.rules.actors import Payer
from laari.rules.periods import Counted, Moment, Period, PeriodKey, left
from laari.rules.records import (
    AccessToken,
    Authorization,
    BankAccount,
    BankLine,
    BankMovement,
    BankMovementKind,
    BankOrder,
    Contact,
    CustomerType,
    Due,
    EarnedFees,
    Event,
    FeeSweep,
    FloatSignoff,
    FundMovement,
    JournalEntry,
    MerchantActivity,
    MerchantFunds,
    Message,
    Mode,
    OpenTill,
    Payment,
    PaymentRequest,
    Payout,
    PayoutRun,
    PayoutTerms,
    PendingMovement,
    ReferenceClaim,
    Refund,
    RunNumbers,
    SandboxPeriod,
    SavedResponse,
    StoredBankFile,
    Tenant,
    TenantClock,
    Tier,
    TillClosing,
    TopupSlip,
    Transaction,
    Transfer,
    Wallet,
    WalletFreeze,
)
from laari.rules.tables import Additions, K, Loaded, Lookup, R, Table

# A tenant, an operation, and the idempotency key that was sent to it.
ResponseKey: TypeAlias = tuple[int, str, str]
# A tenant, and a reference that is unique there.
ReferenceKey: TypeAlias = tuple[int, str]
# A tenant, and the cut-off of a payout; None is now.
DueKey: TypeAlias = tuple[int, datetime | None]
# A movement out of the bank account, by its kind and name.
MovementKey: TypeAlias = tuple[BankMovementKind, str]


def local_time(now: datetime, tenant: Tenant | TenantClock | None) -> datetime:
    """The tenant's time: a sandbox's clock may be moved. Without a tenant, real time."""
    if tenant is None or tenant.clock_offset_seconds == 0:
        return now
    return now + timedelta(seconds=tenant.clock_offset_seconds)


class World:
    """The state a batch decides over; the declarations below are the registry of tables.

    Every batch loads, locks and writes in their order, so that two never wait for each other.
    References come last: a charge that waited for an equal one then finds it. Time and randomness
    come only from `now` and `random`, so a batch can be decided again.
    """

    saved_responses = Table[ResponseKey, SavedResponse](
        SavedResponse,
        "saved_responses",
        ("tenant_id", "operation", "key"),
        changes_from="replays",  # the response itself never changes
        replaced_from="fingerprint",
    )
    clocks = Table[int, TenantClock](
        TenantClock, "tenants", ("id",), changes_from="clock_offset_seconds"
    )
    merchants = Table[str, MerchantActivity](MerchantActivity, "merchants", ("id",), shared=True)
    payments = Table[UUID, Payment](Payment, "payments", ("id",), changes_from="status")
    requests = Table[UUID, PaymentRequest](
        PaymentRequest, "payment_requests", ("id",), changes_from="status"
    )
    authorizations = Table[UUID, Authorization](
        Authorization,
        "authorizations",
        ("id",),
        changes_from="updated_at",
        contested=("tenant_id", "reference"),
    )
    # Top-ups by their bank slip. The slip is locked, before a line with the same reference is read:
    # no index covers both.
    topups = Lookup[tuple[Mode, str], Transaction]()
    bank_lines = Table[str, BankLine](
        BankLine, "bank_lines", ("reference",), changes_from="use", contested=("reference",)
    )
    # The uses of lines that name an order.
    answers = Lookup[str, frozenset[str]]()
    # Money that left the bank account. A unique index decides which line is matched with it.
    bank_movements = Lookup[MovementKey, BankMovement]()
    # A run before its payouts, and a payout before its orders.
    runs = Table[UUID, PayoutRun](
        PayoutRun, "payout_runs", ("id",), changes_from="status", contested=("mode", "number")
    )
    run_numbers = Lookup[Mode, RunNumbers]()
    payouts = Table[UUID, Payout](Payout, "payouts", ("id",), changes_from="status")
    orders = Table[str, BankOrder](BankOrder, "bank_orders", ("reference",), changes_from="status")
    # Live customers by one of their contacts, in the form that is compared.
    recipients = Lookup[tuple[CustomerType, str], Contact]()
    movements = Table[UUID, PendingMovement](
        PendingMovement, "pending_movements", ("id",), changes_from="status"
    )
    wallets = Table[int, Wallet](Wallet, "wallets", ("account",), changes_from="tier")
    # Every movement that takes money from a merchant locks its row. The look-ups come after the
    # lock, so they see what the last such movement did.
    funds = Table[int, MerchantFunds](
        MerchantFunds, "merchant_funds", ("tenant_id",), changes_from="refunded_fees"
    )
    # The number of a wallet's last withdrawal; the lock on the wallet protects it.
    last_withdrawals = Lookup[int, int]()
    # The available balance of a tenant, without the transfers of this batch, and the held one.
    balances = Lookup[int, int]()
    held = Lookup[int, int]()
    # Holds, releases and corrections of a tenant, without those of this batch.
    fund_movement_counts = Lookup[int, int]()
    # The money of a tenant for a payout up to a cut-off, or up to now (None).
    dues = Lookup[DueKey, Due]()
    payout_terms = Table[int, PayoutTerms](PayoutTerms, "payout_terms", ("tenant_id",))
    # All bank accounts of a tenant or a wallet.
    bank_accounts = Lookup[int, tuple[BankAccount, ...]]()
    # The number of refunds of a payment, without those of this batch.
    refund_counts = Lookup[UUID, int]()
    # A tenant and a till since its last closing. The unique number decides between two closings.
    open_tills = Lookup[tuple[int, str], OpenTill]()
    # A command that writes a period has locked the row of its owner.
    sandbox_periods = Table[PeriodKey, SandboxPeriod](
        SandboxPeriod, "sandbox_periods", ("owner", "unit", "start"), replaced_from="spent"
    )
    freezes = Additions(WalletFreeze, "wallet_freezes")
    slips = Additions(TopupSlip, "topup_slips", contested=("mode", "slip"))
    # References of payments, charges and payment requests: one name space.
    references = Table[ReferenceKey, ReferenceClaim](
        ReferenceClaim,
        "reference_claims",
        ("tenant_id", "reference"),
        contested=("tenant_id", "reference"),
    )
    # References of authorizations, a name space of their own.
    authorization_ids = Lookup[ReferenceKey, UUID]()
    transfers = Additions(Transfer, "transfers")
    transactions = Additions(Transaction, "transactions")
    refunds = Additions(Refund, "refunds")
    earned_fees = Lookup[Mode, EarnedFees]()
    fee_sweeps = Additions(FeeSweep, "fee_sweeps", contested=("mode", "number"))
    fund_movements = Additions(FundMovement, "fund_movements")
    bank_files = Additions(StoredBankFile, "bank_files")
    float_signoffs = Additions(FloatSignoff, "float_signoffs")
    till_closings = Additions(
        TillClosing, "till_closings", contested=("tenant_id", "till", "number")
    )
    access_tokens = Additions(AccessToken, "access_tokens")
    messages = Additions(Message, "messages")
    journal = Additions(JournalEntry, "journal")
    events = Additions(Event, "events")

    def __init__(
        self, now: datetime, origin: str, random: ids.Random, channels: frozenset[str] = frozenset()
    ) -> None:
        self.now = now
        self.origin = origin  # the public address of the service, for links
        self.channels = channels  # by which the service can send messages
        self._random = random
        self.tiers: dict[str, Tier] = {}
        # Sums of sandbox rows in periods they have left: as looked up (0 if there is none), and as
        # put aside in this batch.
        self.aside: dict[PeriodKey, int] = {}
        # Idempotency keys that another process is working on.
        self.keys_in_progress: set[ResponseKey] = set()

    def new_id(self) -> UUID:
        return ids.new_id(self.now, self._random)

    def new_token(self) -> str:
        return ids.new_token(self.now, self._random)

    def new_tid(self) -> str:
        return ids.new_tid(self.now, self._random)

    def at(self, tenant: Tenant | None) -> datetime:
        """The tenant's time, the same for every command of the batch."""
        return local_time(self.now, tenant)

    def moment(self, tenant: Tenant) -> Moment:
        """The tenant's time, for counting in periods."""
        if tenant.mode == "live":
            return Moment(self.at(tenant))
        return Moment(self.at(tenant), tenant.clock_offset_seconds, self.aside)

    def enter_periods(
        self, tenant: Tenant, counted: Iterable[Counted], periods: Iterable[Period]
    ) -> None:
        """Called before a row counts in these periods: a sandbox row keeps those it leaves."""
        if tenant.mode == "live":
            return
        for each, period in zip(counted, periods, strict=True):
            done = left(each, period)
            if done is not None:
                key, spent = done
                self.aside[key] = spent
                self.sandbox_periods.add(key, SandboxPeriod(*key, spent))

    def is_active(self, tenant: Tenant) -> bool:
        """Whether the merchant may take money; this stays true until the batch is done."""
        return self.merchants[tenant.merchant_id].active

    def same_mode(self, tenant: Tenant, account: int) -> bool:
        """Whether the wallet is in the tenant's mode: every command with both checks this first."""
        wallet = self.wallets.get(account)
        return wallet is not None and wallet.mode == tenant.mode

    def knows(self, tenant: Tenant, payer: Payer) -> bool:
        """Whether this payer exists for the tenant: both the login and the wallet must match."""
        return payer.mode == tenant.mode and self.same_mode(tenant, payer.account)


Registered: TypeAlias = Table[Hashable, Struct] | Lookup[Hashable, object] | Additions[Struct]

# In the order in which every batch loads, locks and writes.
REGISTRY: tuple[Registered, ...] = tuple(
    declared
    for declared in vars(World).values()
    if isinstance(declared, Table | Lookup | Additions)
)


class Needs:
    """The rows that the commands of a batch need: to read, or to lock because they may change."""

    __slots__ = (
        "_locks",
        "_reads",
        "orders_of_payouts",
        "payers_of",
        "payouts_of_runs",
        "returns_payouts",
        "sandbox_charging",
        "sandbox_spending",
        "sends_payouts",
        "wallets_of_authorizations",
    )

    def __init__(self) -> None:
        self._locks: defaultdict[object, set[Hashable]] = defaultdict(set)
        self._reads: defaultdict[object, set[Hashable]] = defaultdict(set)
        # Sandbox wallets and authorizations that may count something in their periods, each with
        # the offset of its clock.
        self.sandbox_spending: set[tuple[int, int]] = set()
        self.sandbox_charging: set[tuple[UUID, int]] = set()
        # Their wallets and requests are known only when these rows are loaded.
        self.payers_of: set[UUID] = set()
        self.payouts_of_runs: set[UUID] = set()
        self.orders_of_payouts: set[UUID] = set()
        # Whether payouts need the bank accounts of their owners, or wallets that get money back.
        self.sends_payouts = False
        self.returns_payouts = False
        self.wallets_of_authorizations: set[UUID] = set()

    def lock(self, table: Table[K, R], key: K) -> None:
        """A row that may be changed, or that must stay as it is until the batch is committed."""
        self._locks[table].add(key)

    def read(self, table: Loaded[K], key: K) -> None:
        """A row that is only read, without a lock."""
        self._reads[table].add(key)

    def locked(self, table: Loaded[K]) -> set[K]:
        return cast("set[K]", self._locks.get(table, set()))

    def only_read(self, table: Loaded[K]) -> set[K]:
        """Keys that a command reads and none locks: a locked row serves both."""
        wanted = self._reads.get(table)
        if wanted is None:
            return set()
        return cast("set[K]", wanted - self._locks.get(table, set()))

    def take_back(self, table: Loaded[K]) -> None:
        """Drops the reads of this table: they are done, and found nothing."""
        self._reads.pop(table, None)

    def names(self, table: object) -> bool:
        """Whether any command needs a row of this table."""
        return table in self._locks or table in self._reads

    @property
    def takes_locks(self) -> bool:
        """Whether the batch locks any row."""
        return bool(self._locks)

    def spending(self, tenant: Tenant, account: int) -> None:
        """A wallet that pays this tenant."""
        self.lock(World.wallets, account)
        if tenant.mode == "sandbox":
            self.sandbox_spending.add((account, tenant.clock_offset_seconds))

    def charging(self, tenant: Tenant, authorization_id: UUID) -> None:
        """An authorization that this tenant charges, with the wallet behind it."""
        self.lock(World.authorizations, authorization_id)
        self.wallets_of_authorizations.add(authorization_id)
        if tenant.mode == "sandbox":
            self.sandbox_charging.add((authorization_id, tenant.clock_offset_seconds))

    def outgoing(self, tenant: Tenant) -> None:
        """A merchant that money is taken from."""
        self.lock(World.funds, tenant.id)
        self.read(World.balances, tenant.id)

    def paying_out(self, tenant: Tenant, cut_off: datetime | None) -> None:
        """A merchant that is paid out up to the cut-off, or all that is available."""
        self.outgoing(tenant)
        self.read(World.dues, (tenant.id, cut_off))
        self.read(World.payout_terms, tenant.id)
        self.read(World.bank_accounts, tenant.id)

    def run(self, run_id: UUID) -> None:
        """A run, with all of its payouts."""
        self.lock(World.runs, run_id)
        self.payouts_of_runs.add(run_id)

    def payout(self, payout_id: UUID) -> None:
        """A payout, with all of its orders."""
        self.lock(World.payouts, payout_id)
        self.orders_of_payouts.add(payout_id)
        self.returns_payouts = True

    def refunding(self, tenant: Tenant, payment_id: UUID) -> None:
        """A payment, with the wallet that paid it, its request and its earlier refunds."""
        self.outgoing(tenant)
        self.lock(World.payments, payment_id)
        self.payers_of.add(payment_id)
        self.read(World.refund_counts, payment_id)
