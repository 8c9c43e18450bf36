"""Top-ups and adjustments above the operator's limit: a second operator makes or refuses them."""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from msgspec.structs import replace

from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.journal import note
from laari.rules.money import rufiyaa
from laari.rules.operator import MovedMoney, MoveMoney, in_statement, needs_slip, no_wallet
from laari.rules.records import PendingMovement, Tenant
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import Needs, World


def needs_second_operator(amount: int, above: int | None) -> bool:
    """Whether a movement of this amount, in either direction, waits for a second operator."""
    return above is not None and abs(amount) > above


@dataclass(frozen=True, slots=True)
class RequestMovement(Command[PendingMovement]):
    """The first operator asks for a movement; it moves nothing."""

    actor: Actor
    account: int
    kind: Literal["topup", "adjustment"]
    amount: int
    details: str
    slip: str | None = None
    below_zero: bool = False

    def needs(self, needs: Needs) -> None:
        needs.lock(World.wallets, self.account)
        needs_slip(needs, self.slip)

    def decide(self, world: World) -> PendingMovement | Refusal:
        wallet = world.wallets.get(self.account)
        if wallet is None:
            return no_wallet(self.account)
        first = None if self.slip is None else world.topups.get((wallet.mode, self.slip))
        if first is not None:
            used = f"MVR {rufiyaa(first.amount)} to account {first.account} ({first.tid})"
            return refuse("conflict", f"This slip was already used to top up {used}.")
        movement = PendingMovement(
            id=world.new_id(),
            requested_at=world.now,
            requested_by=self.actor.name,
            kind=self.kind,
            account=self.account,
            amount=self.amount,
            details=self.details,
            slip=self.slip,
            below_zero=self.below_zero,
        )
        refusal = in_statement(world, wallet, self.slip)
        refusal = refusal or _movement(self.actor, None, movement).refusal(wallet)
        if refusal is not None:
            return refusal
        world.movements.add(movement.id, movement)
        _note(world, self.actor, "request", movement)
        return movement


def _movement(actor: Actor, tenant: Tenant | None, movement: PendingMovement) -> MoveMoney:
    return MoveMoney(
        actor,
        tenant,
        movement.account,
        movement.kind,
        movement.amount,
        movement.details,
        slip=movement.slip,
        below_zero=movement.below_zero,
    )


@dataclass(frozen=True, slots=True)
class MakeMovement(Command[MovedMoney]):
    """The second operator makes a movement that waits, together with its end.

    `account` is the movement's wallet and `tenant` is for a sandbox's clock.
    """

    actor: Actor
    tenant: Tenant | None
    movement_id: UUID
    account: int
    slip: str | None

    def needs(self, needs: Needs) -> None:
        needs.lock(World.movements, self.movement_id)
        needs.lock(World.wallets, self.account)
        needs_slip(needs, self.slip)

    def decide(self, world: World) -> MovedMoney | Refusal:
        movement = _waiting(world, self.movement_id)
        if isinstance(movement, Refusal):
            return movement
        if (movement.account, movement.slip) != (self.account, self.slip):
            return refuse("not_found", "The movement is about another wallet.")
        if movement.requested_by.lower() == self.actor.name.lower():
            return refuse("conflict", "Another operator has to confirm a movement you asked for.")
        moved = _movement(self.actor, self.tenant, movement).decide(world)
        if isinstance(moved, Refusal):
            return moved
        done = replace(
            movement,
            status="done",
            decided_at=world.now,
            decided_by=self.actor.name,
            tid=moved.transaction.tid,
        )
        world.movements.change(movement.id, done)
        _note(world, self.actor, "make", done, movement)
        return moved


@dataclass(frozen=True, slots=True)
class RefuseMovement(Command[PendingMovement]):
    """Any operator refuses a movement that waits; the one who asked can withdraw it."""

    actor: Actor
    movement_id: UUID
    reason: str

    def needs(self, needs: Needs) -> None:
        needs.lock(World.movements, self.movement_id)

    def decide(self, world: World) -> PendingMovement | Refusal:
        movement = _waiting(world, self.movement_id)
        if isinstance(movement, Refusal):
            return movement
        refused = replace(
            movement,
            status="refused",
            decided_at=world.now,
            decided_by=self.actor.name,
            reason=self.reason,
        )
        world.movements.change(movement.id, refused)
        _note(world, self.actor, "refuse", refused, movement)
        return refused


def _waiting(world: World, movement_id: UUID) -> PendingMovement | Refusal:
    movement = world.movements.get(movement_id)
    if movement is None:
        return refuse("not_found", "There is no such movement.")
    if movement.status != "waiting":
        return refuse("conflict", f"The movement is {movement.status} already.")
    return movement


def _watched(movement: PendingMovement) -> dict[str, object]:
    return {
        "status": movement.status,
        "account": str(movement.account),
        "amount": movement.amount,
        "requested_by": movement.requested_by,
    }


def _note(
    world: World,
    actor: Actor,
    verb: str,
    movement: PendingMovement,
    before: PendingMovement | None = None,
) -> None:
    """Both people of a movement are in the journal."""
    note(
        *(world, actor, f"movement.{verb}", "movement", ids.show_id(ids.MOVEMENT, movement.id)),
        merchant_id=None,
        mode=None,
        before=None if before is None else _watched(before),
        after=_watched(movement),
        reason=movement.reason or movement.details,
    )
