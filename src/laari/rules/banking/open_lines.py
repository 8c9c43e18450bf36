"""Lines of the bank's statement that wait for a person: assigned, sent back, or a bank charge."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

from msgspec.structs import replace

from laari.rules import ledger
from laari.rules.actors import Actor, written
from laari.rules.banking.bank_lines import note_line, use_slip
from laari.rules.banking.second_person import (
    Asked,
    Booked,
    Controlled,
    Prepared,
    needs_reference,
)
from laari.rules.banking.wallet_money import is_too_large
from laari.rules.needs import Needs
from laari.rules.records.bank import BankLine
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.wallets import add_received_money
from laari.rules.world import World


def no_line(reference: str) -> Refusal:
    return refuse("not_found", f"No line has the reference {reference}.")


def does_not_wait(line: BankLine) -> Refusal:
    return refuse("conflict", f"The line does not wait for this: its use is {line.use}.")


@dataclass(frozen=True, slots=True)
class OpenLine(Controlled[BankLine]):
    """A person says what the money of a line is; the line has waited with the use `waits_as`."""

    kind: ClassVar[Literal["assign", "send_back", "charge"]]
    verb: ClassVar[str]  # of the journal
    waits_as: ClassVar[Literal["receipt", "none"]]

    permission = "bank.import"
    actor: Actor
    reference: str

    def rows(self, needs: Needs) -> None:
        needs.lock(World.bank_lines, self.reference)
        needs_reference(needs, self.reference)

    def prepare(self, world: World) -> Prepared[BankLine] | Refusal:
        line = world.bank_lines.get(self.reference)
        if line is None:
            return no_line(self.reference)
        if line.use != self.waits_as:
            return does_not_wait(line)
        refusal = self.refusal(world, line)
        if refusal is not None:
            return refusal
        return Prepared(self.asked(line), lambda: self._book(world, line))

    def refusal(self, world: World, line: BankLine) -> Refusal | None:
        """Why this is not possible now."""
        return None

    def asked(self, line: BankLine) -> Asked:
        details = f"Bank transfer {line.reference}"
        return Asked(self.kind, "live", line.amount, details, reference=line.reference)

    @abstractmethod
    def move(self, world: World, line: BankLine) -> BankLine:
        """Moves the money, and returns the line with its new use."""

    def _book(self, world: World, line: BankLine) -> Booked[BankLine]:
        moved = self.move(world, line)
        handled = replace(moved, handled_at=world.now, handled_by=written(self.actor))
        world.bank_lines.change(line.reference, handled)
        note_line(world, self.actor, f"bank_line.{self.verb}", line, handled)
        return Booked(handled, handled.tid)


@dataclass(frozen=True, slots=True)
class AssignLine(OpenLine):
    """Adds unallocated money to a wallet."""

    kind = "assign"
    verb = "assign"
    waits_as = "receipt"

    account: int

    def rows(self, needs: Needs) -> None:
        OpenLine.rows(self, needs)
        needs.lock(World.wallets, self.account)
        needs.read(World.topups, ("live", self.reference))

    def refusal(self, world: World, line: BankLine) -> Refusal | None:
        wallet = world.wallets.get(self.account)
        if wallet is None or wallet.mode != "live":
            return refuse("not_found", f"No live wallet has the number {self.account}.")
        if ("live", self.reference) in world.topups:
            return refuse("conflict", "The slip was already used for another top-up.")
        if is_too_large(wallet, line.amount):
            return invalid("amount", "The balance would be too large.")
        return None

    def asked(self, line: BankLine) -> Asked:
        return OpenLine.asked(self, line)._replace(account=self.account)

    def move(self, world: World, line: BankLine) -> BankLine:
        details = f"Bank transfer {line.reference}"
        added = add_received_money(world, world.wallets[self.account], line.amount, details)
        use_slip(world, line.reference, added)
        return replace(line, use="assigned", account=self.account, tid=added.tid)


class SendLineBack(OpenLine):
    """Records that unallocated money was sent back by the bank."""

    kind = "send_back"
    verb = "return"
    waits_as = "receipt"

    def move(self, world: World, line: BankLine) -> BankLine:
        outside, received = ledger.outside_account("live"), ledger.unallocated_account("live")
        tid = world.new_tid()
        ledger.transfer(
            world, "receipt", received, outside, line.amount, tid=tid, created_at=world.now
        )
        return replace(line, use="sent_back", tid=tid)


class ChargeLine(OpenLine):
    """Books money that went out as the bank's own charge, against the corrections."""

    kind = "charge"
    verb = "charge"
    waits_as = "none"

    def move(self, world: World, line: BankLine) -> BankLine:
        corrections, outside = ledger.corrections_account("live"), ledger.outside_account("live")
        tid = world.new_tid()
        ledger.transfer(
            world, "bank_charge", corrections, outside, -line.amount, tid=tid, created_at=world.now
        )
        return replace(line, use="charge", tid=tid, booked_at=world.now)
