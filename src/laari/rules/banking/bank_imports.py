"""The import of a whole statement: above the limit it waits, as a whole, for a second person."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import ClassVar, NamedTuple
from uuid import UUID

from laari.rules.actors import Actor
from laari.rules.banking.line_targets import Expected, match_made, match_of
from laari.rules.banking.second_person import (
    Asked,
    Booked,
    Controlled,
    Prepared,
    is_above,
    needs_day,
    needs_reference,
    wait,
)
from laari.rules.command import Command
from laari.rules.money import rufiyaa
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission, lacks
from laari.rules.records.second_person import PendingMovement
from laari.rules.refusals import Refusal
from laari.rules.world import World


class Sum(NamedTuple):
    many: int = 0
    amount: int = 0


class Totals(NamedTuple):
    """The new lines of a statement, by what would become of them."""

    lines: int
    new: int
    first_day: date | None
    last_day: date | None
    topups: Sum  # of money that a wallet does not have yet
    returned: Sum  # of orders whose money its owner does not have yet
    received: Sum  # unallocated
    out: Sum

    @property
    def credited(self) -> int:
        """The money that wallets and merchants would get."""
        return self.topups.amount + self.returned.amount

    @property
    def text(self) -> str:
        parts = [
            f"{many} {name} of MVR {rufiyaa(abs(amount))}"
            for name, (many, amount) in (
                ("top-ups", self.topups),
                ("returned orders", self.returned),
                ("unallocated receipts", self.received),
                ("payments out", self.out),
            )
            if many
        ]
        days = f"from {self.first_day} to {self.last_day}"
        return f"{self.new} new lines of {self.lines}, {days}: {', '.join(parts)}"


class Counting:
    """Counts the lines of a statement, a few at a time."""

    def __init__(self) -> None:
        self._lines = self._new = 0
        self._days: set[date] = set()
        self._sums: dict[str, list[int]] = {}

    def add(self, lines: Iterable[Expected]) -> None:
        for each in lines:
            self._lines += 1
            self._days.add(each.line.day)
            if each.repeated:
                continue
            self._new += 1
            amount = each.line.amount
            found = self._sums.setdefault("out" if amount < 0 else each.credits or each.use, [0, 0])
            found[0] += 1
            found[1] += amount

    def totals(self) -> Totals:
        topups, returned, received, out = (
            self._sum(name) for name in ("wallet", "owner", "receipt", "out")
        )
        first, last = min(self._days, default=None), max(self._days, default=None)
        return Totals(
            lines=self._lines,
            new=self._new,
            first_day=first,
            last_day=last,
            topups=topups,
            returned=returned,
            received=received,
            out=out,
        )

    def _sum(self, name: str) -> Sum:
        many, amount = self._sums.get(name, (0, 0))
        return Sum(many, amount)


def matched(each: Expected, movement_id: UUID | None) -> str:
    """What a line becomes, as text: the same before and after this import has booked it."""
    known = each.known
    if known is None:
        return repr(tuple(match_of(each)))
    if movement_id is not None and known.movement_id == movement_id:
        return repr(tuple(match_made(known)))
    return "known"


@dataclass(frozen=True, slots=True)
class BeginImport(Command[PendingMovement | None]):
    """Asks a second person if the statement credits more than this person may alone.

    Otherwise the result is None, and each line counts when it is booked. `matches` is the digest
    of what the lines become, which the second person confirms too.
    """

    permission: ClassVar[Permission] = "bank.import"
    actor: Actor
    digest: str
    totals: Totals
    matches: str

    def needs(self, needs: Needs) -> None:
        needs_day(needs, self.actor)
        needs_reference(needs, self.digest)

    def decide(self, world: World) -> PendingMovement | Refusal | None:
        refusal = lacks(self.actor, self.permission)
        if refusal is not None:
            return refusal
        credited = self.totals.credited
        if not is_above(world, self.actor, credited):
            return None
        asked = Asked(
            "import",
            "live",
            credited,
            self.totals.text,
            reference=self.digest,
            matches=self.matches,
        )
        return wait(world, self.actor, asked)


@dataclass(frozen=True, slots=True)
class ConfirmImport(Controlled[None]):
    """The second person allows the lines of a statement; they are booked one by one after it."""

    permission = "bank.import"
    actor: Actor
    movement: PendingMovement

    def rows(self, needs: Needs) -> None:
        pass

    def prepare(self, world: World) -> Prepared[None] | Refusal:
        movement = self.movement
        asked = Asked(
            "import", "live", movement.amount, movement.details, reference=movement.reference
        )
        return Prepared(asked, lambda: Booked(None))
