"""Lines of the bank's statement: each one is booked once, by the bank's own reference.

Money with the number of a wallet becomes a top-up. A line with the reference of an order answers
it. Other money that came in is unallocated until a person assigns it or sends it back. Other money
that went out changes nothing. A person books it as a charge of the bank, or matches it with money
that the books have sent before.
"""

import re
from dataclasses import dataclass
from datetime import date
from typing import Literal, NamedTuple

from msgspec.structs import replace

from laari.rules import ledger
from laari.rules.actors import Actor
from laari.rules.banking import payouts
from laari.rules.banking.bank_statement import StatementLine
from laari.rules.banking.payout_runs import written
from laari.rules.command import Command
from laari.rules.journal import note
from laari.rules.money import rufiyaa
from laari.rules.operator import is_too_large
from laari.rules.records import (
    BankLine,
    BankLineUse,
    BankMovementKind,
    BankOrder,
    FloatSignoff,
    Tenant,
    TopupSlip,
    Transaction,
)
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.wallets import add_received_money, move_outside_money
from laari.rules.world import MovementKey, Needs, World

_ACCOUNT = re.compile(r"(?<![0-9])77[0-9]{11}(?![0-9])", re.ASCII)


def accounts_in(text: str) -> list[int]:
    """The numbers of wallets that a line of the statement names."""
    return list(dict.fromkeys(int(found[0]) for found in _ACCOUNT.finditer(text)))


class Target(NamedTuple):
    """What a line names: the wallet it is for, or the order that it answers, with its merchant.

    The order of a withdrawal has no merchant. `topup` has used the line's reference as its slip.
    """

    account: int | None = None
    order: BankOrder | None = None
    tenant: Tenant | None = None
    topup: Transaction | None = None


def is_same(line: StatementLine, known: BankLine) -> bool:
    """Whether this line was imported before, with the same content."""
    return (line.day, line.description, line.amount) == (
        *(known.day, known.description, known.amount),
    )


class Expected(NamedTuple):
    """What the import would make of a line; `conflict` says why it would refuse the line."""

    line: StatementLine
    target: Target
    use: BankLineUse
    repeated: bool = False
    conflict: str | None = None


def expected(line: StatementLine, target: Target, known: BankLine | None) -> Expected:
    if known is not None:
        conflict = None if is_same(line, known) else _other_content(known)
        return Expected(line, target, known.use, repeated=True, conflict=conflict)
    if target.order is not None and target.order.amount == abs(line.amount):
        return Expected(line, target, "returned" if line.amount > 0 else "settled")
    if line.amount < 0:
        return Expected(line, target, "none")
    conflict = _other_slip(line, target.account, target.topup)
    use: BankLineUse = "receipt" if target.account is None and target.topup is None else "topup"
    return Expected(line, target, use, conflict=conflict)


def _other_content(known: BankLine) -> str:
    was = f"{known.day}, MVR {rufiyaa(known.amount)}, {known.description}"
    return f"The reference was imported before with other content: {was}."


def _other_slip(line: StatementLine, account: int | None, first: Transaction | None) -> str | None:
    """Why this line is not the top-up that used its reference as a slip, if so."""
    if first is None or (first.account, first.amount) == (account or first.account, line.amount):
        return None
    used = f"MVR {rufiyaa(first.amount)} to account {first.account} ({first.tid})"
    return f"The slip was already used to top up {used}."


