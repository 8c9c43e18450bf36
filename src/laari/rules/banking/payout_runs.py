"""The operator's runs: payouts are gathered, approved, and sent to the bank in one file.

The command line and the operator's desk use these commands, never a page of a merchant.
"""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import ClassVar, Literal, NamedTuple
from uuid import UUID

from msgspec.structs import replace

from laari.rules import ids
from laari.rules.actors import Actor, written
from laari.rules.banking import payouts
from laari.rules.banking.bank_accounts import in_effect
from laari.rules.banking.bank_days import cut_off_of, has_ended
from laari.rules.banking.bank_file import (
    MAX_NUMBER,
    MAX_ORDERS,
    Order,
    bank_file,
    reference_of,
    split,
)
from laari.rules.banking.second_person import (
    Asked,
    Booked,
    Controlled,
    Prepared,
    needs_reference,
)
from laari.rules.command import Command
from laari.rules.journal import Act, note
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission, lacks
from laari.rules.records.bank_accounts import BankAccount
from laari.rules.records.payouts import BankOrder, Payout, PayoutRun, RunNumbers, StoredBankFile
from laari.rules.records.tenants import Mode, Tenant
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World


@dataclass(frozen=True, slots=True)
class OpenRun(Command[PayoutRun]):
    """Opens a run under the next number, or returns the open one of this day.

    Only one is open at a time.
    """

    permission: ClassVar[Permission] = "payouts.run"
    actor: Actor
    mode: Mode
    day: date

    def needs(self, needs: Needs) -> None:
        needs.read(World.run_numbers, self.mode)

    def decide(self, world: World) -> PayoutRun | Refusal:
        refusal = lacks(self.actor, self.permission)
        if refusal is not None:
            return refusal
        if not has_ended(self.day, world.now):
            return refuse("payout_conflict", f"{self.day} has not ended yet.")
        last, opened = world.run_numbers.get(self.mode, RunNumbers(0, None))
        if opened is not None and opened.day == self.day:
            return opened
        if opened is not None:
            which = f"Run {opened.number} for {opened.day}"
            return refuse("payout_conflict", f"{which} is open: approve it or cancel it first.")
        if last >= MAX_NUMBER:
            return refuse("payout_conflict", f"There can be at most {MAX_NUMBER} runs.")
        id, by, number = world.new_id(), written(self.actor), last + 1
        run = PayoutRun(
            id=id, mode=self.mode, number=number, day=self.day, created_at=world.now, created_by=by
        )
        world.runs.add(run.id, run)
        world.run_numbers[self.mode] = RunNumbers(number, run)
        _note_run(world, self.actor, "payout_run.open", None, run, total=0)
        return run


