"""The operator's commands about a merchant's balance: hold, release, correct, sweep the fees.

The command line and the operator's desk use them, never a page of a merchant or a customer.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from laari.rules import ledger
from laari.rules.actors import Actor
from laari.rules.command import Command, TenantCommand
from laari.rules.journal import note, note_of_tenant
from laari.rules.money import MAX_MONEY, rufiyaa
from laari.rules.records import EarnedFees, FeeSweep, FundMovement, Mode, Tenant
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import Needs, World


class Funds(NamedTuple):
    """A merchant's money after a movement."""

    available: int
    held: int


@dataclass(frozen=True, slots=True)
class MoveFunds(TenantCommand[Funds]):
    """Holds or releases money of a merchant, or corrects its balance, with a reason.

    A hold takes only money that is available, and a release only money that is held. A correction
    may be negative; it stops at zero unless `below_zero` allows less. A form names the number of
    earlier movements that its page showed: sent twice, it acts once.
    """

    tenant: Tenant
    actor: Actor
    kind: Literal["hold", "release", "merchant_adjustment"]
    amount: int
    reason: str
    below_zero: bool = False
    if_earlier: int | None = None

    def needs(self, needs: Needs) -> None:
        needs.outgoing(self.tenant)
        if self.if_earlier is not None:
            needs.read(World.fund_movement_counts, self.tenant.id)

    def busy(self) -> Refusal:
        return refuse("conflict", "Another command is changing this balance.")

    def decide(self, world: World) -> Funds | Refusal:
        tenant, amount = self.tenant, self.amount
        is_correction = self.kind == "merchant_adjustment"
        if not 0 < (abs(amount) if is_correction else amount) <= MAX_MONEY:
            return invalid("amount", "The amount is not valid.")
        if self.if_earlier not in (None, self._earlier(world)):
            message = "This money was moved meanwhile. Look at the balance, and decide again."
            return refuse("conflict", message)
        available, held = ledger.available(world, tenant), ledger.held(world, tenant)
        after = self._after(Funds(available, held))
        if after.available < 0 and after.available < available and not self.below_zero:
            return refuse(
                "insufficient_merchant_balance",
                f"Only MVR {rufiyaa(max(available, 0))} are available.",
            )
        if after.held < 0:
            message = f"Only MVR {rufiyaa(held)} are held."
            return refuse("insufficient_merchant_balance", message)
        self._book(world)
        names = {"hold": "hold", "release": "release", "merchant_adjustment": "adjust"}
        note_of_tenant(
            world,
            self.actor,
            tenant,
            f"merchant.{names[self.kind]}",
            "balance",
            tenant.merchant_id,
            {"available": available, "held": held},
            after._asdict(),
            self.reason,
        )
        return after

    def _earlier(self, world: World) -> int:
        """The movements of this tenant, those of this batch included."""
        made = sum(each.tenant_id == self.tenant.id for each in world.fund_movements)
        return world.fund_movement_counts.get(self.tenant.id, 0) + made

    def _after(self, funds: Funds) -> Funds:
        match self.kind:
            case "hold":
                return Funds(funds.available - self.amount, funds.held + self.amount)
            case "release":
                return Funds(funds.available + self.amount, funds.held - self.amount)
            case "merchant_adjustment":
                return Funds(funds.available + self.amount, funds.held)

    def _book(self, world: World) -> None:
        tenant, now = self.tenant, world.at(self.tenant)
        merchant = ledger.merchant_account(tenant)
        other = (
            ledger.corrections_account(tenant.mode)
            if self.kind == "merchant_adjustment"
            else ledger.held_account(tenant)
        )
        leaves = self.kind == "hold" or self.amount < 0
        debit, credit = (merchant, other) if leaves else (other, merchant)
        moved = ledger.transfer(
            world, self.kind, debit, credit, abs(self.amount), world.new_tid(), now
        )
        who = (self.actor.kind, self.actor.name)
        world.fund_movements.append(FundMovement(moved, tenant.id, self.reason, *who, now))


@dataclass(frozen=True, slots=True)
class SweepFees(Command[FeeSweep]):
    """The operator takes earned fees out of the bank account; never more than there are.

    A form names the last sweep that its page showed: sent twice, it acts once.
    """

    actor: Actor
    mode: Mode
    amount: int
    if_last: int | None = None

    def needs(self, needs: Needs) -> None:
        needs.read(World.earned_fees, self.mode)

    def decide(self, world: World) -> FeeSweep | Refusal:
        fees = world.earned_fees[self.mode]
        if self.if_last not in (None, fees.last_sweep):
            return refuse("conflict", "Fees were swept meanwhile. Look at them, and decide again.")
        if not 0 < self.amount <= fees.balance:
            message = f"The fees are MVR {rufiyaa(fees.balance)}."
            return refuse("insufficient_merchant_balance", message)
        earned, outside = ledger.fee_account(self.mode), ledger.outside_account(self.mode)
        moved = ledger.transfer(
            world, "sweep", earned, outside, self.amount, world.new_tid(), world.now
        )
        number, who = fees.last_sweep + 1, (self.actor.kind, self.actor.name)
        sweep = FeeSweep(self.mode, number, moved, self.amount, *who, world.now)
        world.fee_sweeps.append(sweep)
        note(
            *(world, self.actor, "fees.sweep", "fees", self.mode),
            merchant_id=None,
            mode=self.mode,
            before={"fees": fees.balance},
            after={"fees": fees.balance - self.amount},
        )
        world.earned_fees[self.mode] = EarnedFees(fees.balance - self.amount, number)
        return sweep