class Imported(NamedTuple):
    """A line in the books; `repeated` if it was imported before."""

    line: BankLine
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class ImportLine(Command[Imported]):
    """Books one line of the statement of the live bank account."""

    actor: Actor
    line: StatementLine
    target: Target

    def needs(self, needs: Needs) -> None:
        needs.lock(World.bank_lines, self.line.reference)
        if self.target.order is not None:
            needs.payout(self.target.order.payout_id)
            needs.read(World.answers, self.target.order.reference)
        if self.target.account is not None:
            needs.lock(World.wallets, self.target.account)
        needs.read(World.topups, ("live", self.line.reference))

    def decide(self, world: World) -> Imported | Refusal:
        known = world.bank_lines.get(self.line.reference)
        if known is not None:
            return self._again(known)
        use = self._answer(world) or self._top_up(world)
        if isinstance(use, Refusal):
            return use
        if use is None:
            use = self._receive(world) if self.line.amount > 0 else self._booked(world, "none")
        world.bank_lines.add(use.reference, use)
        _note_line(world, self.actor, "bank_line.import", None, use)
        return Imported(use)

    def _again(self, known: BankLine) -> Imported | Refusal:
        if is_same(self.line, known):
            return Imported(known, repeated=True)
        return refuse("conflict", _other_content(known))

    def _booked(
        self,
        world: World,
        use: BankLineUse,
        *,
        tid: str | None = None,
        account: int | None = None,
        order: str | None = None,
    ) -> BankLine:
        line = self.line
        return BankLine(
            reference=line.reference,
            day=line.day,
            description=line.description,
            amount=line.amount,
            balance=line.balance,
            imported_at=world.now,
            imported_by=written(self.actor),
            use=use,
            account=account,
            order_reference=order,
            tid=tid,
        )

    def _answer(self, world: World) -> BankLine | Refusal | None:
        """The bank's answer to an order; None if the line is none."""
        named, tenant = self.target.order, self.target.tenant
        order = None if named is None else world.orders.get(named.reference)
        if order is None or abs(self.line.amount) != order.amount:
            return None
        use: Literal["settled", "returned"] = "settled" if self.line.amount < 0 else "returned"
        if use in world.answers.get(order.reference, frozenset()):
            return None
        tid = None
        # Otherwise a person has recorded the answer before.
        if order.status == "sent" or (use == "returned" and order.status == "settled"):
            action: Literal["settle", "return"] = "settle" if use == "settled" else "return"
            payout = world.payouts[order.payout_id]
            outcome = payouts.answer(world, tenant, payout, order, action)
            if isinstance(outcome, Refusal):
                return outcome
            tid = world.transfers[-1].tid
        answered = world.answers.get(order.reference, frozenset()) | {use}
        world.answers[order.reference] = answered
        return self._booked(world, use, tid=tid, order=order.reference)

    def _top_up(self, world: World) -> BankLine | Refusal | None:
        """Money for a wallet; a slip that was entered by hand before is that top-up."""
        account, amount, slip = self.target.account, self.line.amount, self.line.reference
        if amount < 0:
            return None
        first = world.topups.get(("live", slip))
        conflict = _other_slip(self.line, account, first)
        if conflict is not None:
            return refuse("conflict", conflict)
        if first is None:
            wallet = None if account is None else world.wallets.get(account)
            if wallet is None or wallet.mode != "live" or is_too_large(wallet, amount):
                return None
            first = move_outside_money(
                world, None, wallet, "topup", amount, f"Bank transfer {slip}"
            )
            _use_slip(world, slip, first)
        return self._booked(world, "topup", tid=first.tid, account=first.account)

    def _receive(self, world: World) -> BankLine:
        outside, received = ledger.outside_account("live"), ledger.unallocated_account("live")
        tid = world.new_tid()
        ledger.transfer(world, "receipt", outside, received, self.line.amount, tid, world.now)
        return self._booked(world, "receipt", tid=tid)


def _note_line(
    world: World,
    actor: Actor,
    action: str,
    before: BankLine | None,
    after: BankLine,
    **more: str,
) -> None:
    note(
        *(world, actor, action, "bank_line", after.reference),
        merchant_id=None,
        mode="live",
        before=None if before is None else {"use": before.use},
        after={"use": after.use, "amount": after.amount, "account": after.account, **more},
    )


def _use_slip(world: World, slip: str, added: Transaction) -> None:
    world.topups["live", slip] = added
    world.slips.append(TopupSlip("live", slip, added.tid))


