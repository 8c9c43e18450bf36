"""The rule of the second person: what one person moves alone on a day has a limit.

The limit is the setting `second_operator_above`. It holds for every command that credits a wallet
or a merchant, or lets money leave. Above the limit nothing moves: the movement waits until another
person makes or refuses it (`laari.rules.banking.waiting_movements`). Only live money counts.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import ClassVar, Generic, NamedTuple, TypeVar
from uuid import UUID

from msgspec.structs import replace

from laari.rules import ids
from laari.rules.actors import Actor, written
from laari.rules.calendar import local_day
from laari.rules.command import Command
from laari.rules.journal import Act, note
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission, lacks
from laari.rules.records.bank_accounts import BankDetails
from laari.rules.records.payments import RefundReason
from laari.rules.records.second_person import PendingMovement, PendingMovementKind, PersonDay
from laari.rules.records.tenants import Mode
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World

T = TypeVar("T")

MOVED_SINCE = "You moved money since this page was shown. Look at the movements, and decide again."


def person(actor: Actor) -> str:
    """The name under which a person's movements are counted, in any letters and interface.

    It ends at the `@`: the system user ann and the operator ann@example.com share a limit.
    """
    return actor.name.casefold().partition("@")[0]


def on_day(counted: PersonDay, today: date) -> PersonDay:
    """The person's sum of today. A clock that is behind does not begin a day again."""
    return counted if counted.day >= today else replace(counted, day=today, alone=0)


def waits(amount: int, alone: int, above: int | None) -> bool:
    """Whether an amount, in either direction, needs a second person after the sum of the day."""
    return above is not None and alone + abs(amount) > above


class Asked(NamedTuple):
    """A movement, as it is written down if it waits.

    `reference` is the slip, the bank's line, the order or the payment that the money is about: one
    movement waits for it at a time. `always`: it waits whatever the amount, if the rule is on.
    """

    kind: PendingMovementKind
    mode: Mode
    amount: int
    details: str
    account: int | None = None
    tenant_id: int | None = None
    payout_id: UUID | None = None
    reference: str | None = None
    below_zero: bool = False
    refund_reason: RefundReason | None = None
    refund_note: str | None = None
    matches: str | None = None
    bank_account: BankDetails | None = None
    always: bool = False


class Booked(NamedTuple, Generic[T]):
    """The result of a movement, and the reference of the money that moved, if any."""

    result: T
    tid: str | None = None


@dataclass(frozen=True, slots=True)
class Prepared(Generic[T]):
    """A movement that is possible now: `book` makes it. Without `asked` it needs nobody else."""

    asked: Asked | None
    book: Callable[[], Booked[T] | Refusal]


class Controlled(Command[T | PendingMovement]):
    """A command for which the rule holds: its result is either done or waits.

    A form that nothing else lets act only once names the person's movements that its page showed.
    A second person who makes or refuses it needs the same permission.
    """

    __slots__ = ()
    permission: ClassVar[Permission]
    actor: Actor
    if_moved: int | None = None

    def forbidden(self, world: World) -> Refusal | None:
        """The refusal if the actor may not do this."""
        return lacks(self.actor, self.permission)

    @abstractmethod
    def rows(self, needs: Needs) -> None:
        """Names the rows to load, as `needs` of other commands."""

    @abstractmethod
    def prepare(self, world: World) -> Prepared[T] | T | Refusal:
        """Checks the movement and changes nothing; a result if it was made before."""

    def needs(self, needs: Needs) -> None:
        self.rows(needs)
        needs_day(needs, self.actor)

    def decide(self, world: World) -> T | PendingMovement | Refusal:
        prepared = self.forbidden(world) or self.prepare(world)
        if not isinstance(prepared, Prepared):
            return prepared
        known = _today(world, self.actor)
        if self.if_moved not in (None, known.movements):
            return refuse("conflict", MOVED_SINCE)
        counted = replace(known, movements=known.movements + 1)
        asked, above = prepared.asked, world.second_operator_above
        if asked is not None and asked.mode == "live" and above is not None:
            if asked.always or waits(asked.amount, known.alone, above):
                waiting = wait(world, self.actor, asked)
                if not isinstance(waiting, Refusal):
                    _count(world, self.actor, counted)
                return waiting
            counted = replace(counted, alone=counted.alone + abs(asked.amount))
        booked = prepared.book()
        if isinstance(booked, Refusal):
            return booked
        _count(world, self.actor, counted)
        return booked.result


