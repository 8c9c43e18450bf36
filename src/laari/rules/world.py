"""The rows that one batch has loaded, and the changes of its decisions, for the store to write."""

from collections.abc import Hashable, Iterable
from datetime import date, datetime
from typing import TypeAlias
from uuid import UUID

from msgspec import Struct

from laari.rules import ids
from laari.rules.actors import Payer
from laari.rules.master_key import NO_KEYS, Keys
from laari.rules.periods import Counted, Moment, Period, PeriodKey, left
from laari.rules.records.authorizations import Authorization
from laari.rules.records.bank import (
    BankHoliday,
    BankLine,
    BankMovement,
    BankMovementKind,
    EarnedFees,
    FeeSweep,
    FloatSignoff,
)
from laari.rules.records.bank_accounts import AccountOwner, BankAccount
from laari.rules.records.events import Event
from laari.rules.records.idempotency import SavedResponse
from laari.rules.records.journal import JournalEntry
from laari.rules.records.ledger import Transfer
from laari.rules.records.merchant_funds import FundMovement, MerchantFunds
from laari.rules.records.merchants import (
    AccessToken,
    Application,
    MerchantActivity,
    MerchantSettings,
    OAuthClient,
    ReusableLink,
    ScheduledFees,
)
from laari.rules.records.messages import Contact, Message, OutboxMessage
from laari.rules.records.payments import (
    CustomerType,
    Payment,
    PaymentRequest,
    ReferenceClaim,
    Refund,
)
from laari.rules.records.payouts import (
    ApprovedRun,
    BankOrder,
    Due,
    Payout,
    PayoutRun,
    PayoutTerms,
    RunNumbers,
    StoredBankFile,
)
from laari.rules.records.people import (
    Case,
    ContactChange,
    ContactKind,
    Customer,
    CustomerIdentity,
    CustomerMessages,
    CustomerNote,
    CustomerSignUp,
    DeviceDay,
    DevicePayment,
    Invitation,
    KeyCounts,
    LogIn,
    Membership,
    Passkey,
    PasswordLink,
    Person,
    PersonMessages,
    RememberedDevice,
    SecondFactor,
    TrustedPerson,
    WalletKey,
    Whose,
)
from laari.rules.records.second_person import Help, PendingMovement, PersonDay
from laari.rules.records.tenants import Mode, Tenant, TenantSettings, local_time
from laari.rules.records.tills import OpenTill, Till, TillClosing, TillDevice
from laari.rules.records.wallets import (
    SandboxPeriod,
    Tier,
    TopupSlip,
    Transaction,
    Wallet,
    WalletFreeze,
)
from laari.rules.tables import Additions, Lookup, Table

