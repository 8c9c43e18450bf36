"""What one batch has loaded, and what its decisions have changed so far.

Commands are decided one after another over the same world, so each sees the effects of those
before it; the store writes what was added and changed when all are decided.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from datetime import datetime, timedelta
from typing import Generic, TypeVar
from uuid import UUID

from laari.rules.actors import Payer
from laari.rules.periods import Counted, Moment, Period, PeriodKey, left
from laari.rules.records import (
    AccessToken,
    Authorization,
    Claim,
    CustomerType,
    Event,
    Mode,
    Payment,
    PaymentRequest,
    SavedResponse,
    Tenant,
    TenantClock,
    Tier,
    TopupSlip,
    Transaction,
    Transfer,
    Wallet,
)

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")


class UnlockedRowError(Exception):
    """A command changed a row that its batch has not locked: a defect, and nothing is committed."""


class Rows(Generic[K, R]):
    """The rows of one table as this batch sees them."""

    __slots__ = ("_locked", "added", "changed", "seen")

    def __init__(self) -> None:
        self.seen: dict[K, R] = {}
        self.added: dict[K, R] = {}
        self.changed: dict[K, R] = {}
        self._locked: set[K] = set()

    def show(self, key: K, row: R) -> None:
        """Takes in a row that was read without a lock: another process may be changing it now."""
        self.seen.setdefault(key, row)

    def lock(self, key: K, row: R) -> None:
        """Takes in a row that nobody else can change until this batch is done."""
        self._locked.add(key)
        self.seen[key] = row

    def get(self, key: K) -> R | None:
        return self.seen.get(key)

    def add(self, key: K, row: R) -> None:
        self.seen[key] = self.added[key] = row

    def change(self, key: K, row: R) -> None:
        # A row added in this same batch is inserted in its latest form.
        if key in self.added:
            self.added[key] = row
        elif key in self._locked:
            self.changed[key] = row
        else:
            raise UnlockedRowError(f"{type(row).__name__} {key} was read without a lock")
        self.seen[key] = row


def local_time(now: datetime, tenant: Tenant | TenantClock | None) -> datetime:
    """A tenant's own time: a sandbox's clock may have been moved; nobody's is real time."""
    if tenant is None or tenant.clock_offset_seconds == 0:
        return now
    return now + timedelta(seconds=tenant.clock_offset_seconds)


class World:
    """The state a batch decides over.

    `origin` is the public address of the service, for the links that resources carry.
    """

    def __init__(self, now: datetime, origin: str) -> None:
        self.now = now
        self.origin = origin
        self.clocks: Rows[int, TenantClock] = Rows()
        # Merchants whose customers decide in this batch, and whether each may take money now.
        self.active: dict[str, bool] = {}
        self.claims: Rows[tuple[int, str], Claim] = Rows()
        self.payments: Rows[UUID, Payment] = Rows()
        self.requests: Rows[UUID, PaymentRequest] = Rows()
        self.authorizations: Rows[UUID, Authorization] = Rows()
        # References of authorizations, a name space of their own.
        self.authorization_ids: dict[tuple[int, str], UUID] = {}
        # The wallets of live customers by how they were named, each in the form that is compared.
        self.recipients: dict[tuple[CustomerType, str], int] = {}
        self.wallets: Rows[int, Wallet] = Rows()
        # The modes of wallets that a command names without touching them.
        self.modes: dict[int, Mode] = {}
        self.tiers: dict[str, Tier] = {}
        # What sandbox rows counted in periods that they do not hold now: as looked up, 0 where
        # there is nothing, and as put aside in this batch.
        self.aside: dict[PeriodKey, int] = {}
        self.put_aside: dict[PeriodKey, int] = {}
        self.saved_responses: Rows[tuple[int, str, str], SavedResponse] = Rows()
        # Idempotency keys that a batch of another process is working on right now.
        self.keys_in_progress: set[tuple[int, str, str]] = set()
        self.access_tokens: list[AccessToken] = []
        # Top-ups by the bank slip that they came with, where a command named it.
        self.topups: dict[tuple[Mode, str], Transaction] = {}
        self.slips: list[TopupSlip] = []
        self.transfers: list[Transfer] = []
        self.transactions: list[Transaction] = []
        self.events: list[Event] = []

    def at(self, tenant: Tenant | None) -> datetime:
        """The time for this tenant, the same for every command of the batch."""
        return local_time(self.now, tenant)

    def moment(self, tenant: Tenant) -> Moment:
        """The time for this tenant, as what is spent now counts in its periods."""
        if tenant.mode == "live":
            return Moment(self.at(tenant))
        return Moment(self.at(tenant), tenant.clock_offset_seconds, self.aside)

    def enter_periods(
        self, tenant: Tenant, counted: Iterable[Counted], periods: Iterable[Period]
    ) -> None:
        """Called before a row counts in these periods; in a sandbox it may come back to others."""
        if tenant.mode == "live":
            return
        for each, period in zip(counted, periods, strict=True):
            done = left(each, period)
            if done is not None:
                key, spent = done
                self.aside[key] = self.put_aside[key] = spent

    def is_active(self, tenant: Tenant) -> bool:
        """Whether the tenant's merchant may take money; it stays so until the batch is done."""
        return self.active[tenant.merchant_id]

    def same_mode(self, tenant: Tenant, account: int) -> bool:
        """Whether this wallet exists in the tenant's mode.

        What belongs to one mode does not exist for the other: a command in which a tenant and a
        payer meet asks this first, whatever page or key it came from.
        """
        wallet = self.wallets.get(account)
        mode = self.modes.get(account) if wallet is None else wallet.mode
        return mode == tenant.mode

    def knows(self, tenant: Tenant, payer: Payer) -> bool:
        """Whether this payer exists for the tenant: by their own word and by their wallet's."""
        return payer.mode == tenant.mode and self.same_mode(tenant, payer.account)


