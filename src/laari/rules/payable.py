"""What payments and payment requests have in common: a customer pays them, or does not.

The commands here are those of both. What the two differ in is a `Kind`: a request is addressed to
one customer, and the merchant hears of more that becomes of it.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Generic
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from laari.rules.actors import Payer
from laari.rules.command import TenantCommand
from laari.rules.events import EventType, emit
from laari.rules.lifecycle import (
    PAYMENT_TRANSITIONS,
    REQUEST_TRANSITIONS,
    Action,
    Payable,
    TransitionError,
    Transitions,
    state_of,
)
from laari.rules.records import Payment, PaymentRequest, Tenant
from laari.rules.refusals import Refusal, RefusalCode, refuse
from laari.rules.shapes.payments import payment_shape
from laari.rules.shapes.requests import request_shape
from laari.rules.tables import Table
from laari.rules.wallets import take_payment
from laari.rules.world import Needs, World


@dataclass(frozen=True)
class Kind(Generic[Payable]):
    """What payments and payment requests differ in."""

    table: Table[UUID, Payable]
    noun: str
    missing: RefusalCode  # the code if there is none that the caller may see
    not_cancellable: RefusalCode
    not_cancellable_now: RefusalCode  # while an attempt to pay is being processed
    transitions: Transitions
    events: Mapping[Action, EventType]  # what the merchant hears of
    shape: Callable[[Payable, str], Struct]
    is_for: Callable[[Payable, Payer], bool]
    # Whether another payer's attempt is being processed.
    is_taken: Callable[[Payable, Payer], bool]
    reservation: Callable[[Payer, datetime], dict[str, object]]
    no_reservation: Mapping[str, None]


PAYMENTS = Kind[Payment](
    table=World.payments,
    noun="payment",
    missing="not_found",
    not_cancellable="payment_not_cancellable",
    not_cancellable_now="payment_conflict",
    transitions=PAYMENT_TRANSITIONS,
    events={
        "pay": "payment.paid",
        "cancel": "payment.cancelled",
        "expire": "payment.expired",
    },
    shape=payment_shape,
    is_for=lambda payment, payer: True,  # anyone who has the link
    is_taken=lambda payment, payer: (
        payment.reserved_at is not None and payment.reserved_by != payer.account
    ),
    reservation=lambda payer, now: {"reserved_at": now, "reserved_by": payer.account},
    no_reservation={"reserved_at": None, "reserved_by": None},
)
REQUESTS = Kind[PaymentRequest](
    table=World.requests,
    noun="request",
    missing="payment_request_not_found",
    not_cancellable="payment_request_not_cancellable",
    not_cancellable_now="payment_request_not_cancellable",
    transitions=REQUEST_TRANSITIONS,
    events={
        "pay": "payment_request.paid",
        "reject": "payment_request.rejected",
        "cancel": "payment_request.cancelled",
        "expire": "payment_request.expired",
    },
    shape=lambda request, origin: request_shape(request),
    is_for=lambda request, payer: request.account == payer.account,
    is_taken=lambda request, payer: False,  # nobody else finds it
    reservation=lambda payer, now: {"reserved_at": now},
    no_reservation={"reserved_at": None},
)


def announce(
    kind: Kind[Payable], world: World, tenant: Tenant, event_type: EventType, payable: Payable
) -> None:
    """Tells the merchant."""
    emit(world, tenant, event_type, payable.id, kind.shape(payable, world.origin))


def move(
    kind: Kind[Payable],
    world: World,
    tenant: Tenant,
    payable: Payable,
    action: Action,
    **changes: object,
) -> Payable:
    """Makes a transition that the lifecycle allows, and tells the merchant where it is told."""
    state = state_of(payable, world.at(tenant))
    status = kind.transitions[state].get(action)
    if status is None:
        raise TransitionError(f"{action} of a {kind.noun} that is {state}")
    moved = replace(payable, status=status, **changes)
    kind.table.of(world).change(payable.id, moved)
    if action in kind.events:
        announce(kind, world, tenant, kind.events[action], moved)
    return moved


def refusal_of(
    kind: Kind[Payable], payable: Payable, action: Action, now: datetime
) -> Refusal | None:
    """Why the lifecycle does not allow this now, if so."""
    state = state_of(payable, now)
    if action in kind.transitions[state]:
        return None
    code = kind.not_cancellable if action == "cancel" else "payment_conflict"
    if state == "processing":
        code = kind.not_cancellable_now if action == "cancel" else code
        return refuse(code, "An attempt to pay is being processed.")
    if state == "overdue":
        return refuse(code, f"The {kind.noun} has expired.")
    if action == "release" and state == "pending":
        return refuse(code, "No attempt to pay is being processed.")
    if action == "refund":
        return refuse(code, f"The {kind.noun} is {state}, not paid.")
    return refuse(code, f"The {kind.noun} is {state}.")


def not_taking(world: World, tenant: Tenant) -> Refusal | None:
    """Why nobody can pay this merchant now, if so."""
    if world.is_active(tenant):
        return None
    return refuse("payment_conflict", "The merchant is not taking payments.")


@dataclass(frozen=True, slots=True)
class OnePayable(TenantCommand[Payable], Generic[Payable]):
    """A command about one payment or payment request of the tenant's, locked."""

    tenant: Tenant
    id: UUID

    @property
    @abstractmethod
    def kind(self) -> Kind[Payable]: ...

    def needs(self, needs: Needs) -> None:
        needs.lock(self.kind.table, self.id)

    def busy(self) -> Refusal:
        return refuse("payment_conflict")

    def find(self, world: World) -> Payable | None:
        found = self.kind.table.of(world).get(self.id)
        return found if found is not None and found.tenant_id == self.tenant.id else None

    def decide(self, world: World) -> Payable | Refusal:
        payable = self.find(world)
        return refuse(self.kind.missing) if payable is None else self.act(world, payable)

    @abstractmethod
    def act(self, world: World, payable: Payable) -> Payable | Refusal:
        """Decides about what was found."""

    def refusal(self, world: World, payable: Payable, action: Action) -> Refusal | None:
        return refusal_of(self.kind, payable, action, world.at(self.tenant))


