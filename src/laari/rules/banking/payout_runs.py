"""The operator's runs: payouts are gathered, approved, and sent to the bank in one file.

The command line and the operator's desk use these commands, never a page of a merchant.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal, NamedTuple
from uuid import UUID

from msgspec.structs import replace

from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.banking import payouts
from laari.rules.banking.bank_days import cut_off_of
from laari.rules.banking.bank_file import (
    MAX_NUMBER,
    MAX_ORDERS,
    Order,
    bank_file,
    reference_of,
    split,
)
from laari.rules.command import Command
from laari.rules.journal import note
from laari.rules.money import rufiyaa
from laari.rules.records import (
    BankOrder,
    Mode,
    Payout,
    PayoutRun,
    RunNumbers,
    StoredBankFile,
    Tenant,
)
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import Needs, World


def written(actor: Actor) -> str:
    """The name under which a person opens, approves and sends a run."""
    return f"{actor.kind} {actor.name}"


@dataclass(frozen=True, slots=True)
class OpenRun(Command[PayoutRun]):
    """Opens a run under the next number; only one is open at a time."""

    actor: Actor
    mode: Mode
    day: date

    def needs(self, needs: Needs) -> None:
        needs.read(World.run_numbers, self.mode)

    def decide(self, world: World) -> PayoutRun | Refusal:
        last, opened = world.run_numbers.get(self.mode, RunNumbers(0, None))
        if opened is not None:
            message = f"Run {opened} is open: approve it or cancel it first."
            return refuse("payout_conflict", message)
        if last >= MAX_NUMBER:
            return refuse("payout_conflict", f"There are {MAX_NUMBER} runs, which is the most.")
        id, by, number = world.new_id(), written(self.actor), last + 1
        run = PayoutRun(id, self.mode, number, self.day, world.now, by)
        world.runs.add(run.id, run)
        world.run_numbers[self.mode] = RunNumbers(number, number)
        _note_run(world, self.actor, "payout_run.open", None, run, 0)
        return run


def _note_run(
    world: World,
    actor: Actor,
    action: str,
    before: PayoutRun | None,
    after: PayoutRun,
    total: int,
) -> None:
    note(
        world,
        actor,
        action,
        "payout_run",
        str(after.number),
        merchant_id=None,
        mode=after.mode,
        before=None if before is None else {"status": before.status},
        after={"status": after.status, "total": total},
    )


class Run(NamedTuple):
    """A run and its payouts, those that were cancelled left out."""

    run: PayoutRun
    payouts: list[Payout]

    @property
    def total(self) -> int:
        return sum(payout.amount for payout in self.payouts)


@dataclass(frozen=True, slots=True)
class OneRun(Command[Run]):
    """The operator changes one run, locked with its payouts.

    `tenants` are the merchants of its payouts, by their number. Withdrawals have none.
    """

    actor: Actor
    id: UUID
    tenants: Mapping[int, Tenant]

    def needs(self, needs: Needs) -> None:
        needs.run(self.id)

    def busy(self) -> Refusal:
        return refuse("payout_conflict", "Another command is changing this run.")

    def decide(self, world: World) -> Run | Refusal:
        run = world.runs.get(self.id)
        if run is None:
            return refuse("not_found", "No such run.")
        joined = [each for each in world.payouts.seen.values() if each.run_id == self.id]
        left = sorted((p for p in joined if p.status != "cancelled"), key=lambda p: p.id)
        if any(payout.tenant_id not in {None, *self.tenants} for payout in left):
            return refuse("payout_conflict", "A payout joined the run meanwhile. Try again.")
        return self.act(world, Run(run, left))

    @abstractmethod
    def act(self, world: World, found: Run) -> Run | Refusal: ...

    def done(
        self, world: World, action: str, found: Run, run: PayoutRun, moved: list[Payout]
    ) -> Run:
        world.runs.change(run.id, run)
        _note_run(world, self.actor, action, found.run, run, found.total)
        return Run(run, moved)


@dataclass(frozen=True, slots=True)
class ApproveRun(OneRun):
    """Allows the file to be made. Above the threshold, a second person has to approve.

    `if_total` is the total that a person saw: payouts may have joined the run since.
    """

    threshold: int
    if_total: int | None = None

    def act(self, world: World, found: Run) -> Run | Refusal:
        run, by = found.run, written(self.actor)
        if run.status == "approved":
            return found
        if run.status != "requested":
            return refuse("payout_conflict", f"The run is {run.status}.")
        if not found.payouts:
            return refuse("payout_conflict", "The run has no payouts.")
        if self.if_total not in (None, found.total):
            message = (
                f"The total is MVR {rufiyaa(found.total)} now. Look at the run, and decide again."
            )
            return refuse("payout_conflict", message)
        if found.total > self.threshold and by == run.created_by:
            above = f"MVR {rufiyaa(found.total)} is above MVR {rufiyaa(self.threshold)}"
            return refuse("payout_conflict", f"{above}: another person has to approve this run.")
        moved = [
            payouts.move(world, payouts.tenant_of(self.tenants, payout), payout, "approve")
            for payout in found.payouts
        ]
        approved = replace(run, status="approved", approved_at=world.now, approved_by=by)
        return self.done(world, "payout_run.approve", found, approved, moved)


@dataclass(frozen=True, slots=True)
class SendRun(OneRun):
    """Makes the bank's file, once: its payouts are sent. A second time, nothing changes.

    `value_date` is the day on which the bank pays, and `most` its limit for an order.
    """

    value_date: date
    most: int

    def needs(self, needs: Needs) -> None:
        OneRun.needs(self, needs)
        needs.sends_payouts = needs.returns_payouts = True

    def act(self, world: World, found: Run) -> Run | Refusal:
        run = found.run
        if run.status == "sent":
            return found
        if run.status != "approved":
            return refuse("payout_conflict", f"The run is {run.status}, not approved.")
        if not found.payouts:
            return refuse("payout_conflict", "The run has no payouts.")
        orders: list[Order] = []
        moved: list[Payout] = []
        if sum(-(-payout.amount // self.most) for payout in found.payouts) > MAX_ORDERS:
            return refuse("payout_conflict", f"The file would have more than {MAX_ORDERS} orders.")
        for payout in found.payouts:
            reason = _stopped(world, payout)
            if reason is not None:
                which = ids.show_id(ids.PAYOUT, payout.id)
                return refuse(
                    "payout_conflict", f"{reason} Cancel {which} before you send the run."
                )
            account = payouts.in_effect(world.bank_accounts[payout.owner], world.now)
            if account is None:
                return refuse("payout_conflict", "An owner of a payout has no bank account.")
            made = [
                Order(
                    reference_of(run.number, len(orders) + place),
                    *(account.holder, account.bank, account.account_number, amount),
                )
                for place, amount in enumerate(split(payout.amount, self.most), 1)
            ]
            orders += made
            kept = [
                BankOrder(order.reference, payout.id, place, order.amount)
                for place, order in enumerate(made, 1)
            ]
            tenant = payouts.tenant_of(self.tenants, payout)
            moved.append(payouts.send(world, tenant, payout, kept, account.id))
        file = bank_file(run.number, self.value_date, orders)
        world.bank_files.append(
            StoredBankFile(
                *(run.id, self.value_date, file.order_count, file.total, file.digest, file.content)
            )
        )
        sent = replace(run, status="sent", sent_at=world.now, sent_by=written(self.actor))
        return self.done(world, "payout_run.send", found, sent, moved)


def _stopped(world: World, payout: Payout) -> str | None:
    if payout.account is not None:
        is_frozen = world.wallets[payout.account].frozen_at is not None
        return payouts.stopped(is_frozen, None)
    return payouts.stopped(False, world.payout_terms.get(payout.owner))


class CancelRun(OneRun):
    """Returns the money of all its payouts to their owners; not after it was sent."""

    def needs(self, needs: Needs) -> None:
        OneRun.needs(self, needs)
        needs.returns_payouts = True

    def act(self, world: World, found: Run) -> Run | Refusal:
        run = found.run
        if run.status == "cancelled":
            return found
        if run.status == "sent":
            return refuse("payout_conflict", "The run is sent.")
        moved = [
            payouts.cancel(world, payouts.tenant_of(self.tenants, payout), payout)
            for payout in found.payouts
        ]
        cancelled = replace(run, status="cancelled", approved_at=None, approved_by=None)
        return self.done(world, "payout_run.cancel", found, cancelled, moved)


@dataclass(frozen=True, slots=True)
class OnePayout(Command[Payout]):
    """One payout is changed, locked with its orders. A withdrawal has no tenant."""

    tenant: Tenant | None
    actor: Actor
    id: UUID

    def needs(self, needs: Needs) -> None:
        needs.payout(self.id)

    def busy(self) -> Refusal:
        return refuse("payout_conflict")

    def decide(self, world: World) -> Payout | Refusal:
        payout = world.payouts.get(self.id)
        if payout is None or payout.tenant_id != (self.tenant and self.tenant.id):
            return refuse("not_found", "No such payout.")
        return self.act(world, payout)

    @abstractmethod
    def act(self, world: World, payout: Payout) -> Payout | Refusal: ...


class CancelPayout(OnePayout):
    """Returns the money to the owner; not after it was sent."""

    def act(self, world: World, payout: Payout) -> Payout | Refusal:
        if payout.status == "cancelled":
            return payout
        refusal = payouts.not_allowed(payout, "cancel")
        if refusal is not None:
            return refusal
        cancelled = payouts.cancel(world, self.tenant, payout)
        payouts.note_payout(world, self.actor, self.tenant, "cancel", payout, cancelled)
        return cancelled


@dataclass(frozen=True, slots=True)
class JoinRun(OnePayout):
    """Takes a payout on request, or a withdrawal, into a run."""

    run_id: UUID

    def needs(self, needs: Needs) -> None:
        OnePayout.needs(self, needs)
        needs.run(self.run_id)
        if self.tenant is not None:
            needs.read(World.payout_terms, self.tenant.id)

    def act(self, world: World, payout: Payout) -> Payout | Refusal:
        if payout.run_id == self.run_id:
            return payout
        if payout.status != "requested" or payout.run_id is not None:
            return refuse("payout_conflict", "The payout does not wait for a run.")
        reason = _stopped(world, payout)
        if reason is not None:
            return refuse("payout_conflict", reason)
        refusal = payouts.not_joinable(world, self.tenant, self.run_id)
        if refusal is not None:
            return refusal
        joined = replace(payout, run_id=self.run_id)
        world.payouts.change(payout.id, joined)
        return joined


def joining(
    actor: Actor,
    run: PayoutRun,
    waiting: Iterable[Payout],
    payable: Iterable[Tenant],
    tenants: Mapping[int, Tenant],
) -> list[JoinRun | payouts.RequestPayout]:
    """The commands that fill a run: payouts on request first, then those up to its cut-off."""
    asked = [JoinRun(payouts.tenant_of(tenants, each), actor, each.id, run.id) for each in waiting]
    due = [payouts.RequestPayout(each, actor, cut_off_of(run.day), run.id) for each in payable]
    return [*asked, *due]


@dataclass(frozen=True, slots=True)
class AnswerPayout(OnePayout):
    """Records the bank's answer to one order, or to all orders of the payout that wait for one."""

    action: Literal["settle", "return"]
    reference: str | None = None

    def act(self, world: World, payout: Payout) -> Payout | Refusal:
        orders = payouts.orders_of(world, payout)
        if self.reference is not None:
            orders = [order for order in orders if order.reference == self.reference]
            if not orders:
                return refuse("not_found", "The payout has no such order.")
        elif self.action == "settle" or payout.status == "sent":
            orders = [order for order in orders if order.status == "sent"]
        else:
            orders = [order for order in orders if order.status == "settled"]
        if not orders:
            return refuse("payout_conflict", f"The payout is {payout.status}.")
        answered = payout
        for order in orders:
            outcome = payouts.answer(world, self.tenant, answered, order, self.action)
            if isinstance(outcome, Refusal):
                return outcome
            answered = outcome
        payouts.note_payout(world, self.actor, self.tenant, self.action, payout, answered)
        return answered