class Needs:
    """What the commands of a batch ask to be loaded, and locked where they may change it."""

    __slots__ = (
        "accounts",
        "authorization_references",
        "authorizations",
        "claims",
        "clocks",
        "keys",
        "merchants",
        "payers_of",
        "payments",
        "recipients",
        "requests",
        "sandbox_charging",
        "sandbox_spending",
        "slips",
        "wallets",
        "wallets_of_authorizations",
    )

    def __init__(self) -> None:
        self.keys: set[tuple[int, str, str]] = set()
        self.clocks: set[int] = set()
        self.merchants: set[str] = set()
        self.claims: set[tuple[int, str]] = set()
        self.authorization_references: set[tuple[int, str]] = set()
        self.payments: set[UUID] = set()
        self.requests: set[UUID] = set()
        self.authorizations: set[UUID] = set()
        self.recipients: set[tuple[CustomerType, str]] = set()
        self.wallets: set[int] = set()
        self.accounts: set[int] = set()  # wallets of which only the mode is asked, not locked
        self.slips: set[str] = set()
        # Sandbox wallets and authorizations that something may count in the periods of, each with
        # how far the clock it is counted on was moved.
        self.sandbox_spending: set[tuple[int, int]] = set()
        self.sandbox_charging: set[tuple[UUID, int]] = set()
        # Rows that only another row names: the wallet that paid and the request behind a payment,
        # the wallet an authorization charges.
        self.payers_of: set[UUID] = set()
        self.wallets_of_authorizations: set[UUID] = set()

    def spending(self, tenant: Tenant, account: int) -> None:
        """A wallet that pays this tenant."""
        self.wallets.add(account)
        if tenant.mode == "sandbox":
            self.sandbox_spending.add((account, tenant.clock_offset_seconds))

    def charging(self, tenant: Tenant, authorization_id: UUID) -> None:
        """An authorization that this tenant charges, with the wallet behind it."""
        self.authorizations.add(authorization_id)
        self.wallets_of_authorizations.add(authorization_id)
        if tenant.mode == "sandbox":
            self.sandbox_charging.add((authorization_id, tenant.clock_offset_seconds))

    @property
    def takes_locks(self) -> bool:
        """Whether anything is kept from others until the batch is committed."""
        return bool(
            self.keys
            or self.merchants
            or self.clocks
            or self.payments
            or self.requests
            or self.authorizations
            or self.wallets
        )