# A tenant, an operation, and the idempotency key that was sent to it.
ResponseKey: TypeAlias = tuple[int, str, str]
# A tenant, and a reference that is unique there.
ReferenceKey: TypeAlias = tuple[int, str]
# A tenant, and the cut-off of a payout; None is now.
DueKey: TypeAlias = tuple[int, datetime | None]
# A movement out of the bank account, by its kind and name.
MovementKey: TypeAlias = tuple[BankMovementKind, str]
# A person, and a merchant or the operator (None).
MembershipKey: TypeAlias = tuple[UUID, str | None]
# A merchant and a mode.
TenantKey: TypeAlias = tuple[str, Mode]
# A merchant, and the moment from which its scheduled fees are in force.
FeesKey: TypeAlias = tuple[str, datetime]
# A merchant and an email address.
InvitationKey: TypeAlias = tuple[str, str]


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
    tenant_settings = Table[int, TenantSettings](
        TenantSettings, "tenants", ("id",), changes_from="clock_offset_seconds"
    )
    # A movement before everything that it is about.
    movements = Table[UUID, PendingMovement](
        PendingMovement, "pending_movements", ("id",), changes_from="status", kept=True
    )
    # Money that lines of an import have credited. The lock on its movement protects the sum.
    imported_sums = Lookup[UUID, int]()
    # The payout of an order, which never changes.
    order_payouts = Lookup[str, UUID]()
    # A run before its payouts, and a payout before its orders, its tenant and the merchant. Other
    # writes lock a merchant for themselves, and none of them locks one of these after it.
    runs = Table[UUID, PayoutRun](
        PayoutRun,
        "payout_runs",
        ("id",),
        changes_from="status",
        contested=("mode", "number"),
        kept=True,
    )
    run_numbers = Lookup[Mode, RunNumbers]()
    # The runs that were approved last, in a time of at least a day.
    approved_runs = Lookup[Mode, tuple[ApprovedRun, ...]]()
    run_payouts = Lookup[UUID, tuple[UUID, ...]]()
    payouts = Table[UUID, Payout](Payout, "payouts", ("id",), changes_from="status", kept=True)
    payout_orders = Lookup[UUID, tuple[str, ...]]()
    orders = Table[str, BankOrder](
        BankOrder, "bank_orders", ("reference",), changes_from="status", kept=True
    )
    # The uses of lines that name an order. Its payout is locked, so no other batch adds one.
    answers = Lookup[str, frozenset[str]]()
    # The till that a pairing code is for, by the digest of the code. A till before its tenant.
    pairing_codes = Lookup[bytes, UUID]()
    tills = Table[UUID, Till](Till, "tills", ("id",), changes_from="secret_encrypted")
    # The devices of a till that have not ended. The lock on the till protects them.
    devices_of_till = Lookup[UUID, tuple[bytes, ...]]()
    till_devices = Table[bytes, TillDevice](
        TillDevice, "till_devices", ("digest",), changes_from="ended_at"
    )
    # Merchants in one mode, by their number, for commands that only know the number.
    tenants = Lookup[int, Tenant]()
    # An invitation by the digest of its link: its merchant and address.
    invitation_links = Lookup[bytes, InvitationKey]()
    # The merchant of an OAuth client, which never changes.
    client_owners = Lookup[str, str]()
    # The number of merchants, counted up to this one: sign-ups are decided in turn.
    merchants_held = Lookup[int, int]()
    # A merchant before its people. A command about it or its people locks it for itself.
    merchant_settings = Table[str, MerchantSettings](
        MerchantSettings, "merchants", ("id",), changes_from="name"
    )
    # The names of a tenant's tills. The lock on the merchant protects them.
    till_names = Lookup[int, tuple[str, ...]]()
    # The number of links of a tenant that nobody has ended. The lock on the merchant protects it.
    link_counts = Lookup[int, int]()
    reusable_links = Table[UUID, ReusableLink](
        ReusableLink, "reusable_links", ("id",), changes_from="ended_at"
    )
    # The live tenant of a merchant that is approved for live mode. The lock on the merchant
    # protects it.
    live_tenants = Lookup[str, int]()
    # A new number for the tenant of a merchant in a mode.
    new_tenants = Lookup[TenantKey, int]()
    customer_signups = Table[bytes, CustomerSignUp](
        CustomerSignUp, "customer_signups", ("digest",), changes_from="attempts"
    )
    # A new account number, by the name of what gets the wallet. With it come the tiers.
    new_accounts = Lookup[str, int]()
    # The application of a merchant that waits. The lock on the merchant protects it.
    open_applications = Lookup[str, UUID]()
    applications = Table[UUID, Application](
        Application, "applications", ("id",), changes_from="status"
    )
    # The number of clients of a merchant, also of those that were revoked.
    client_counts = Lookup[str, int]()
    oauth_clients = Table[str, OAuthClient](
        OAuthClient, "oauth_clients", ("id",), changes_from="revoked_at"
    )
    scheduled_fees = Table[FeesKey, ScheduledFees](
        ScheduledFees, "scheduled_fees", ("merchant_id", "starts_at"), changes_from="fee_bps"
    )
    merchants = Table[str, MerchantActivity](MerchantActivity, "merchants", ("id",), shared=True)
    # The people of a merchant, or of the operator (None), and the invitations: by their address.
    members = Lookup[str | None, dict[str, UUID]]()
    invited = Lookup[str, set[str]]()
    # A unique index decides whose an address is.
    person_ids = Lookup[str, UUID]()
    # The owner of a password link, by its digest.
    link_owners = Lookup[bytes, Whose]()
    persons = Table[UUID, Person](Person, "persons", ("id",), changes_from="password_hash")
    customers = Table[UUID, Customer](Customer, "customers", ("id",), changes_from="name")
    customer_messages = Table[UUID, CustomerMessages](
        CustomerMessages, "message_choices", ("customer_id",), replaced_from="channel"
    )
    person_messages = Table[UUID, PersonMessages](
        PersonMessages, "message_choices", ("person_id",), replaced_from="channel"
    )
    # The case of a line, and the open cases of a customer. The lock on the customer protects both.
    line_cases = Lookup[str, UUID]()
    open_cases = Lookup[UUID, int]()
    cases = Table[UUID, Case](Case, "cases", ("id",), changes_from="status")
    # Messages that the operator sends again. Senders lease them without waiting.
    outbox = Table[UUID, OutboxMessage](OutboxMessage, "messages", ("id",), changes_from="status")
    trusted_people = Table[UUID, TrustedPerson](
        TrustedPerson, "trusted_people", ("customer_id",), changes_from="trusted_id"
    )
    # The receipts that a customer asked for in 24 hours. The lock on the customer protects it.
    receipts_sent = Lookup[UUID, int]()
    # Lines of the history of wallets, which never change.
    lines = Lookup[str, Transaction]()
    identities = Table[UUID, CustomerIdentity](
        CustomerIdentity, "customer_identities", ("customer_id",), changes_from="encrypted"
    )
    # The places of a person, and whether each is the operator or takes live money. The lock on the
    # person protects them.
    places = Lookup[UUID, dict[str | None, bool]]()
    memberships = Table[MembershipKey, Membership](
        Membership, "memberships", ("person_id", "merchant_id"), changes_from="role"
    )
    invitations = Table[InvitationKey, Invitation](
        Invitation, "invitations", ("merchant_id", "email"), changes_from="digest"
    )
    # Whether a place of the person requires a second factor.
    factor_required = Lookup[UUID, bool]()
    second_factors = Table[UUID, SecondFactor](
        SecondFactor, "second_factors", ("person_id",), changes_from="seed_encrypted"
    )
    # The sessions of a person or a customer. The lock on the person lets none begin.
    log_ins_of = Lookup[UUID, frozenset[bytes]]()
    log_ins = Table[bytes, LogIn](LogIn, "sessions", ("digest",), changes_from="ended_for")
    password_links = Table[UUID, PasswordLink](
        PasswordLink, "password_links", ("whose",), changes_from="digest"
    )
    # The passkeys of a customer that have not ended. The lock on the customer protects them. A
    # unique index decides whose a credential is.
    passkeys_of = Lookup[UUID, frozenset[UUID]]()
    passkey_ids = Lookup[bytes, UUID]()
    passkeys = Table[UUID, Passkey](
        Passkey, "passkeys", ("id",), changes_from="ended_at", contested=("credential",)
    )
    # The devices of a customer that are remembered. The lock on the customer protects them.
    devices_of = Lookup[UUID, frozenset[UUID]]()
    remembered_devices = Table[UUID, RememberedDevice](
        RememberedDevice, "remembered_devices", ("id",), changes_from="ended_at"
    )
    # The moments of the last invitations that an address got. The address is locked.
    invitation_mails = Lookup[str, tuple[datetime, ...]]()
    # The open change of each contact of a customer. The lock on the customer protects it.
    open_contact_changes = Lookup[tuple[UUID, ContactKind], UUID]()
    contact_changes = Table[UUID, ContactChange](
        ContactChange, "contact_changes", ("id",), changes_from="attempts"
    )
    # Customers by a contact of theirs. A unique index decides whose it is.
    contact_holders = Lookup[tuple[Mode, CustomerType, str], UUID]()
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
    # What a person moved: its lock lets only one of their movements be decided at a time.
    person_days = Table[str, PersonDay](
        PersonDay,
        "person_days",
        ("person",),
        changes_from="day",
        contested=("person",),
        kept=True,
    )
    # Who gave whom a role of the operator or a log-in, in a time of at least 30 days.
    helps = Lookup[None, tuple[Help, ...]]()
    # Top-ups by their bank slip. The slip is locked, before a line with the same reference is read:
    # no index covers both.
    topups = Lookup[tuple[Mode, str], Transaction]()
    bank_lines = Table[str, BankLine](
        BankLine,
        "bank_lines",
        ("reference",),
        changes_from="use",
        contested=("reference",),
        kept=True,
    )
    # The people who imported lines of a day of the bank.
    importers = Lookup[date, frozenset[str]]()
    # The last sign-off of a day.
    signoffs = Lookup[date, FloatSignoff]()
    # Money that left the bank account. A unique index decides which line is matched with it.
    bank_movements = Lookup[MovementKey, BankMovement]()
    # Live customers by one of their contacts, in the form that is compared.
    recipients = Lookup[tuple[CustomerType, str], Contact]()
    # Movements that wait, by the slip, line or order that they are about. A unique index decides.
    waiting_references = Lookup[str, UUID]()
    # For commands that change them; every batch that locks a wallet reads all tiers.
    tier_limits = Table[str, Tier](
        Tier, "tiers", ("name",), changes_from="per_transaction", contested=("name",)
    )
    wallets = Table[int, Wallet](Wallet, "wallets", ("account",), changes_from="tier")
    # What the devices of a customer paid on the last day. The lock on the wallet protects it.
    device_days = Lookup[UUID, DeviceDay]()
    device_payments = Additions(DevicePayment, "device_payments", kept=("payment_id",))
    # The merchant whose sandbox customer this is.
    sandbox_shops = Lookup[UUID, str]()
    # How many keys a wallet ever had, and how many can be used. Its lock protects them.
    wallet_key_counts = Lookup[int, KeyCounts]()
    # The usable keys of a customer. The lock on the customer lets none be made meanwhile.
    wallet_keys_of = Lookup[UUID, frozenset[bytes]]()
    wallet_keys = Table[bytes, WalletKey](
        WalletKey, "wallet_keys", ("digest",), changes_from="revoked_at"
    )
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
    # The money of a tenant for a payout up to a cut-off, or up to now (None).
    dues = Lookup[DueKey, Due]()
    payout_terms = Table[int, PayoutTerms](
        PayoutTerms, "payout_terms", ("tenant_id",), changes_from="minimum"
    )
    bank_holidays = Table[date, BankHoliday](
        BankHoliday, "bank_holidays", ("day",), changes_from="name", contested=("day",)
    )
    # All bank accounts of a tenant or a wallet, and the owner of both.
    bank_accounts = Lookup[int, tuple[BankAccount, ...]]()
    # Those to which the bank has paid an order.
    paid_accounts = Lookup[int, frozenset[UUID]]()
    account_owners = Lookup[int, AccountOwner]()
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
    fee_sweeps = Additions(
        FeeSweep, "fee_sweeps", contested=("mode", "number"), kept=("transfer_id",)
    )
    fund_movements = Additions(FundMovement, "fund_movements", kept=("transfer_id",))
    new_bank_accounts = Additions(BankAccount, "bank_accounts")
    bank_files = Additions(StoredBankFile, "bank_files", kept=("run_id",))
    float_signoffs = Additions(FloatSignoff, "float_signoffs", kept=("id",))
    till_closings = Additions(
        TillClosing, "till_closings", contested=("tenant_id", "till", "number"), kept=("id",)
    )
    access_tokens = Additions(AccessToken, "access_tokens")
    customer_notes = Additions(CustomerNote, "customer_notes")
    messages = Additions(Message, "messages")
    journal = Additions(JournalEntry, "journal")
    events = Additions(Event, "events")

    def __init__(
        self,
        now: datetime,
        origin: str,
        random: ids.Random,
        channels: frozenset[str] = frozenset(),
        keys: Keys = NO_KEYS,
        *,
        second_operator_above: int | None = None,
    ) -> None:
        self.now = now
        self.origin = origin  # the public address of the service, for links
        self.channels = channels  # by which the service can send messages
        self.encrypt = keys.encrypt  # the content of a message, for its recipient
        self.digest = keys.digest
        self.decrypt = keys.decrypt
        # What one person of the operator may move alone on a day, in laari; None is no limit.
        self.second_operator_above = second_operator_above
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

    def new_secret(self) -> str:
        return ids.new_secret(self._random)

    def new_name(self) -> str:
        return ids.new_name(self._random)

    def new_code(self, digits: int) -> str:
        return ids.new_code(self._random, digits)

    def new_letters(self, letters: str, size: int) -> str:
        return ids.new_letters(self._random, letters, size)

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
