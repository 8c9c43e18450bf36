"""The commands that payments and payment requests share: cancel, expire, pay, reject, reserve."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Generic
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from laari.rules import ids
from laari.rules.actors import Actor, Payer
from laari.rules.command import TenantCommand
from laari.rules.events import EventType, emit
from laari.rules.journal import Act, note_of_tenant
from laari.rules.lifecycle import (
    PAYMENT_TRANSITIONS,
    REQUEST_TRANSITIONS,
    Action,
    Payable,
    TransitionError,
    Transitions,
    state_of,
)
from laari.rules.needs import Needs
from laari.rules.records.payments import Payment, PaymentRequest
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal, RefusalCode, refuse
from laari.rules.shapes.payments import payment_shape
from laari.rules.shapes.requests import request_shape
from laari.rules.tables import Table
from laari.rules.wallets import take_payment
from laari.rules.world import World


@dataclass(frozen=True)
class Kind(Generic[Payable]):
    """The differences between payments and payment requests."""

    table: Table[UUID, Payable]
    noun: str
    object_type: str  # in the journal
    prefix: str  # of its ids
    missing: RefusalCode
    not_cancellable: RefusalCode
    not_cancellable_now: RefusalCode  # while an attempt to pay is processed
    transitions: Transitions
    events: Mapping[Action, EventType]  # the others have none
    shape: Callable[[Payable, str], Struct]
    is_for: Callable[[Payable, Payer], bool]
    is_taken: Callable[[Payable, Payer], bool]  # whether another payer's attempt is processed
    reservation: Callable[[Payer, datetime], dict[str, object]]
    no_reservation: Mapping[str, None]


PAYMENTS = Kind[Payment](
    table=World.payments,
    noun="payment",
    object_type="payment",
    prefix=ids.PAYMENT,
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
    object_type="payment_request",
    prefix=ids.PAYMENT_REQUEST,
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
    emit(world, tenant, event_type, payable.id, kind.shape(payable, world.origin))


def move(
    kind: Kind[Payable],
    world: World,
    tenant: Tenant,
    payable: Payable,
    action: Action,
    **changes: object,
) -> Payable:
    """Makes a transition that the lifecycle allows, and emits its event."""
    state = state_of(payable, world.at(tenant))
    status = kind.transitions[state].get(action)
    if status is None:
        raise TransitionError(f"{action} of a {kind.noun} that is {state}")
    moved = replace(payable, status=status, **changes)
    kind.table.of(world).change(payable.id, moved)
    if action in kind.events:
        announce(kind, world, tenant, kind.events[action], moved)
    return moved


def note_moved(
    kind: Kind[Payable],
    world: World,
    actor: Actor,
    tenant: Tenant,
    verb: str,
    *,
    before: Payable,
    after: Payable,
) -> None:
    """Adds the entry of an action to the journal."""
    note_of_tenant(
        world,
        Act(actor, f"{kind.object_type}.{verb}"),
        tenant,
        kind.object_type,
        ids.show_id(kind.prefix, after.id),
        before={"status": before.status},
        after={"status": after.status},
    )


def not_taking(world: World, tenant: Tenant) -> Refusal | None:
    """Why nobody can pay this merchant now, or None."""
    if world.is_active(tenant):
        return None
    return refuse("payment_conflict", "The merchant is not taking payments.")


@dataclass(frozen=True, slots=True)
class OnePayable(TenantCommand[Payable], Generic[Payable]):
    """One action on one payment or payment request of the tenant, locked."""

    action: ClassVar[Action]
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

    def act(self, world: World, payable: Payable) -> Payable | Refusal:
        refusal = self.refusal(world, payable)
        if refusal is not None:
            return refusal
        changes = self.changes(world.at(self.tenant))
        return move(self.kind, world, self.tenant, payable, self.action, **changes)

    def changes(self, now: datetime) -> Mapping[str, object]:
        """The fields that the action sets, besides the status."""
        return {}

    def refusal(self, world: World, payable: Payable) -> Refusal | None:
        """Why the lifecycle does not allow the action now, or None."""
        kind, state = self.kind, state_of(payable, world.at(self.tenant))
        if self.action in kind.transitions[state]:
            return None
        is_cancel = self.action == "cancel"
        code = kind.not_cancellable if is_cancel else "payment_conflict"
        if state == "processing":
            code = kind.not_cancellable_now if is_cancel else code
            return refuse(code, "An attempt to pay is being processed.")
        if state == "overdue":
            return refuse(code, f"The {kind.noun} has expired.")
        if self.action == "release" and state == "pending":
            return refuse(code, "No attempt to pay is being processed.")
        return refuse(code, f"The {kind.noun} is {state}.")


@dataclass(frozen=True, slots=True)
class Cancel(OnePayable[Payable], Generic[Payable]):
    """The merchant withdraws it; if it is already cancelled, nothing changes."""

    action = "cancel"
    actor: Actor

    def act(self, world: World, payable: Payable) -> Payable | Refusal:
        if payable.status == "cancelled":
            return payable
        outcome = OnePayable.act(self, world, payable)
        if not isinstance(outcome, Refusal):
            note_moved(
                self.kind,
                world,
                self.actor,
                self.tenant,
                "cancel",
                before=payable,
                after=outcome,
            )
        return outcome

    def changes(self, now: datetime) -> Mapping[str, object]:
        return {"cancelled_at": now}


class Expire(OnePayable[Payable]):
    """Expires it if it is overdue, and returns it in any case."""

    action = "expire"

    def act(self, world: World, payable: Payable) -> Payable | Refusal:
        outcome = OnePayable.act(self, world, payable)
        return payable if isinstance(outcome, Refusal) else outcome


@dataclass(frozen=True, slots=True)
class ByPayer(OnePayable[Payable], Generic[Payable]):
    """An action of a customer, who finds only their own requests, and only in their own mode."""

    payer: Payer

    def needs(self, needs: Needs) -> None:
        needs.lock(self.kind.table, self.id)
        needs.read(World.wallets, self.payer.account)

    def find(self, world: World) -> Payable | None:
        payable = OnePayable.find(self, world)
        if payable is None or not self.kind.is_for(payable, self.payer):
            return None
        return payable if world.knows(self.tenant, self.payer) else None

    def refusal(self, world: World, payable: Payable) -> Refusal | None:
        if self.kind.is_taken(payable, self.payer):
            return refuse("payment_conflict", "Another attempt to pay is being processed.")
        return OnePayable.refusal(self, world, payable)


class Pay(ByPayer[Payable]):
    """Pays, and ends the attempt in processing, if any; so does a refused attempt."""

    action = "pay"

    def needs(self, needs: Needs) -> None:
        needs.lock(World.merchants, self.tenant.merchant_id)
        needs.lock(self.kind.table, self.id)
        needs.spending(self.tenant, self.payer.account)

    def act(self, world: World, payable: Payable) -> Payable | Refusal:
        refusal = self.refusal(world, payable)
        if refusal is not None:
            return refusal
        account, details = self.payer.account, payable.title or payable.reference
        tid = not_taking(world, self.tenant) or take_payment(
            world, self.tenant, account, payable.amount, details, payable_id=payable.id
        )
        if not isinstance(tid, Refusal):
            return self.book(world, payable, tid)
        if payable.reserved_at is not None:
            none = self.kind.no_reservation
            move(self.kind, world, self.tenant, payable, "release", **none)
        return tid

    @abstractmethod
    def book(self, world: World, payable: Payable, tid: str) -> Payable:
        """Books the money that has left the payer's wallet, and returns what is paid."""


class Reject(ByPayer[Payable]):
    """The customer declines; this is final."""

    action = "reject"

    def changes(self, now: datetime) -> Mapping[str, object]:
        return {"rejected_at": now}


class Reserve(ByPayer[Payable]):
    """An attempt to pay starts and stays in processing."""

    action = "reserve"

    def needs(self, needs: Needs) -> None:
        ByPayer.needs(self, needs)
        needs.lock(World.merchants, self.tenant.merchant_id)

    def refusal(self, world: World, payable: Payable) -> Refusal | None:
        return ByPayer.refusal(self, world, payable) or not_taking(world, self.tenant)

    def changes(self, now: datetime) -> Mapping[str, object]:
        return self.kind.reservation(self.payer, now)


class Release(ByPayer[Payable]):
    """The customer gives up the attempt in processing."""

    action = "release"

    def changes(self, now: datetime) -> Mapping[str, object]:
        return self.kind.no_reservation
