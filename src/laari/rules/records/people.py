"""The ids and records of customers and people."""

from datetime import date, datetime
from typing import Literal, NamedTuple, TypeAlias
from uuid import UUID

from msgspec import Struct

from laari.rules import ids
from laari.rules.records.messages import ChosenChannel, Language, Recipient
from laari.rules.records.tenants import Mode

COUNTRY = "960"  # the prefix of mobile numbers, which are stored without it

MerchantRole = Literal["owner", "manager", "accountant", "cashier"]

OperatorRole = Literal["admin", "finance", "support"]

Role: TypeAlias = MerchantRole | OperatorRole


class CustomerId(Struct, frozen=True):
    """A type of its own, because a person's id is a UUID too."""

    id: UUID


class PersonId(Struct, frozen=True):
    id: UUID


Whose: TypeAlias = CustomerId | PersonId  # somebody who logs in


def show_whose(whose: Whose) -> str:
    """The id that pages and the journal show."""
    prefix = ids.CUSTOMER if isinstance(whose, CustomerId) else ids.PERSON
    return ids.show_id(prefix, whose.id)


class Customer(Struct, frozen=True):
    """A person with a wallet; `sandbox_of` is the tenant whose own sandbox customer this is."""

    id: UUID
    name: str
    mode: Mode
    sandbox_of: int | None
    vpa: str | None
    language: Language  # of messages
    password_hash: str | None
    created_at: datetime
    password_must_change: bool
    password_first: bool
    mobile: str | None
    email: str | None

    @property
    def recipient(self) -> Recipient:
        return Recipient(self.email, self.mobile, self.language, self.id)

    def value_of(self, contact: "ContactKind") -> str | None:
        return self.mobile if contact == "mobile" else self.email


ContactKind = Literal["mobile", "email"]

ContactChangeStatus = Literal["waiting", "confirmed", "done", "cancelled", "stopped", "failed"]


class CustomerSignUp(Struct, frozen=True):
    """A sign-up that waits for the code which was sent to the mobile number."""

    digest: bytes  # of the secret of the request
    mobile: str
    name: str
    password_hash: str
    language: Language
    code_digest: bytes
    expires_at: datetime
    attempts: int = 0  # wrong codes


class ContactChange(Struct, frozen=True):
    """A new mobile number or email address of a customer, on its way to its effect."""

    id: UUID
    customer_id: UUID
    contact: ContactKind
    old_value: str | None  # at the time of the request
    new_value: str
    reason: str
    lost: bool  # the old value: it gets no link
    requested_at: datetime
    requested_by: str
    code_digest: bytes | None  # None if the service cannot reach the new contact
    code_expires_at: datetime | None
    attempts: int = 0  # wrong codes
    status: ContactChangeStatus = "waiting"
    confirmed_at: datetime | None = None
    confirmed_by: str | None = None
    effective_at: datetime | None = None
    stop_digest: bytes | None = None  # of the link to the present contacts
    ended_at: datetime | None = None
    ended_by: str | None = None
    end_reason: str | None = None

    @property
    def has_code(self) -> bool:
        """Whether a code was sent to the new contact."""
        return self.code_digest is not None


class Person(Struct, frozen=True):
    """Somebody who logs in for merchants or for the operator."""

    id: UUID
    email: str
    created_at: datetime
    password_hash: str
    password_must_change: bool = False
    password_first: bool = False
    proven: bool = True  # whether the address is known to be theirs


class Membership(Struct, frozen=True):
    """The role of a person at a merchant, or at the operator."""

    person_id: UUID
    merchant_id: str | None  # None is the operator
    role: Role
    till: str | None  # of a cashier
    created_at: datetime


class Invitation(Struct, frozen=True):
    """A role that an address was offered; a new one replaces the one before."""

    merchant_id: str
    email: str
    digest: bytes  # of the link
    role: MerchantRole
    till: str | None
    invited_by: UUID | None  # None is the operator
    created_at: datetime
    expires_at: datetime
    proves: bool  # whether only the owner of the address has seen the link


class CustomerMessages(Struct, frozen=True):
    """Which messages about movements a customer wants, as a `MessageChoice`."""

    customer_id: UUID
    channel: ChosenChannel | None
    least: int


