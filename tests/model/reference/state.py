"""What the service knows, as plain records. A copy costs a few dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from tests.model.reference.times import Stamp, When
from tests.model.reference.unknowns import Unknown

# A resource is named by its kind and the number of the call that made it, so that its name does
# not depend on the order in which calls took effect.
Name: TypeAlias = tuple[str, int]


class Tenant(NamedTuple):
    """A merchant in one mode."""

    merchant: str
    mode: str


@dataclass(frozen=True)
class Merchant:
    name: str
    mode: str
    fee_bps: int
    fee_fixed: int
    active: bool = True
    sandbox_offset: int = 0  # seconds that the sandbox's clock is ahead


@dataclass(frozen=True)
class Token:
    merchant: str
    scopes: frozenset[str]
    issued: float
    sandbox_offset: int


@dataclass(frozen=True)
class Line:
    """A line of a customer's history."""

    tid: Unknown
    time: Stamp | None  # None: when the wallet was opened
    type: str
    name: str
    details: str
    amount: int
    status: str = "success"


@dataclass(frozen=True)
class Wallet:
    mode: str
    tier: str
    balance: int
    contacts: Mapping[str, str] = field(default_factory=dict)
    spendings: tuple[tuple[Stamp, int], ...] = ()
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True)
class Payment:
    name: Name
    tenant: Tenant
    kind: str  # hosted, request or charge
    reference: str
    amount: int
    created_at: Stamp
    title: str | None = None
    description: str | None = None
    terminal_label: str | None = None
    bill_number: str | None = None
    return_url: str | None = None
    expires_at: When | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    status: str = "pending"
    fee: int | None = None
    paid_at: Stamp | None = None
    tid: Unknown | None = None
    payer: str | None = None
    reserved: bool = False
    request: Name | None = None
    authorization: Name | None = None


@dataclass(frozen=True)
class Refund:
    name: Name
    tenant: Tenant
    payment: Name
    amount: int
    created_at: Stamp
    reason: str | None = None
    note: str | None = None
    status: str = "made"  # it has no other


@dataclass(frozen=True)
class Payout:
    name: Name
    tenant: Tenant
    number: int
    amount: int
    created_at: Stamp
    status: str = "sent"
    settled_at: Stamp | None = None
    returned_at: Stamp | None = None


@dataclass(frozen=True)
class Request:
    name: Name
    tenant: Tenant
    reference: str
    amount: int
    created_at: Stamp
    customer_type: str
    customer_value: str
    recipient: str  # the wallet that is asked
    expires_at: When
    title: str | None = None
    description: str | None = None
    terminal_label: str | None = None
    bill_number: str | None = None
    return_url: str | None = None
    status: str = "pending"
    fee: int | None = None
    paid_at: Stamp | None = None
    payment: Name | None = None
    tid: Unknown | None = None
    cancelled_at: Stamp | None = None
    rejected_at: Stamp | None = None
    reserved: bool = False


@dataclass(frozen=True)
class Authorization:
    name: Name
    tenant: Tenant
    reference: str
    title: str
    created_at: Stamp
    updated_at: Stamp
    description: str | None = None
    type: str = "unscheduled"
    per_payment: int | None = None
    interval: str | None = None
    period_amount: int | None = None
    total: int | None = None
    max_payments: int | None = None
    expires_at: When | None = None
    return_url: str | None = None
    status: str = "pending"
    payer: str | None = None
    spendings: tuple[tuple[Stamp, int], ...] = ()
    approved_at: Stamp | None = None
    rejected_at: Stamp | None = None
    revoked_at: Stamp | None = None
    last_used_at: Stamp | None = None


@dataclass(frozen=True)
class Event:
    tenant: Tenant
    type: str
    subject: Name
    time: Stamp
    data: dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What the service answers; `body` may hold what only the service can choose.

    A page answers with one of some statuses: what it shows is not the model's business.
    """

    status: int | frozenset[int]
    body: Any = None
    replayed: bool = False


@dataclass(frozen=True)
class Saved:
    """The response of a request that came with an idempotency key."""

    request: tuple[object, ...]
    completed_at: Stamp
    answer: Answer


class Position(NamedTuple):
    """A place in a listing: what is older comes next."""

    listing: tuple[object, ...]
    after: tuple[float, int]


@dataclass
class State:
    merchants: dict[str, Merchant]
    wallets: dict[str, Wallet]
    tokens: dict[int, Token] = field(default_factory=dict)
    payments: dict[Name, Payment] = field(default_factory=dict)
    refunds: dict[Name, Refund] = field(default_factory=dict)
    payouts: dict[Name, Payout] = field(default_factory=dict)
    requests: dict[Name, Request] = field(default_factory=dict)
    authorizations: dict[Name, Authorization] = field(default_factory=dict)
    references: dict[tuple[Tenant, str], Name] = field(default_factory=dict)
    saved: dict[tuple[object, ...], Saved] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    cursors: dict[int, Position] = field(default_factory=dict)
    # Where several were made at once, in which order the service lists them.
    ranks: dict[Name, int] = field(default_factory=dict)

    def copy(self) -> State:
        return replace(
            self,
            merchants=self.merchants.copy(),
            wallets=self.wallets.copy(),
            tokens=self.tokens.copy(),
            payments=self.payments.copy(),
            refunds=self.refunds.copy(),
            payouts=self.payouts.copy(),
            requests=self.requests.copy(),
            authorizations=self.authorizations.copy(),
            references=self.references.copy(),
            saved=self.saved.copy(),
            cursors=self.cursors.copy(),
            ranks=self.ranks.copy(),
        )

    def offset(self, tenant: Tenant) -> int:
        return self.merchants[tenant.merchant].sandbox_offset if tenant.mode == "sandbox" else 0
