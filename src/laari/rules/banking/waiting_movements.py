"""Movements that wait for a second person: another operator makes or refuses them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeVar, assert_never
from uuid import UUID

from msgspec.structs import replace

from laari.rules import ids
from laari.rules.actors import Actor, written
from laari.rules.banking.bank_accounts import AddBankAccount
from laari.rules.banking.bank_imports import ConfirmImport
from laari.rules.banking.merchant_money import MoveFunds, SweepFees
from laari.rules.banking.merchant_refunds import RefundForMerchant
from laari.rules.banking.open_lines import AssignLine, ChargeLine, SendLineBack
from laari.rules.banking.payout_runs import AnswerPayout
from laari.rules.banking.second_person import Controlled, Prepared, note_movement
from laari.rules.banking.wallet_money import MoveMoney
from laari.rules.command import Command
from laari.rules.money import rufiyaa
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission, lacks
from laari.rules.people.persons import helps_of, needs_helps, not_second
from laari.rules.records.bank_accounts import BankDetails
from laari.rules.records.second_person import Help, PendingMovement, PendingMovementKind
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World

T = TypeVar("T")

# Who may make or refuse a movement: those who may move such money themselves.
PERMISSIONS: dict[PendingMovementKind, Permission] = {
    "topup": MoveMoney.permission,
    "adjustment": MoveMoney.permission,
    "refund": RefundForMerchant.permission,
    "release": MoveFunds.permission,
    "merchant_adjustment": MoveFunds.permission,
    "assign": AssignLine.permission,
    "send_back": SendLineBack.permission,
    "charge": ChargeLine.permission,
    "sweep": SweepFees.permission,
    "return": AnswerPayout.permission,
    "bank_account": AddBankAccount.permission,
    "import": ConfirmImport.permission,
}


def command_of(movement: PendingMovement, actor: Actor) -> Controlled[Any]:
    """The command that was asked for, as this actor's."""
    kind = movement.kind
    match kind:
        case "topup" | "adjustment":
            return MoveMoney(
                actor=actor,
                tenant=None,
                account=_given(movement.account),
                kind=kind,
                amount=movement.amount,
                details=movement.details,
                slip=movement.reference,
                below_zero=movement.below_zero,
            )
        case "refund" | "release" | "merchant_adjustment":
            return _of_merchant(movement, actor)
        case "assign":
            return AssignLine(actor, _given(movement.reference), _given(movement.account))
        case "send_back":
            return SendLineBack(actor, _given(movement.reference))
        case "charge":
            return ChargeLine(actor, _given(movement.reference))
        case "sweep":
            return SweepFees(actor, "live", movement.amount)
        case "return":
            about = _given(movement.reference)
            order = None if about.startswith(ids.PAYOUT) else about
            payout_id, reason = _given(movement.payout_id), movement.details
            return AnswerPayout(actor, payout_id, "return", order, reason)
        case "bank_account":
            details = BankDetails(
                _given(movement.holder), _given(movement.bank), _given(movement.account_number)
            )
            account = _given(movement.account)
            return AddBankAccount(actor, account, details, asked_for=movement)
        case "import":
            return ConfirmImport(actor, movement)
    assert_never(kind)


def _of_merchant(movement: PendingMovement, actor: Actor) -> Controlled[Any]:
    tenant_id, kind = _given(movement.tenant_id), movement.kind
    if kind in ("release", "merchant_adjustment"):
        return MoveFunds(
            tenant_id,
            actor,
            kind,
            movement.amount,
            movement.details,
            below_zero=movement.below_zero,
        )
    return RefundForMerchant(
        tenant_id,
        actor,
        _given(ids.read_id(ids.PAYMENT, _given(movement.reference))),
        movement.amount,
        movement.refund_reason,
        note=movement.refund_note,
    )


def _given(value: T | None) -> T:
    assert value is not None  # by a constraint of the table
    return value


def not_confirmer(
    movement: PendingMovement, actor: Actor, helps: Sequence[Help], now: datetime
) -> str | None:
    """Why this person does not confirm the movement, or None."""
    own = "Another person has to confirm a movement you asked for."
    return not_second(movement.requested_by, actor, helps, now, own)


class Made(NamedTuple):
    """A movement that a second person made, and the result of its command."""

    movement: PendingMovement
    outcome: object


@dataclass(frozen=True, slots=True)
class MakeMovement(Command[Made]):
    """The second person confirms a waiting movement: it is carried out and ends.

    It counts for neither person's limit. A movement that waits never changes, so its id names what
    the person saw. `matches` is what the lines of a statement would become now.
    """

    actor: Actor
    movement_id: UUID
    matches: str | None = None

    def needs(self, needs: Needs) -> None:
        needs_helps(needs)
        needs.lock(World.movements, self.movement_id)
        needs.then(World.movements, self._follow)

    def _follow(self, needs: Needs, world: World) -> None:
        movement = world.movements.get(self.movement_id)
        if movement is not None:
            command_of(movement, self.actor).rows(needs)

    def decide(self, world: World) -> Made | Refusal:
        movement = _waiting(world, self.actor, self.movement_id)
        if isinstance(movement, Refusal):
            return movement
        reason = not_confirmer(movement, self.actor, helps_of(world), world.now)
        if reason is not None:
            return refuse("conflict", reason)
        if self.matches != movement.matches:
            message = (
                "Its lines would be booked in another way now. Refuse it, and import it again."
            )
            return refuse("conflict", message)
        prepared = command_of(movement, self.actor).prepare(world)
        if isinstance(prepared, Refusal):
            return prepared
        if not isinstance(prepared, Prepared) or prepared.asked is None:
            return refuse("conflict", "The movement was made in another way.")
        if prepared.asked.amount != movement.amount:
            message = f"The amount would be MVR {rufiyaa(prepared.asked.amount)} now."
            return refuse("conflict", message)
        booked = prepared.book()
        if isinstance(booked, Refusal):
            return booked
        done = _decided(world, movement, self.actor, "done", tid=booked.tid)
        note_movement(world, self.actor, "make", done, movement)
        return Made(done, booked.result)


@dataclass(frozen=True, slots=True)
class RefuseMovement(Command[PendingMovement]):
    """A person refuses a movement that waits; the one who asked can withdraw it."""

    actor: Actor
    movement_id: UUID
    reason: str

    def needs(self, needs: Needs) -> None:
        needs.lock(World.movements, self.movement_id)

    def decide(self, world: World) -> PendingMovement | Refusal:
        movement = _waiting(world, self.actor, self.movement_id)
        if isinstance(movement, Refusal):
            return movement
        refused = _decided(world, movement, self.actor, "refused", reason=self.reason)
        note_movement(world, self.actor, "refuse", refused, movement)
        return refused


def _waiting(world: World, actor: Actor, movement_id: UUID) -> PendingMovement | Refusal:
    movement = world.movements.get(movement_id)
    if movement is None:
        return refuse("not_found", "There is no such movement.")
    if movement.status != "waiting":
        return refuse("conflict", f"The movement is {movement.status} already.")
    return lacks(actor, PERMISSIONS[movement.kind]) or movement


def _decided(
    world: World,
    movement: PendingMovement,
    actor: Actor,
    status: Literal["done", "refused"],
    *,
    reason: str | None = None,
    tid: str | None = None,
) -> PendingMovement:
    decided = replace(
        movement,
        status=status,
        decided_at=world.now,
        decided_by=written(actor),
        reason=reason,
        tid=tid,
    )
    world.movements.change(movement.id, decided)
    return decided