class PersonMessages(Struct, frozen=True):
    """The same for a person."""

    person_id: UUID
    channel: ChosenChannel | None
    least: int


class SecondFactor(Struct, frozen=True):
    """The second factor of a person, which counts once it is confirmed."""

    person_id: UUID
    seed_encrypted: bytes
    created_at: datetime
    confirmed_at: datetime | None = None
    codes_made_at: datetime | None = None
    last_step: int = 0
    failures: int = 0
    blocked_until: datetime | None = None
    recovery_codes: list[str] = []  # digests of the unused ones


class LogIn(Struct, frozen=True):
    """A session of a customer or a person, as far as commands end it."""

    digest: bytes
    customer_id: UUID | None
    person_id: UUID | None
    ended_for: list[str]  # merchants whose pages need a new log-in


class PasswordLink(Struct, frozen=True):
    """The link or code that sets somebody's password. A new one replaces the one before."""

    whose: UUID
    kind: Literal["customer", "person"]
    digest: bytes  # of the link, or of the request of a code
    binding: bytes  # to its owner, by the master key
    code_digest: bytes | None  # None for a link
    expires_at: datetime
    attempts: int = 0  # wrong codes

    @property
    def owner(self) -> Whose:
        return CustomerId(self.whose) if self.kind == "customer" else PersonId(self.whose)


TrustStatus = Literal["asked", "agreed", "ended"]

CaseStatus = Literal["open", "resolved", "rejected"]


class Case(Struct, frozen=True):
    """A customer says that they did not make a movement of their wallet, and gets an answer."""

    id: UUID
    customer_id: UUID
    tid: str  # the line of their history
    text: str
    opened_at: datetime
    status: CaseStatus = "open"
    answer: str | None = None  # the customer reads it
    answered_at: datetime | None = None
    answered_by: str | None = None


class TrustedPerson(Struct, frozen=True):
    """Another customer who gets messages about the money of one who asked them: one for each.

    `ends_at` is set if the customer ends it: the messages go on until then.
    """

    customer_id: UUID
    trusted_id: UUID | None  # None if nobody has the number that was entered
    mobile: str  # as the customer entered it
    above: int  # the smallest payment without a message
    asked_at: datetime
    status: TrustStatus = "asked"
    agreed_at: datetime | None = None
    ends_at: datetime | None = None


class CustomerNote(Struct, frozen=True):
    """A note of an operator about a customer; it is never changed."""

    customer_id: UUID
    time: datetime
    author: str
    text: str


class CustomerIdentity(Struct, frozen=True):
    """The identity data of a customer, encrypted for them."""

    customer_id: UUID
    encrypted: bytes
    entered_at: datetime


class WalletKey(Struct, frozen=True):
    """A key with which the customer's own programs read the wallet."""

    digest: bytes
    account: int
    name: str
    created_at: datetime
    revoked_at: datetime | None = None


class KeyCounts(NamedTuple):
    """The keys of a wallet: revoked ones stay, so the number of those made only grows."""

    made: int
    usable: int


class Passkey(Struct, frozen=True):
    """The public key of an authenticator, with which a customer logs in without the password."""

    id: UUID
    customer_id: UUID
    credential: bytes  # the name that the authenticator gave it
    public_key: bytes  # as COSE
    binding: bytes  # of both to the customer, by the master key
    name: str  # for people
    added_at: datetime
    ended_at: datetime | None = None
    counter: int = 0  # of the last use, by the authenticator; some always say 0
    challenged_at: datetime | None = None  # when the challenge of the last use was made
    used_at: datetime | None = None


class RememberedDevice(Struct, frozen=True):
    """A browser that pays small amounts for a customer without the password."""

    id: UUID
    digest: bytes  # of its token
    binding: bytes  # of the digest to the customer
    customer_id: UUID
    name: str  # for people
    added_at: datetime
    ended_at: datetime | None = None


class DevicePayment(Struct, frozen=True):
    """What a remembered device paid; never changed, never deleted."""

    payment_id: UUID
    device_id: UUID
    customer_id: UUID
    day: date
    amount: int


class DeviceDay(NamedTuple):
    """The last day on which devices of a customer paid, and the sum of that day."""

    day: date
    spent: int