def _today(world: World, actor: Actor) -> PersonDay:
    who, today = person(actor), local_day(world.now)
    return on_day(world.person_days.get(who) or PersonDay(who, today, 0), today)


def _with_amount(world: World, actor: Actor, amount: int) -> PersonDay | None:
    """The person's sum of the day with this amount; None if that needs a second person."""
    known = _today(world, actor)
    if waits(amount, known.alone, world.second_operator_above):
        return None
    return replace(known, alone=known.alone + abs(amount))


def count_alone(world: World, actor: Actor, amount: int) -> bool:
    """Counts live money that a person moves by a line of the statement, if that is allowed.

    The command has locked the person's day (`needs_day`).
    """
    if world.second_operator_above is None:
        return True
    counted = _with_amount(world, actor, amount)
    if counted is not None:
        _count(world, actor, counted)
    return counted is not None


def is_above(world: World, actor: Actor, amount: int) -> bool:
    """Whether this amount of live money would need a second person. Counts nothing."""
    return amount > 0 and _with_amount(world, actor, amount) is None


def needs_day(needs: Needs, actor: Actor) -> None:
    needs.lock(World.person_days, person(actor))


def _count(world: World, actor: Actor, counted: PersonDay) -> None:
    """Only of the operator's people: owners and customers enter bank accounts too."""
    if not actor.is_operator:
        return
    known = world.person_days.get(counted.person)
    save = world.person_days.add if known is None else world.person_days.change
    save(counted.person, counted)


def needs_reference(needs: Needs, reference: str | None) -> None:
    """For a command whose movement is about a slip, a line or an order."""
    if reference is not None:
        needs.read(World.waiting_references, reference)


def wait(world: World, actor: Actor, asked: Asked) -> PendingMovement | Refusal:
    """Writes the movement down for a second person."""
    reference, account = asked.reference, asked.bank_account
    if reference is not None and reference in world.waiting_references:
        other = ids.show_id(ids.MOVEMENT, world.waiting_references[reference])
        message = f"The movement {other} about {reference} waits for a second person already."
        return refuse("conflict", message)
    movement = PendingMovement(
        id=world.new_id(),
        requested_at=world.now,
        requested_by=written(actor),
        kind=asked.kind,
        amount=asked.amount,
        details=asked.details,
        account=asked.account,
        tenant_id=asked.tenant_id,
        payout_id=asked.payout_id,
        reference=reference,
        below_zero=asked.below_zero,
        refund_reason=asked.refund_reason,
        refund_note=asked.refund_note,
        matches=asked.matches,
        holder=None if account is None else account.holder,
        bank=None if account is None else account.bank,
        account_number=None if account is None else account.account_number,
    )
    world.movements.add(movement.id, movement)
    if reference is not None:
        world.waiting_references[reference] = movement.id
    note_movement(world, actor, "request", movement)
    return movement


def _watched(movement: PendingMovement) -> dict[str, object]:
    """All values of the movement, so that its last entry is its present state."""
    return {
        "status": movement.status,
        "kind": movement.kind,
        "amount": movement.amount,
        "details": movement.details,
        "account": movement.account,
        "tenant_id": movement.tenant_id,
        "payout_id": movement.payout_id,
        "reference": movement.reference,
        "below_zero": movement.below_zero,
        "refund_reason": movement.refund_reason,
        "refund_note": movement.refund_note,
        "matches": movement.matches,
        "holder": movement.holder,
        "bank": movement.bank,
        "account_number": movement.account_number,
        "requested_by": movement.requested_by,
        "decided_by": movement.decided_by,
        "reason": movement.reason,
        "tid": movement.tid,
    }


def note_movement(
    world: World,
    actor: Actor,
    verb: str,
    movement: PendingMovement,
    before: PendingMovement | None = None,
) -> None:
    """Both people of a movement are in the journal."""
    note(
        world,
        Act(actor, f"movement.{verb}", movement.reason or movement.details),
        "movement",
        ids.show_id(ids.MOVEMENT, movement.id),
        merchant_id=None,
        mode=None,
        before=None if before is None else _watched(before),
        after=_watched(movement),
    )