@dataclass(frozen=True, slots=True)
class HandleLine(Command[BankLine]):
    """Assigns unallocated money to a wallet, or records that it was sent back without one.

    A line without a use can be booked as the bank's own charge, against the corrections.
    """

    actor: Actor
    reference: str
    account: int | None = None
    charge: bool = False

    def needs(self, needs: Needs) -> None:
        needs.lock(World.bank_lines, self.reference)
        if self.account is not None:
            needs.lock(World.wallets, self.account)
            needs.read(World.topups, ("live", self.reference))

    def decide(self, world: World) -> BankLine | Refusal:
        line = world.bank_lines.get(self.reference)
        if line is None:
            return _no_line(self.reference)
        if line.use != ("none" if self.charge else "receipt"):
            return _does_not_wait(line)
        if self.charge:
            tid, use = self._charge(world, line), "charge"
        elif self.account is None:
            tid, use = self._send_back(world, line), "sent_back"
        else:
            wallet = world.wallets.get(self.account)
            if wallet is None or wallet.mode != "live":
                return refuse("not_found", f"No live wallet has the number {self.account}.")
            if ("live", self.reference) in world.topups:
                return refuse("conflict", "The slip was already used for another top-up.")
            if is_too_large(wallet, line.amount):
                return invalid("amount", "The balance would be too large.")
            details = f"Bank transfer {line.reference}"
            added = add_received_money(world, wallet, line.amount, details)
            _use_slip(world, line.reference, added)
            tid, use = added.tid, "assigned"
        handled = replace(
            line,
            use=use,
            account=self.account,
            tid=tid,
            handled_at=world.now,
            handled_by=written(self.actor),
        )
        world.bank_lines.change(line.reference, handled)
        verb = {"charge": "charge", "sent_back": "return", "assigned": "assign"}[use]
        _note_line(world, self.actor, f"bank_line.{verb}", line, handled)
        return handled

    def _send_back(self, world: World, line: BankLine) -> str:
        outside, received = ledger.outside_account("live"), ledger.unallocated_account("live")
        tid = world.new_tid()
        ledger.transfer(world, "receipt", received, outside, line.amount, tid, world.now)
        return tid

    def _charge(self, world: World, line: BankLine) -> str:
        corrections, outside = ledger.corrections_account("live"), ledger.outside_account("live")
        tid = world.new_tid()
        ledger.transfer(world, "bank_charge", corrections, outside, -line.amount, tid, world.now)
        return tid


@dataclass(frozen=True, slots=True)
class MatchLine(Command[BankLine]):
    """A person says which recorded movement an open line shows. Nothing is booked.

    The movement is a receipt that was sent back or a sweep of fees, and is matched once.
    """

    actor: Actor
    reference: str
    movement: MovementKey

    def needs(self, needs: Needs) -> None:
        needs.lock(World.bank_lines, self.reference)
        needs.read(World.bank_movements, self.movement)

    def decide(self, world: World) -> BankLine | Refusal:
        line, found = (
            world.bank_lines.get(self.reference),
            world.bank_movements.get(self.movement),
        )
        if line is None:
            return _no_line(self.reference)
        if line.use != "none":
            return _does_not_wait(line)
        if found is None:
            return refuse("not_found", f"The books have no {movement_words(*self.movement)}.")
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
            handled_at=world.now,
            handled_by=written(self.actor),
        )
        world.bank_lines.change(line.reference, matched)
        world.bank_movements[self.movement] = found._replace(matched=line.reference)
        shown = " ".join(self.movement)
        _note_line(world, self.actor, "bank_line.match", line, matched, movement=shown)
        return matched


def movement_words(kind: BankMovementKind, name: str) -> str:
    return f"sweep {name}" if kind == "sweep" else f"receipt {name} that was sent back"


def _no_line(reference: str) -> Refusal:
    return refuse("not_found", f"No line has the reference {reference}.")


def _does_not_wait(line: BankLine) -> Refusal:
    return refuse("conflict", f"The line does not wait for this: its use is {line.use}.")


@dataclass(frozen=True, slots=True)
class SignFloat(Command[FloatSignoff]):
    """A person compared a day of the books with the bank's closing balance."""

    actor: Actor
    day: date
    closing: int
    bank_closing: int
    note: str | None

    def needs(self, needs: Needs) -> None:
        pass

    def decide(self, world: World) -> FloatSignoff | Refusal:
        if self.closing != self.bank_closing and self.note is None:
            return invalid("note", "A difference needs a note.")
        who = (self.actor.kind, self.actor.name)
        signed = FloatSignoff(
            *(world.new_id(), self.day, self.closing, self.bank_closing, self.note, *who),
            created_at=world.now,
        )
        world.float_signoffs.append(signed)
        note(
            *(world, self.actor, "float.sign", "float", str(self.day)),
            merchant_id=None,
            mode="live",
            before=None,
            after={"closing": self.closing, "bank_closing": self.bank_closing},
            reason=self.note,
        )
        return signed
