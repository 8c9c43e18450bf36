"""The operator's commands about a merchant's balance: hold, release, correct, sweep the fees.

The command line and the operator's desk use them, never a page of a merchant or a customer.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from laari.rules import ledger
from laari.rules.actors import Actor
from laari.rules.banking.second_person import Asked, Booked, Controlled, Prepared
from laari.rules.journal import Act, note, note_of_tenant
from laari.rules.money import MAX_MONEY, rufiyaa
from laari.rules.needs import Needs
from laari.rules.records.bank import EarnedFees, FeeSweep
from laari.rules.records.merchant_funds import FundMovement
from laari.rules.records.tenants import Mode, Tenant
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import World


class Funds(NamedTuple):
    """A merchant's money after a movement."""

    available: int
    held: int


@dataclass(frozen=True, slots=True)
class MoveFunds(Controlled[Funds]):
    """Holds or releases money of a merchant, or corrects its balance, with a reason.

    A hold takes only money that is available, and a release only money that is held. A correction
    may be negative; it stops at zero unless `below_zero` allows less.
    """

    permission = "payouts.run"
    tenant_id: int
    actor: Actor
    kind: Literal["hold", "release", "merchant_adjustment"]
    amount: int
    reason: str
    below_zero: bool = False
    if_moved: int | None = None

    def rows(self, needs: Needs) -> None:
        needs.read(World.tenants, self.tenant_id)
        needs.outgoing(self.tenant_id)

    def busy(self) -> Refusal:
        return refuse("conflict", "Another command is changing this balance.")

    def prepare(self, world: World) -> Prepared[Funds] | Refusal:
        tenant, amount = world.tenants.get(self.tenant_id), self.amount
        if tenant is None:
            return refuse("not_found", "No such merchant.")
        is_correction = self.kind == "merchant_adjustment"
        if not 0 < (abs(amount) if is_correction else amount) <= MAX_MONEY:
            return invalid("amount", "The amount is not valid.")
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
        before = Funds(available, held)
        return Prepared(self._asked(tenant), lambda: self._move(world, tenant, before, after))

    def _asked(self, tenant: Tenant) -> Asked | None:
        """A hold lets nothing leave, so it needs nobody else."""
        if self.kind == "hold":
            return None
        return Asked(
            self.kind,
            tenant.mode,
            self.amount,
            self.reason,
            tenant_id=tenant.id,
            below_zero=self.below_zero,
        )

    def _move(self, world: World, tenant: Tenant, before: Funds, after: Funds) -> Booked[Funds]:
        tid = self._book(world, tenant)
        names = {"hold": "hold", "release": "release", "merchant_adjustment": "adjust"}
        note_of_tenant(
            world,
            Act(self.actor, f"merchant.{names[self.kind]}", self.reason),
            tenant,
            "balance",
            tenant.merchant_id,
            before=before._asdict(),
            after=after._asdict(),
        )
        return Booked(after, tid)

    def _after(self, funds: Funds) -> Funds:
        match self.kind:
            case "hold":
                return Funds(funds.available - self.amount, funds.held + self.amount)
            case "release":
                return Funds(funds.available + self.amount, funds.held - self.amount)
            case "merchant_adjustment":
                return Funds(funds.available + self.amount, funds.held)

    def _book(self, world: World, tenant: Tenant) -> str:
        now, merchant = world.at(tenant), ledger.merchant_account(tenant)
        other = (
            ledger.corrections_account(tenant.mode)
            if self.kind == "merchant_adjustment"
            else ledger.held_account(tenant)
        )
        leaves = self.kind == "hold" or self.amount < 0
        debit, credit = (merchant, other) if leaves else (other, merchant)
        moved = ledger.transfer(
            world, self.kind, debit, credit, abs(self.amount), tid=world.new_tid(), created_at=now
        )
        world.fund_movements.append(
            FundMovement(
                transfer_id=moved.id,
                tenant_id=tenant.id,
                reason=self.reason,
                actor_kind=self.actor.kind,
                actor_name=self.actor.name,
                created_at=now,
            )
        )
        return moved.tid


@dataclass(frozen=True, slots=True)
class SweepFees(Controlled[FeeSweep]):
    """The operator takes earned fees out of the bank account; never more than there are."""

    permission = "payouts.run"
    actor: Actor
    mode: Mode
    amount: int
    if_moved: int | None = None

    def rows(self, needs: Needs) -> None:
        needs.read(World.earned_fees, self.mode)

    def prepare(self, world: World) -> Prepared[FeeSweep] | Refusal:
        fees = world.earned_fees[self.mode]
        if not 0 < self.amount <= fees.balance:
            message = f"The fees are MVR {rufiyaa(fees.balance)}."
            if fees.owed:
                message += f" Merchants owe MVR {rufiyaa(fees.owed)} more, which nobody has paid."
            return refuse("insufficient_merchant_balance", message)
        asked = Asked("sweep", self.mode, self.amount, "Earned fees taken out of the bank account")
        return Prepared(asked, lambda: self._sweep(world, fees))

    def _sweep(self, world: World, fees: EarnedFees) -> Booked[FeeSweep]:
        earned, outside = ledger.fee_account(self.mode), ledger.outside_account(self.mode)
        moved = ledger.transfer(
            world, "sweep", earned, outside, self.amount, tid=world.new_tid(), created_at=world.now
        )
        number = fees.last_sweep + 1
        sweep = FeeSweep(
            mode=self.mode,
            number=number,
            transfer_id=moved.id,
            amount=self.amount,
            actor_kind=self.actor.kind,
            actor_name=self.actor.name,
            created_at=world.now,
        )
        world.fee_sweeps.append(sweep)
        note(
            world,
            Act(self.actor, "fees.sweep"),
            "fees",
            self.mode,
            merchant_id=None,
            mode=self.mode,
            before={"fees": fees.balance},
            after={"fees": fees.balance - self.amount},
        )
        world.earned_fees[self.mode] = EarnedFees(fees.balance - self.amount, fees.owed, number)
        return Booked(sweep, moved.tid)
