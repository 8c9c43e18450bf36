"""Lines of the bank's statement that a person matches with movements of the books, and back."""

from dataclasses import dataclass
from typing import ClassVar

from msgspec.structs import replace

from laari.rules.actors import Actor, written
from laari.rules.banking.bank_lines import note_line
from laari.rules.banking.open_lines import does_not_wait, no_line
from laari.rules.command import Command
from laari.rules.money import rufiyaa
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission, lacks
from laari.rules.records.bank import BankLine, BankMovementKind
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import MovementKey, World


@dataclass(frozen=True, slots=True)
class MatchLine(Command[BankLine]):
    """A person says which recorded movement an open line shows. Nothing is booked.

    The movement is a receipt that was sent back, a sweep of fees, or an order that left and came
    back although a person recorded only its return. Each is matched once.
    """

    permission: ClassVar[Permission] = "bank.import"
    actor: Actor
    reference: str
    movement: MovementKey

    def needs(self, needs: Needs) -> None:
        needs.lock(World.bank_lines, self.reference)
        needs.read(World.bank_movements, self.movement)

    def decide(self, world: World) -> BankLine | Refusal:
        refusal = lacks(self.actor, self.permission)
        if refusal is not None:
            return refusal
        line, found = (
            world.bank_lines.get(self.reference),
            world.bank_movements.get(self.movement),
        )
        if line is None:
            return no_line(self.reference)
        if line.use != "none":
            return does_not_wait(line)
        if found is None:
            kind, name = self.movement
            return refuse("not_found", f"The books have no {movement_words(kind, name)}.")
        if found.matched is not None:
            message = f"The movement is matched with the line {found.matched} already."
            return refuse("conflict", message)
        if found.amount != -line.amount:
            amounts = (
                f"MVR {rufiyaa(-line.amount)}, and the movement of MVR {rufiyaa(found.amount)}"
            )
            return refuse("conflict", f"The line is of {amounts}.")
        matched = replace(
            line,
            use="matched",
            tid=found.tid,
            booked_at=None if found.kind == "order" else found.time,
            order_reference=found.name if found.kind == "order" else None,
            handled_at=world.now,
            handled_by=written(self.actor),
        )
        world.bank_lines.change(line.reference, matched)
        world.bank_movements[self.movement] = found._replace(matched=line.reference)
        shown = " ".join(self.movement)
        note_line(world, self.actor, "bank_line.match", line, matched, movement=shown)
        return matched


@dataclass(frozen=True, slots=True)
class UnmatchLine(Command[BankLine]):
    """Undoes a match: the line is open again, and its movement waits for another line."""

    permission: ClassVar[Permission] = "bank.import"
    actor: Actor
    reference: str

    def needs(self, needs: Needs) -> None:
        needs.lock(World.bank_lines, self.reference)

    def decide(self, world: World) -> BankLine | Refusal:
        refusal = lacks(self.actor, self.permission)
        if refusal is not None:
            return refusal
        line = world.bank_lines.get(self.reference)
        if line is None:
            return no_line(self.reference)
        if line.use != "matched":
            return refuse("conflict", f"The line is not matched: its use is {line.use}.")
        opened = replace(
            line,
            use="none",
            tid=None,
            booked_at=None,
            order_reference=None,
            handled_at=None,
            handled_by=None,
        )
        world.bank_lines.change(line.reference, opened)
        note_line(world, self.actor, "bank_line.unmatch", line, opened)
        return opened


def movement_words(kind: BankMovementKind, name: str) -> str:
    match kind:
        case "sweep":
            return f"sweep {name}"
        case "sent_back":
            return f"receipt {name} that was sent back"
        case "order":
            return f"order {name} that only came back"