def _note_run(
    world: World,
    actor: Actor,
    action: str,
    before: PayoutRun | None,
    after: PayoutRun,
    *,
    total: int,
) -> None:
    note(
        world,
        Act(actor, action),
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
    """The operator changes one run, locked with its payouts."""

    permission: ClassVar[Permission] = "payouts.run"
    actor: Actor
    id: UUID

    def needs(self, needs: Needs) -> None:
        needs.run(self.id)
        needs.then(World.payouts, self._follow)

    def _follow(self, needs: Needs, world: World) -> None:
        for payout in payouts.in_run(world, self.id):
            self.payout_needs(needs, payout)

    def payout_needs(self, needs: Needs, payout: Payout) -> None:
        """The rows for one of its payouts."""
        if payout.tenant_id is not None:
            needs.read(World.tenants, payout.tenant_id)

    def busy(self) -> Refusal:
        return refuse("payout_conflict", "Another command is changing this run.")

    def decide(self, world: World) -> Run | Refusal:
        refusal = lacks(self.actor, self.permission)
        if refusal is not None:
            return refusal
        run = world.runs.get(self.id)
        if run is None:
            return refuse("not_found", "No such run.")
        left = [each for each in payouts.in_run(world, self.id) if each.status != "cancelled"]
        return self.act(world, Run(run, sorted(left, key=lambda payout: payout.id)))

    @abstractmethod
    def act(self, world: World, found: Run) -> Run | Refusal: ...

    def done(
        self, world: World, action: str, found: Run, run: PayoutRun, moved: list[Payout]
    ) -> Run:
        world.runs.change(run.id, run)
        _note_run(world, self.actor, action, found.run, run, total=found.total)
        return Run(run, moved)


@dataclass(frozen=True, slots=True)
class SendRun(OneRun):
    """Makes the bank's file, once: its payouts are sent. A second time, nothing changes.

    `value_date` is the day on which the bank pays, and `most` its limit for an order.
    """

    value_date: date
    most: int

    def payout_needs(self, needs: Needs, payout: Payout) -> None:
        _stop_needs(needs, payout)
        needs.read(World.bank_accounts, payout.owner)

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
            tenant = payouts.tenant_of(world.tenants, payout)
            reason = _stopped(world, tenant, payout)
            if reason is not None:
                which = ids.show_id(ids.PAYOUT, payout.id)
                return refuse(
                    "payout_conflict", f"{reason} Cancel {which} before you send the run."
                )
            account = _approved_account(world, run, payout)
            if isinstance(account, Refusal):
                return account
            made = [
                Order(
                    reference_of(run.number, len(orders) + place),
                    account.holder,
                    account.bank,
                    account.account_number,
                    amount,
                )
                for place, amount in enumerate(split(payout.amount, self.most), 1)
            ]
            orders += made
            kept = [
                BankOrder(order.reference, payout.id, place, order.amount)
                for place, order in enumerate(made, 1)
            ]
            moved.append(payouts.send(world, tenant, payout, kept, account.id))
        file = bank_file(run.number, self.value_date, orders)
        world.bank_files.append(
            StoredBankFile(
                run_id=run.id,
                value_date=self.value_date,
                order_count=file.order_count,
                total=file.total,
                digest=file.digest,
                content=file.content,
            )
        )
        sent = replace(run, status="sent", sent_at=world.now, sent_by=written(self.actor))
        return self.done(world, "payout_run.send", found, sent, moved)


def _approved_account(world: World, run: PayoutRun, payout: Payout) -> BankAccount | Refusal:
    """The bank account in use, if the approver of the run saw it."""
    accounts = world.bank_accounts[payout.owner]
    account = in_effect(accounts, world.now)
    if account is None:
        return refuse("payout_conflict", "An owner of a payout has no bank account.")
    assert run.approved_at is not None  # by its status
    seen = in_effect(accounts, run.approved_at)
    if seen is None or seen.details != account.details:
        which = ids.show_id(ids.PAYOUT, payout.id)
        message = f"The bank account of {which} was changed after the approval. Cancel it first."
        return refuse("payout_conflict", message)
    return account


def _stop_needs(needs: Needs, payout: Payout) -> None:
    """The rows for `_stopped`."""
    if payout.tenant_id is None:
        needs.lock(World.wallets, payout.owner)
    else:
        needs.read(World.payout_terms, payout.tenant_id)
        needs.activity(payout.tenant_id)


def _stopped(world: World, tenant: Tenant | None, payout: Payout) -> str | None:
    """Why the operator lets no money go to the owner of a payout, or None."""
    if tenant is not None:
        terms = world.payout_terms.get(tenant.id)
        return payouts.merchant_stopped(world.is_active(tenant), terms)
    is_frozen = world.wallets[payout.owner].frozen_at is not None
    return payouts.WALLET_FROZEN if is_frozen else None


class CancelRun(OneRun):
    """Returns the money of all its payouts to their owners; not after it was sent."""

    def payout_needs(self, needs: Needs, payout: Payout) -> None:
        needs.owner(payout)

    def act(self, world: World, found: Run) -> Run | Refusal:
        run = found.run
        if run.status == "cancelled":
            return found
        if run.status == "sent":
            return refuse("payout_conflict", "The run is sent.")
        moved = [
            payouts.cancel(world, payouts.tenant_of(world.tenants, payout), payout)
            for payout in found.payouts
        ]
        cancelled = replace(run, status="cancelled", approved_at=None, approved_by=None)
        return self.done(world, "payout_run.cancel", found, cancelled, moved)


@dataclass(frozen=True, slots=True)
class OnePayout(Command[Payout]):
    """The operator changes one payout, locked with its orders. A withdrawal has no tenant."""

    permission: ClassVar[Permission] = "payouts.run"
    actor: Actor
    id: UUID

    def needs(self, needs: Needs) -> None:
        needs.payout(self.id)

    def busy(self) -> Refusal:
        return refuse("payout_conflict")

    def decide(self, world: World) -> Payout | Refusal:
        refusal = lacks(self.actor, self.permission)
        if refusal is not None:
            return refusal
        payout = world.payouts.get(self.id)
        if payout is None:
            return _no_payout(self.id)
        return self.act(world, payouts.tenant_of(world.tenants, payout), payout)

    @abstractmethod
    def act(self, world: World, tenant: Tenant | None, payout: Payout) -> Payout | Refusal: ...


def _no_payout(id: UUID) -> Refusal:
    return refuse("not_found", f"No payout has the id {ids.show_id(ids.PAYOUT, id)}.")


class CancelPayout(OnePayout):
    """Returns the money to the owner; not after it was sent."""

    def act(self, world: World, tenant: Tenant | None, payout: Payout) -> Payout | Refusal:
        if payout.status == "cancelled":
            return payout
        refusal = payouts.not_allowed(payout, "cancel")
        if refusal is not None:
            return refusal
        cancelled = payouts.cancel(world, tenant, payout)
        payouts.note_payout(world, self.actor, tenant, "cancel", payout, after=cancelled)
        return cancelled


@dataclass(frozen=True, slots=True)
class JoinRun(OnePayout):
    """Takes a payout on request, or a withdrawal, into a run."""

    run_id: UUID

    def needs(self, needs: Needs) -> None:
        OnePayout.needs(self, needs)
        needs.run(self.run_id)
        needs.then(World.payouts, self._follow)

    def _follow(self, needs: Needs, world: World) -> None:
        payout = world.payouts.get(self.id)
        if payout is not None:
            _stop_needs(needs, payout)
            needs.read(World.bank_accounts, payout.owner)  # for an approval in the same batch
            needs.read(World.paid_accounts, payout.owner)

    def act(self, world: World, tenant: Tenant | None, payout: Payout) -> Payout | Refusal:
        if payout.run_id == self.run_id:
            return payout
        if payout.status != "requested" or payout.run_id is not None:
            return refuse("payout_conflict", "The payout does not wait for a run.")
        reason = _stopped(world, tenant, payout)
        if reason is not None:
            return refuse("payout_conflict", reason)
        refusal = payouts.not_joinable(world, self.actor, tenant, self.run_id)
        if refusal is not None:
            return refusal
        joined = replace(payout, run_id=self.run_id)
        world.payouts.change(payout.id, joined)
        return joined


def joining(
    actor: Actor,
    run: PayoutRun,
    waiting: Iterable[UUID],
    payable: Iterable[int],
) -> list[JoinRun | payouts.RequestPayout]:
    """The commands that fill a run: payouts on request first, then tenants up to its cut-off."""
    asked = [JoinRun(actor, payout_id, run.id) for payout_id in waiting]
    cut_off = cut_off_of(run.day)
    due = [payouts.RequestPayout(each, actor, cut_off, run.id) for each in payable]
    return [*asked, *due]


@dataclass(frozen=True, slots=True)
class AnswerPayout(Controlled[Payout]):
    """Records the bank's answer to one order, or to all orders of the payout that wait for one.

    Money that a person records as returned is credited again, so the rule of the second person
    holds for it. Its owner reads the `reason`.
    """

    permission = "payouts.run"
    actor: Actor
    id: UUID
    action: Literal["settle", "return"]
    reference: str | None = None
    reason: str | None = None

    def rows(self, needs: Needs) -> None:
        needs.payout(self.id)
        if self.action == "return":
            needs_reference(needs, self._about)

    def busy(self) -> Refusal:
        return refuse("payout_conflict")

    @property
    def _why(self) -> str:
        return self.reason or payouts.RETURNED

    @property
    def _about(self) -> str:
        return self.reference or ids.show_id(ids.PAYOUT, self.id)

    def prepare(self, world: World) -> Prepared[Payout] | Refusal:
        payout = world.payouts.get(self.id)
        if payout is None:
            return _no_payout(self.id)
        tenant = payouts.tenant_of(world.tenants, payout)
        orders = self._orders(world, payout)
        if isinstance(orders, Refusal):
            return orders
        asked = None
        if self.action == "return":
            asked = Asked(
                "return",
                "live" if tenant is None else tenant.mode,
                sum(order.amount for order in orders),
                self._why,
                account=payout.account,
                tenant_id=payout.tenant_id,
                payout_id=payout.id,
                reference=self._about,
            )
        return Prepared(asked, lambda: self._answer(world, tenant, payout, orders))

    def _orders(self, world: World, payout: Payout) -> list[BankOrder] | Refusal:
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
        return orders

    def _answer(
        self, world: World, tenant: Tenant | None, payout: Payout, orders: list[BankOrder]
    ) -> Booked[Payout] | Refusal:
        answered, tid = payout, None
        for order in orders:
            outcome = payouts.answer(world, tenant, answered, order, self.action, reason=self._why)
            if isinstance(outcome, Refusal):
                return outcome
            answered, tid = outcome.payout, outcome.transfer.tid
        why = self._why if self.action == "return" else None
        payouts.note_payout(
            world, self.actor, tenant, self.action, payout, after=answered, reason=why
        )
        return Booked(answered, tid)
