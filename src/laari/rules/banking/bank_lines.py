"""Lines of the bank's statement: each one is booked once, by the bank's own reference.

Money with the number of a wallet, or the mobile number of its holder, becomes a top-up. A line with
the reference of an order answers it (`laari.rules.banking.line_targets`). Other money that came in
is unallocated until a person assigns it or sends it back. Other money that went out changes
nothing. A person books it as a charge of the bank, or matches it with money that the books have
sent before (`laari.rules.banking.manual_matches`).
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import ClassVar, Literal, NamedTuple
from uuid import UUID

from msgspec.structs import replace

from laari.rules import ledger
from laari.rules.actors import Actor, written
from laari.rules.banking import payouts
from laari.rules.banking.bank_days import has_ended
from laari.rules.banking.bank_statement import StatementLine
from laari.rules.banking.line_targets import (
    Match,
    Target,
    answer_of,
    expected,
    is_same,
    match_of,
    mobiles_in,
    orders_in,
    other_content,
    other_slip,
    target_of,
    wallets_in,
)
from laari.rules.banking.second_person import count_alone, needs_day
from laari.rules.banking.wallet_money import is_too_large
from laari.rules.command import Command
from laari.rules.journal import Act, note
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission, lacks
from laari.rules.people.persons import helps_of, needs_helps, not_second
from laari.rules.records.bank import BankLine, BankLineUse, FloatSignoff
from laari.rules.records.payouts import BankOrder
from laari.rules.records.wallets import TopupSlip, Transaction
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.wallets import move_outside_money
from laari.rules.world import World


class Imported(NamedTuple):
    """A line in the books; `repeated` if it was imported before."""

    line: BankLine
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class ImportLine(Command[Imported]):
    """Books one line of the statement of the live bank account.

    `movement_id` is the import that a second person confirmed. Its lines credit at most the sum
    that this person saw. Other lines count for the person who imports them. `seen` is what people
    saw that the line would become: it becomes this or nothing.
    """

    permission: ClassVar[Permission] = "bank.import"
    actor: Actor
    line: StatementLine
    movement_id: UUID | None = None
    seen: Match | None = None

    def needs(self, needs: Needs) -> None:
        needs_day(needs, self.actor)
        if self.movement_id is not None:
            needs.lock(World.movements, self.movement_id)
            needs.read(World.imported_sums, self.movement_id)
        needs.lock(World.bank_lines, self.line.reference)
        for order in orders_in(self.line):
            needs.order(order)
            needs.read(World.answers, order)
        for account in wallets_in(self.line):
            needs.lock(World.wallets, account)
        for mobile in mobiles_in(self.line):
            needs.read(World.recipients, ("mobile", mobile))
            needs.then(World.recipients, self._lock_holders)
        needs.read(World.topups, ("live", self.line.reference))

    def _lock_holders(self, needs: Needs, world: World) -> None:
        for account in self._mobiles(world).values():
            needs.lock(World.wallets, account)

    def _mobiles(self, world: World) -> dict[str, int]:
        """The accounts of the customers whose mobile numbers the line names."""
        found = {each: world.recipients.get(("mobile", each)) for each in mobiles_in(self.line)}
        return {mobile: each.account for mobile, each in found.items() if each is not None}

    def decide(self, world: World) -> Imported | Refusal:
        refusal = lacks(self.actor, self.permission)
        if refusal is not None:
            return refusal
        known = world.bank_lines.get(self.line.reference)
        if known is not None:
            return self._again(known)
        target = self._target(world)
        if self.seen not in (None, match_of(expected(self.line, target, None))):
            return _seen_otherwise()
        use = self._answer(world, target) or self._top_up(world, target)
        if isinstance(use, Refusal):
            return use
        if use is None:
            use = self._receive(world) if self.line.amount > 0 else self._booked(world, "none")
        world.bank_lines.add(use.reference, use)
        note_line(world, self.actor, "bank_line.import", None, use)
        return Imported(use)

    def _target(self, world: World) -> Target:
        wallets = (world.wallets.get(account) for account in wallets_in(self.line))
        return target_of(
            self.line,
            orders=world.orders.seen,
            live={each.account for each in wallets if each is not None and each.mode == "live"},
            mobiles=self._mobiles(world),
            topup=world.topups.get(("live", self.line.reference)),
            answers=world.answers,
        )

    def _again(self, known: BankLine) -> Imported | Refusal:
        if is_same(self.line, known):
            return Imported(known, repeated=True)
        return refuse("conflict", other_content(known))

    def _booked(
        self,
        world: World,
        use: BankLineUse,
        booked_at: datetime | None = None,
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
            imported_by=self._importer(world),
            movement_id=self.movement_id,
            use=use,
            account=account,
            order_reference=order,
            tid=tid,
            booked_at=booked_at,
        )

    def _answer(self, world: World, target: Target) -> BankLine | Refusal | None:
        """The bank's answer to an order; None if the line does not answer one."""
        order = target.order
        use = answer_of(self.line, order, target.answers)
        if use is None or order is None:
            return None
        tid = None
        # Otherwise a person has recorded the answer before.
        if order.status == "sent" or (use == "returned" and order.status == "settled"):
            action: Literal["settle", "return"] = "settle" if use == "settled" else "return"
            if action == "return" and not self._may_credit(world):
                message = (
                    f"The return of {order.reference} needs a second person. Record it, have it "
                    "confirmed, and import the statement again."
                )
                return refuse("conflict", message)
            payout = world.payouts[order.payout_id]
            tenant = payouts.tenant_of(world.tenants, payout)
            words = self.line.description
            outcome = payouts.answer(world, tenant, payout, order, action, reason=words)
            if isinstance(outcome, Refusal):
                return outcome
            tid = outcome.transfer.tid
        world.answers[order.reference] = target.answers | {use}
        booked_at = _moved_at(world.orders[order.reference], use)
        return self._booked(world, use, booked_at, tid=tid, order=order.reference)

    def _top_up(self, world: World, target: Target) -> BankLine | Refusal | None:
        """Money for a wallet; a slip that was entered by hand before is that top-up."""
        account, amount, slip = target.account, self.line.amount, self.line.reference
        if amount < 0:
            return None
        first = target.topup
        conflict = other_slip(self.line, account, first)
        if conflict is not None:
            return refuse("conflict", conflict)
        if first is None:
            wallet = None if account is None else world.wallets[account]
            if wallet is None:
                return None
            if is_too_large(wallet, amount) or not self._may_credit(world):
                # Without a second person it is unallocated, and its assignment needs one.
                return None if self.seen is None else _seen_otherwise()
            first = move_outside_money(
                world, None, wallet, "topup", amount, details=f"Bank transfer {slip}"
            )
            use_slip(world, slip, first)
        return self._booked(world, "topup", first.time, tid=first.tid, account=first.account)

    def _may_credit(self, world: World) -> bool:
        """Whether this line may credit a wallet or a merchant. If it may, its amount is counted."""
        if self.movement_id is None:
            return count_alone(world, self.actor, self.line.amount)
        movement = world.movements.get(self.movement_id)
        if movement is None or movement.kind != "import" or movement.status != "done":
            return False
        credited = world.imported_sums[self.movement_id] + self.line.amount
        if credited > movement.amount:
            return False
        world.imported_sums[self.movement_id] = credited
        return True

    def _importer(self, world: World) -> str:
        """The person who brought the statement, also if another one confirmed it."""
        movement = None if self.movement_id is None else world.movements.get(self.movement_id)
        return written(self.actor) if movement is None else movement.requested_by

    def _receive(self, world: World) -> BankLine:
        outside, received = ledger.outside_account("live"), ledger.unallocated_account("live")
        tid = world.new_tid()
        ledger.transfer(
            world, "receipt", outside, received, self.line.amount, tid=tid, created_at=world.now
        )
        return self._booked(world, "receipt", world.now, tid=tid)


