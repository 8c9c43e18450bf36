"""The rows that one batch has loaded, and the changes of its decisions, for the store to write."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from datetime import date, datetime, timedelta
from typing import NamedTuple, TypeAlias, cast
from uuid import UUID

from msgspec import Struct

from laari.rules import ids
from laari.rules.actors import Actor, Payer
from laari.rules.people_records import (
    Case,
    ContactChange,
    ContactKind,
    Customer,
    CustomerIdentity,
    CustomerMessages,
    CustomerNote,
    CustomerSignUp,
    Invitation,
    LogIn,
    Membership,
    Passkey,
    PasswordLink,
    Person,
    PersonId,
    PersonMessages,
    SecondFactor,
    TrustedPerson,
    WalletKey,
    Whose,
)
from laari.rules.periods import Counted, Moment, Period, PeriodKey, left
from laari.rules.records import (
    AccessToken,
    AccountOwner,
    Application,
    ApprovedRun,
    Authorization,
    BankAccount,
    BankHoliday,
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
    MerchantSettings,
    Message,
    Mode,
    OAuthClient,
    OpenTill,
    Payment,
    PaymentRequest,
    Payout,
    PayoutRun,
    PayoutTerms,
    PendingMovement,
    PersonDay,
    ReferenceClaim,
    Refund,
    ReusableLink,
    RunNumbers,
    SandboxPeriod,
    SavedResponse,
    ScheduledFees,
    StoredBankFile,
    Tenant,
    TenantClock,
    TenantSettings,
    Tier,
    Till,
    TillClosing,
    TillDevice,
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
# A person, and a merchant or the operator (None).
MembershipKey: TypeAlias = tuple[UUID, str | None]
# A merchant and a mode.
TenantKey: TypeAlias = tuple[str, Mode]
# A merchant, and the moment from which its scheduled fees are in force.
FeesKey: TypeAlias = tuple[str, datetime]
# A merchant and an email address.
InvitationKey: TypeAlias = tuple[str, str]


class KeyCounts(NamedTuple):
    """The keys of a wallet: revoked ones stay, so the number of those made only grows."""

    made: int
    usable: int


class Keys(NamedTuple):
    """What the master key does for a decision."""

    encrypt: Callable[[bytes, bytes], bytes]  # a text, bound to its context
    digest: Callable[[str, str], bytes]  # for a purpose, the stored form of a code or a link
    decrypt: Callable[[bytes, bytes], bytes | None]  # None in another context


def _no_key(*_: object) -> bytes:
    raise RuntimeError("this process writes no messages and no codes: it has no key for them")


NO_KEYS = Keys(_no_key, _no_key, _no_key)


def bind(digest: Callable[[str, str], bytes], stored: bytes, *owner: str) -> bytes:
    """Ties the stored form of a secret to its owner: moved to another owner, it opens nothing."""
    return digest("binding", " ".join((stored.hex(), *owner)))


def local_time(now: datetime, tenant: Tenant | TenantClock | TenantSettings | None) -> datetime:
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
    # What a person moved alone: its lock lets only one of their movements be decided at a time.
    person_days = Table[str, PersonDay](
        PersonDay,
        "person_days",
        ("person",),
        changes_from="day",
        contested=("person",),
        kept=True,
    )
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
    # The merchant whose sandbox customer this is.
    sandbox_shops = Lookup[UUID, str]()
    # How many keys a wallet ever had, and how many can be used. Its lock protects them.
    wallet_key_counts = Lookup[int, KeyCounts]()
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
    # Holds, releases and corrections of a tenant, without those of this batch.
    fund_movement_counts = Lookup[int, int]()
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
        second_person_above: int | None = None,
    ) -> None:
        self.now = now
        self.origin = origin  # the public address of the service, for links
        self.channels = channels  # by which the service can send messages
        self.encrypt = keys.encrypt  # the content of a message, for its recipient
        self.digest = keys.digest
        self.decrypt = keys.decrypt
        # What one person of the operator may move alone on a day, in laari; None is no limit.
        self.second_person_above = second_person_above
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


# Adds needs that only loaded rows can name.
Follow: TypeAlias = Callable[["Needs", World], None]


class Needs:
    """The rows that the commands of a batch need: to read, or to lock because they may change."""

    __slots__ = (
        "followers",
        "locks",
        "reads",
        "sandbox_charging",
        "sandbox_spending",
        "wallets_of_authorizations",
    )

    def __init__(self) -> None:
        # The keys of each table that a command names.
        self.locks: defaultdict[object, set[Hashable]] = defaultdict(set)
        self.reads: defaultdict[object, set[Hashable]] = defaultdict(set)
        # Sandbox wallets and authorizations that may count something in their periods, each with
        # the offset of its clock.
        self.sandbox_spending: set[tuple[int, int]] = set()
        self.sandbox_charging: set[tuple[UUID, int]] = set()
        # What to do after a table is loaded: its rows may name rows of later tables.
        self.followers: defaultdict[object, list[Follow]] = defaultdict(list)
        # The wallets of these are known only when they are loaded.
        self.wallets_of_authorizations: set[UUID] = set()

    def lock(self, table: Table[K, R], key: K) -> None:
        """A row that may be changed, or that must stay as it is until the batch is committed."""
        self.locks[table].add(key)

    def read(self, table: Loaded[K], key: K) -> None:
        """A row that is only read, without a lock."""
        self.reads[table].add(key)

    def then(self, table: Loaded[K], follow: Follow) -> None:
        """Names rows that are known only when the rows of this table are loaded.

        They are of later tables. A batch may load twice, so `follow` only adds needs.
        """
        self.followers[table].append(follow)

    def locked(self, table: Loaded[K]) -> set[K]:
        return cast("set[K]", self.locks.get(table, set()))

    def only_read(self, table: Loaded[K]) -> set[K]:
        """Keys that a command reads and none locks: a locked row serves both."""
        wanted = self.reads.get(table)
        if wanted is None:
            return set()
        return cast("set[K]", wanted - self.locks.get(table, set()))

    def take_back(self, table: Loaded[K]) -> None:
        """Drops the reads of this table: they are done, and found nothing."""
        self.reads.pop(table, None)

    @property
    def takes_locks(self) -> bool:
        """Whether the batch locks any row, also one that it has yet to find."""
        return bool(self.locks or self.followers)

    @property
    def only_references(self) -> bool:
        """Whether the batch only has to know which references are in use."""
        return not self.locks and self.reads.keys() == {World.references}

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

    def outgoing(self, tenant_id: int) -> None:
        """A merchant that money is taken from."""
        self.lock(World.funds, tenant_id)
        self.read(World.balances, tenant_id)

    def paying_out(self, tenant_id: int, cut_off: datetime | None) -> None:
        """A merchant that is paid out up to the cut-off, or all that is available."""
        self.outgoing(tenant_id)
        self.read(World.dues, (tenant_id, cut_off))
        self.read(World.payout_terms, tenant_id)
        self.read(World.bank_accounts, tenant_id)

    def activity(self, tenant_id: int) -> None:
        """A tenant, and whether its merchant is active until the batch is done."""

        def follow(needs: Needs, world: World) -> None:
            tenant = world.tenants.get(tenant_id)
            if tenant is not None:
                needs.lock(World.merchants, tenant.merchant_id)

        self.read(World.tenants, tenant_id)
        self.then(World.tenants, follow)

    def merchant(self, merchant_id: str, actor: Actor) -> None:
        """A merchant that changes, and the present role of its person who changes it."""

        def follow(needs: Needs, world: World) -> None:
            person_id = world.members[merchant_id].get(actor.name)
            if person_id is not None:
                needs.read(World.memberships, (person_id, merchant_id))

        self.lock(World.merchant_settings, merchant_id)
        if actor.kind == "person":
            self.read(World.members, merchant_id)
            self.then(World.members, follow)

    def till(self, till_id: UUID) -> None:
        """A till with its devices."""

        def follow(needs: Needs, world: World) -> None:
            for digest in world.devices_of_till[till_id]:
                needs.lock(World.till_devices, digest)

        self.lock(World.tills, till_id)
        self.read(World.devices_of_till, till_id)
        self.then(World.devices_of_till, follow)

    def open_application(self, merchant_id: str) -> None:
        """The application of a merchant that waits, if there is one."""

        def follow(needs: Needs, world: World) -> None:
            application_id = world.open_applications.get(merchant_id)
            if application_id is not None:
                needs.lock(World.applications, application_id)

        self.read(World.open_applications, merchant_id)
        self.then(World.open_applications, follow)

    def people(self, place: str | None) -> None:
        """All people and invitations of a merchant, or the people of the operator (None)."""

        def follow_members(needs: Needs, world: World) -> None:
            for person_id in world.members[place].values():
                needs.lock(World.memberships, (person_id, place))

        def follow_invited(needs: Needs, world: World) -> None:
            if place is not None:
                for email in world.invited[place]:
                    needs.lock(World.invitations, (place, email))

        if place is not None:
            self.lock(World.merchant_settings, place)
            self.read(World.invited, place)
            self.then(World.invited, follow_invited)
        self.read(World.members, place)
        self.then(World.members, follow_members)

    def person(self, person_id: UUID) -> None:
        """A person with the places, the second factor and the sessions."""

        self.lock(World.persons, person_id)
        self.read(World.places, person_id)
        self.lock(World.second_factors, person_id)
        self._log_ins_of(person_id)

    def customer(self, customer_id: UUID) -> None:
        """A customer with the sessions and passkeys, and the merchant of a sandbox customer."""
        self.passkeys_of(customer_id)
        self._log_ins_of(customer_id)

    def passkeys_of(self, customer_id: UUID) -> None:
        """A customer with the passkeys, and the merchant whose sandbox customer this is."""

        def follow(needs: Needs, world: World) -> None:
            for passkey_id in world.passkeys_of[customer_id]:
                needs.lock(World.passkeys, passkey_id)

        self.lock(World.customers, customer_id)
        self.read(World.sandbox_shops, customer_id)
        self.read(World.passkeys_of, customer_id)
        self.then(World.passkeys_of, follow)

    def _log_ins_of(self, whose: UUID) -> None:
        def follow(needs: Needs, world: World) -> None:
            for digest in world.log_ins_of[whose]:
                needs.lock(World.log_ins, digest)

        self.read(World.log_ins_of, whose)
        self.then(World.log_ins_of, follow)

    def log_in(self, whose: Whose) -> None:
        """Somebody who logs in, with the link that would set the password."""
        if isinstance(whose, PersonId):
            self.person(whose.id)
        else:
            self.customer(whose.id)
        self.lock(World.password_links, whose.id)

    def wallet_keys_of(self, account: int) -> None:
        """A wallet with the number of its keys, and the merchant whose sandbox customer has it."""

        def follow(needs: Needs, world: World) -> None:
            wallet = world.wallets.get(account)
            if wallet is not None:
                needs.read(World.sandbox_shops, wallet.customer_id)

        self.lock(World.wallets, account)
        self.then(World.wallets, follow)
        self.read(World.wallet_key_counts, account)

    def password_link(self, digest: bytes) -> None:
        """The owner of a password link, if there is one with this digest."""

        def follow(needs: Needs, world: World) -> None:
            whose = world.link_owners.get(digest)
            if whose is not None:
                needs.log_in(whose)

        self.read(World.link_owners, digest)
        self.then(World.link_owners, follow)

    def person_at(self, email: str) -> None:
        """The person with this address, if there is one."""

        def follow(needs: Needs, world: World) -> None:
            person_id = world.person_ids.get(email)
            if person_id is not None:
                needs.person(person_id)

        self.read(World.person_ids, email)
        self.then(World.person_ids, follow)

    def invitation(self, digest: bytes) -> None:
        """An invitation by its link, with its merchant and the person who was invited."""

        def follow(needs: Needs, world: World) -> None:
            found = world.invitation_links.get(digest)
            if found is not None:
                place, email = found
                needs.people(place)
                needs.person_at(email)

        self.read(World.invitation_links, digest)
        self.then(World.invitation_links, follow)

    def open_contact_change(self, customer_id: UUID, contact: ContactKind) -> None:
        """A customer, and the open change of this contact: it begins and ends under this lock."""

        def follow(needs: Needs, world: World) -> None:
            change_id = world.open_contact_changes.get((customer_id, contact))
            if change_id is not None:
                needs.lock(World.contact_changes, change_id)

        self.lock(World.customers, customer_id)
        self.read(World.open_contact_changes, (customer_id, contact))
        self.then(World.open_contact_changes, follow)

    def contact_change(self, customer_id: UUID, change_id: UUID) -> None:
        """A change and its customer, and the customer who has the new contact meanwhile."""

        def follow(needs: Needs, world: World) -> None:
            change, customer = world.contact_changes.get(change_id), world.customers[customer_id]
            if change is not None:
                holder = (customer.mode, change.contact, change.new_value)
                needs.read(World.contact_holders, holder)

        self.lock(World.customers, customer_id)
        self.lock(World.contact_changes, change_id)
        self.then(World.contact_changes, follow)

    def run(self, run_id: UUID) -> None:
        """A run, with all of its payouts: a payout joins a run only while the run is locked."""

        def follow(needs: Needs, world: World) -> None:
            for payout_id in world.run_payouts[run_id]:
                needs.lock(World.payouts, payout_id)

        self.lock(World.runs, run_id)
        self.read(World.run_payouts, run_id)
        self.then(World.run_payouts, follow)

    def payout(self, payout_id: UUID) -> None:
        """A payout with all of its orders, and its owner."""

        def follow(needs: Needs, world: World) -> None:
            payout = world.payouts.get(payout_id)
            if payout is not None:
                needs.owner(payout)
                if payout.tenant_id is not None:
                    needs.read(World.bank_accounts, payout.owner)  # for the event

        def follow_orders(needs: Needs, world: World) -> None:
            for reference in world.payout_orders[payout_id]:
                needs.lock(World.orders, reference)

        self.lock(World.payouts, payout_id)
        self.then(World.payouts, follow)
        self.read(World.payout_orders, payout_id)
        self.then(World.payout_orders, follow_orders)

    def order(self, reference: str) -> None:
        """An order that may exist, with its payout."""

        def follow(needs: Needs, world: World) -> None:
            payout_id = world.order_payouts.get(reference)
            if payout_id is not None:
                needs.payout(payout_id)

        self.read(World.order_payouts, reference)
        self.then(World.order_payouts, follow)

    def owner(self, payout: Payout) -> None:
        """The merchant of a payout, or the wallet of a withdrawal."""
        if payout.tenant_id is None:
            self.lock(World.wallets, payout.owner)
        else:
            self.read(World.tenants, payout.tenant_id)

    def refunding(self, tenant_id: int, payment_id: UUID) -> None:
        """A payment, with the wallet that paid it, its request and its earlier refunds."""

        def follow(needs: Needs, world: World) -> None:
            payment = world.payments.get(payment_id)
            if payment is not None and payment.payer_account is not None:
                needs.lock(World.wallets, payment.payer_account)
                if payment.request_id is not None:
                    needs.lock(World.requests, payment.request_id)

        self.outgoing(tenant_id)
        self.lock(World.payments, payment_id)
        self.then(World.payments, follow)
        self.read(World.refund_counts, payment_id)