class Cancel(OnePayable[Payable]):
    """The merchant no longer asks for it; done again, it returns what is cancelled."""

    def act(self, world: World, payable: Payable) -> Payable | Refusal:
        if payable.status == "cancelled":
            return payable
        refusal = self.refusal(world, payable, "cancel")
        if refusal is not None:
            return refusal
        now = world.at(self.tenant)
        return move(self.kind, world, self.tenant, payable, "cancel", cancelled_at=now)


class Expire(OnePayable[Payable]):
    """Expires what is overdue; returns it as it then is."""

    def act(self, world: World, payable: Payable) -> Payable | Refusal:
        if self.refusal(world, payable, "expire") is not None:
            return payable
        return move(self.kind, world, self.tenant, payable, "expire")


@dataclass(frozen=True, slots=True)
class ByPayer(OnePayable[Payable], Generic[Payable]):
    """A command of a customer; what is asked of others or in the other mode does not exist."""

    payer: Payer

    def needs(self, needs: Needs) -> None:
        needs.lock(self.kind.table, self.id)
        needs.read(World.wallets, self.payer.account)

    def find(self, world: World) -> Payable | None:
        payable = OnePayable.find(self, world)
        if payable is None or not self.kind.is_for(payable, self.payer):
            return None
        return payable if world.knows(self.tenant, self.payer) else None

    def refusal(self, world: World, payable: Payable, action: Action) -> Refusal | None:
        if self.kind.is_taken(payable, self.payer):
            return refuse("payment_conflict", "Another attempt to pay is being processed.")
        return OnePayable.refusal(self, world, payable, action)


class Pay(ByPayer[Payable]):
    """Pays, completing the attempt in processing if there is one; a refused attempt has ended."""

    def needs(self, needs: Needs) -> None:
        needs.lock(World.merchants, self.tenant.merchant_id)
        needs.lock(self.kind.table, self.id)
        needs.spending(self.tenant, self.payer.account)

    def act(self, world: World, payable: Payable) -> Payable | Refusal:
        refusal = self.refusal(world, payable, "pay")
        if refusal is not None:
            return refusal
        account, details = self.payer.account, payable.title or payable.reference
        tid = not_taking(world, self.tenant) or take_payment(
            world, self.tenant, account, payable.amount, details
        )
        if not isinstance(tid, Refusal):
            return self.book(world, payable, tid)
        if payable.reserved_at is not None:
            self.release(world, payable)
        return tid

    @abstractmethod
    def book(self, world: World, payable: Payable, tid: str) -> Payable:
        """Books what has left the payer's wallet, and returns what is paid."""

    def release(self, world: World, payable: Payable) -> None:
        move(self.kind, world, self.tenant, payable, "release", **self.kind.no_reservation)


class Reject(ByPayer[Payable]):
    """The customer declines: final."""

    def act(self, world: World, payable: Payable) -> Payable | Refusal:
        refusal = self.refusal(world, payable, "reject")
        if refusal is not None:
            return refusal
        now = world.at(self.tenant)
        return move(self.kind, world, self.tenant, payable, "reject", rejected_at=now)


class Reserve(ByPayer[Payable]):
    """An attempt to pay starts and stays in processing."""

    def needs(self, needs: Needs) -> None:
        ByPayer.needs(self, needs)
        needs.lock(World.merchants, self.tenant.merchant_id)

    def act(self, world: World, payable: Payable) -> Payable | Refusal:
        refusal = self.refusal(world, payable, "reserve") or not_taking(world, self.tenant)
        if refusal is not None:
            return refusal
        reservation = self.kind.reservation(self.payer, world.at(self.tenant))
        return move(self.kind, world, self.tenant, payable, "reserve", **reservation)


class Release(ByPayer[Payable]):
    """The attempt in processing is given up."""

    def act(self, world: World, payable: Payable) -> Payable | Refusal:
        refusal = self.refusal(world, payable, "release")
        if refusal is not None:
            return refusal
        none = self.kind.no_reservation
        return move(self.kind, world, self.tenant, payable, "release", **none)