def _seen_otherwise() -> Refusal:
    return refuse("conflict", "It would be booked in another way now. Import the statement again.")


def _moved_at(order: BankOrder, use: Literal["settled", "returned"]) -> datetime | None:
    """When the books moved money of the order at the bank. They did not if it never settled."""
    if use == "settled" or order.settled_at is None:
        return order.settled_at
    return order.returned_at


def note_line(
    world: World,
    actor: Actor,
    action: str,
    before: BankLine | None,
    after: BankLine,
    **more: str,
) -> None:
    note(
        world,
        Act(actor, action),
        "bank_line",
        after.reference,
        merchant_id=None,
        mode="live",
        before=None if before is None else {"use": before.use},
        after={"use": after.use, "amount": after.amount, "account": after.account, **more},
    )


def use_slip(world: World, slip: str, added: Transaction) -> None:
    world.topups["live", slip] = added
    world.slips.append(TopupSlip("live", slip, added.tid))


@dataclass(frozen=True, slots=True)
class SignFloat(Command[FloatSignoff]):
    """A person compared a day of the books with the bank's closing balance.

    A person who imported a line of the day cannot sign off its difference, if the rule of the
    second person is on. The same words of the same person again change nothing.
    """

    permission: ClassVar[Permission] = "bank.import"
    actor: Actor
    day: date
    closing: int
    bank_closing: int
    note: str | None

    def needs(self, needs: Needs) -> None:
        needs_helps(needs)
        needs.read(World.importers, self.day)
        needs.read(World.signoffs, self.day)

    def decide(self, world: World) -> FloatSignoff | Refusal:
        refusal = lacks(self.actor, self.permission)
        if refusal is not None:
            return refusal
        if not has_ended(self.day, world.now):
            return refuse("conflict", f"{self.day} has not ended yet.")
        if self.closing != self.bank_closing and self.note is None:
            return invalid("note", "A difference needs a note.")
        if self.closing != self.bank_closing and world.second_operator_above is not None:
            imported = "You imported lines of this day"
            own = f"{imported}: another person has to sign off its difference."
            for name in sorted(world.importers.get(self.day, frozenset())):
                reason = not_second(name, self.actor, helps_of(world), world.now, own)
                if reason is not None:
                    return refuse("conflict", reason)
        signed = FloatSignoff(
            id=world.new_id(),
            day=self.day,
            closing=self.closing,
            bank_closing=self.bank_closing,
            note=self.note,
            actor_kind=self.actor.kind,
            actor_name=self.actor.name,
            created_at=world.now,
        )
        last = world.signoffs.get(self.day)
        if last is not None and last == replace(signed, id=last.id, created_at=last.created_at):
            return last
        world.signoffs[self.day] = signed
        world.float_signoffs.append(signed)
        note(
            world,
            Act(self.actor, "float.sign", self.note),
            "float",
            str(self.day),
            merchant_id=None,
            mode="live",
            before=None,
            after={"closing": self.closing, "bank_closing": self.bank_closing},
        )
        return signed
