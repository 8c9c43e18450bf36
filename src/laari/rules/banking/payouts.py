"""Payouts: a merchant's balance goes to its bank account, and comes back if the bank returns it.

Money leaves the balance when a payout is requested. It is in transit until the bank answers. A
customer's withdrawal is a payout without a tenant: `tenant` is None, and its wallet is live.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Literal, NamedTuple
from uuid import UUID

from msgspec.structs import replace

from laari.rules import ids, ledger
from laari.rules.actors import Actor
from laari.rules.banking.bank_accounts import in_effect, no_account
from laari.rules.command import Command, Share, TenantCommand
from laari.rules.events import EventType, emit, emit_again
from laari.rules.journal import Act, note
from laari.rules.lifecycle import PAYOUT_TRANSITIONS, PayoutAction, TransitionError
from laari.rules.money import rufiyaa
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission, lacks_now
from laari.rules.people.persons import is_same_person
from laari.rules.records.bank_accounts import BankAccount
from laari.rules.records.ledger import Transfer
from laari.rules.records.payouts import BankOrder, Due, Payout, PayoutTerms
from laari.rules.records.tenants import Mode, Tenant
from laari.rules.refusals import Refusal, refuse
from laari.rules.shapes.payouts import Payout as PayoutShape
from laari.rules.shapes.payouts import payout_shape
from laari.rules.wallets import move_withdrawal
from laari.rules.world import World

MOST_IN_A_RUN = 1_000  # payouts: approving or sending them is one transaction
MAX_AMOUNT = 999_999_999_999_999  # laari: its orders fit into one file

_EVENTS: dict[PayoutAction, EventType] = {
    "send": "payout.sent",
    "settle": "payout.settled",
    "return": "payout.returned",
}


WALLET_FROZEN = "The wallet is frozen."
RETURNED = "Returned by the bank"  # without other words of the bank


def merchant_stopped(is_active: bool, terms: PayoutTerms | None) -> str | None:
    """Why the operator lets no money go to a merchant, or None."""
    if not is_active:
        return "The merchant is deactivated."
    if terms is None or terms.paused_reason is None:
        return None
    return f"Payouts are paused: {terms.paused_reason}."


def not_payable(
    due: Due,
    available: int,
    terms: PayoutTerms,
    accounts: Sequence[BankAccount],
    now: datetime,
    *,
    is_active: bool,
) -> Refusal | None:
    """Why a merchant is not paid out now, or None."""
    reason = merchant_stopped(is_active, terms)
    if reason is not None:
        return refuse("payout_not_possible", reason)
    if in_effect(accounts, now) is None:
        return no_account(accounts, now)
    refusal = uncovered(due, available, terms)
    if refusal is not None:
        return refusal
    amount = due.balance - due.later - terms.fee
    if amount < terms.minimum:
        least = f"MVR {rufiyaa(terms.minimum)}"
        return refuse("payout_not_possible", f"The amount is below the minimum of {least}.")
    return None


def uncovered(due: Due, available: int, terms: PayoutTerms) -> Refusal | None:
    """Why the balance does not allow a payout, or None: it never makes a balance negative."""
    total = due.balance - due.later
    if total <= 0 and available < 0:
        return refuse("payout_not_possible", f"The balance is negative: MVR {rufiyaa(available)}.")
    if total <= 0:
        return refuse("payout_not_possible", "Nothing is available.")
    if available < total:
        missing = f"MVR {rufiyaa(total - available)}"
        return refuse("payout_not_possible", f"Later movements took {missing} of the amount.")
    if total <= terms.fee:
        return refuse("payout_not_possible", "The amount does not cover the fee of the payout.")
    if total - terms.fee > MAX_AMOUNT:
        return refuse("payout_not_possible", "The amount is too large for one payout.")
    return None


def tenant_of(tenants: Mapping[int, Tenant], payout: Payout) -> Tenant | None:
    """The merchant of a payout; None for a withdrawal."""
    return None if payout.tenant_id is None else tenants[payout.tenant_id]


def move(world: World, tenant: Tenant | None, payout: Payout, action: PayoutAction) -> Payout:
    """Makes a transition that the lifecycle allows, and emits its event."""
    status = PAYOUT_TRANSITIONS[payout.status].get(action)
    if status is None:
        raise TransitionError(f"{action} of a payout that is {payout.status}")
    now = world.at(tenant)
    moved = replace(payout, status=status, **{f"{status}_at": now})
    world.payouts.change(payout.id, moved)
    if action in _EVENTS and tenant is not None:
        emit(world, tenant, _EVENTS[action], payout.id, _shape(world, moved))
    return moved


def _shape(world: World, payout: Payout) -> PayoutShape:
    accounts = world.bank_accounts.get(payout.owner, ())
    return payout_shape(payout, world.orders.seen.values(), accounts)


def note_payout(
    world: World,
    actor: Actor,
    tenant: Tenant | None,
    action: str,
    before: Payout | None,
    *,
    after: Payout,
    reason: str | None = None,
) -> None:
    """An entry of the journal about a payout or a withdrawal."""
    what = "payout" if tenant is not None else "withdrawal"
    note(
        world,
        Act(actor, f"{what}.{action}", reason),
        what,
        ids.show_id(ids.PAYOUT, after.id),
        merchant_id=None if tenant is None else tenant.merchant_id,
        mode=_mode(tenant),
        before={} if before is None else _watched(before),
        after=_watched(after),
    )


def _mode(tenant: Tenant | None) -> Mode:
    return "live" if tenant is None else tenant.mode


def _watched(payout: Payout) -> dict[str, object]:
    watched: dict[str, object] = {
        "status": payout.status,
        "amount": payout.amount,
        "returned_amount": payout.returned_amount,
    }
    return watched if payout.account is None else {"account": str(payout.account), **watched}


def not_allowed(payout: Payout, action: PayoutAction) -> Refusal | None:
    if action in PAYOUT_TRANSITIONS[payout.status]:
        return None
    return refuse("payout_conflict", f"The payout is {payout.status}.")


@dataclass(frozen=True, slots=True)
class RequestPayout(Command[Payout]):
    """Takes the movements up to the cut-off, or all that is available, out of the balance.

    With a run, the payout joins it. Otherwise the next run takes it. A sandbox has no runs: the
    payout is sent at once, and the sandbox's controls answer it.
    """

    permission: ClassVar[Permission] = "payouts.run"
    own_permission: ClassVar[Permission] = "payouts.request"  # of the merchant's people
    tenant_id: int
    actor: Actor
    cut_off: datetime | None = None
    run_id: UUID | None = None

    @property
    def share(self) -> Share:
        return Share(self.tenant_id, urgent=False)  # nobody waits for it at a till

    def needs(self, needs: Needs) -> None:
        needs.paying_out(self.tenant_id, self.cut_off)
        needs.activity(self.tenant_id)
        needs.role_at(self.tenant_id, self.actor)
        if self.run_id is not None:
            needs.run(self.run_id)
            # For an approval in the same batch.
            needs.read(World.paid_accounts, self.tenant_id)

    def decide(self, world: World) -> Payout | Refusal:
        tenant = world.tenants.get(self.tenant_id)
        if tenant is None:
            return refuse("not_found", "No such merchant.")
        needed = self.permission if self.actor.is_operator else self.own_permission
        refusal = lacks_now(world, self.actor, tenant.merchant_id, needed)
        if refusal is not None:
            return refusal
        if self.run_id is not None:
            refusal = not_joinable(world, self.actor, tenant, self.run_id)
            if refusal is not None:
                return refusal
        due, terms = _due(world, tenant, self.cut_off), terms_of(world, tenant)
        if due is None:
            return _another_first()
        if not self.actor.is_operator and not terms.on_request:
            return refuse("payout_not_possible", "This merchant may not request payouts.")
        refusal = not_payable(
            due,
            ledger.available(world, tenant),
            terms,
            world.bank_accounts.get(tenant.id, ()),
            world.now,
            is_active=world.is_active(tenant),
        )
        if refusal is not None:
            return refusal
        payout = _pay_out(world, self.actor, tenant, due, terms, run_id=self.run_id)
        if tenant.mode == "sandbox" and self.run_id is None:
            return _send_in_sandbox(world, tenant, payout)
        return payout


def _due(world: World, tenant: Tenant, cut_off: datetime | None) -> Due | None:
    """The money to pay out; None if another payout of this batch came first."""
    if any(each.tenant_id == tenant.id for each in world.payouts.added.values()):
        return None
    due = world.dues[tenant.id, cut_off]
    # All that is available has a time before this moment, unless a clock was moved back.
    return replace(due, cut_off=max(due.cut_off, world.at(tenant))) if cut_off is None else due


def _pay_out(
    world: World,
    actor: Actor,
    tenant: Tenant,
    due: Due,
    terms: PayoutTerms,
    *,
    run_id: UUID | None = None,
) -> Payout:
    now, funds = world.at(tenant), world.funds[tenant.id]
    amount = due.balance - due.later - terms.fee
    in_transit, fees = ledger.in_transit_account(tenant.mode), ledger.fee_account(tenant.mode)
    merchant, tid = ledger.merchant_account(tenant), world.new_tid()
    moved = ledger.transfer(world, "payout", merchant, in_transit, amount, tid=tid, created_at=now)
    if terms.fee:
        ledger.transfer(world, "payout_fee", merchant, fees, terms.fee, tid=tid, created_at=now)
    payout = Payout(
        id=world.new_id(),
        tenant_id=tenant.id,
        number=funds.last_payout + 1,
        amount=amount,
        fee=terms.fee,
        cut_off=due.cut_off,
        snapshot=due.snapshot,
        transfer_id=moved.id,
        created_at=now,
        actor_kind=actor.kind,
        actor_name=actor.name,
        run_id=run_id,
    )
    world.payouts.add(payout.id, payout)
    changed = replace(funds, last_payout=payout.number, paid_out_upto=due.cut_off)
    world.funds.change(tenant.id, changed)
    if actor.kind != "credential":  # the API's sandbox controls are not in the journal
        note_payout(world, actor, tenant, "request", None, after=payout)
    return payout


def _another_first() -> Refusal:
    return refuse("payout_not_possible", "Another payout of this merchant came first.")


def terms_of(world: World, tenant: Tenant) -> PayoutTerms:
    return world.payout_terms.get(tenant.id) or PayoutTerms(tenant.id)


def in_run(world: World, run_id: UUID) -> list[Payout]:
    """The payouts of a run, cancelled ones too."""
    return [each for each in world.payouts.seen.values() if each.run_id == run_id]


def not_joinable(world: World, actor: Actor, tenant: Tenant | None, run_id: UUID) -> Refusal | None:
    """Why a payout cannot join this run, or None.

    Another person may approve the run, and so adds nothing to it.
    """
    run = world.runs.get(run_id)
    if run is None or run.mode != _mode(tenant):
        return refuse("not_found", "No such run.")
    if run.status != "requested":
        return refuse("payout_conflict", f"The run is {run.status}.")
    if world.second_operator_above is not None and not is_same_person(run.created_by, actor):
        message = f"Only {run.created_by}, who opened the run, adds payouts to it."
        return refuse("payout_conflict", message)
    joined = in_run(world, run_id)
    if len(joined) >= MOST_IN_A_RUN:
        return refuse("payout_conflict", f"A run can have at most {MOST_IN_A_RUN} payouts.")
    others = (each for each in joined if tenant is not None and each.tenant_id == tenant.id)
    if any(each.status != "cancelled" for each in others):
        return refuse("payout_conflict", "The run has a payout of this merchant already.")
    return None


def _give_back(
    world: World,
    tenant: Tenant | None,
    payout: Payout,
    source: ledger.Account,
    amount: int,
    *,
    why: str,
) -> Transfer:
    """Returns money to the merchant or to the wallet; it is available at once."""
    if tenant is None:
        return move_withdrawal(world, payout.owner, source, amount, why)
    merchant, now = ledger.merchant_account(tenant), world.at(tenant)
    tid = world.new_tid()
    return ledger.transfer(
        world, "payout_returned", source, merchant, amount, tid=tid, created_at=now
    )


def cancel(world: World, tenant: Tenant | None, payout: Payout) -> Payout:
    """Returns the amount and the fee to the balance."""
    in_transit = ledger.in_transit_account(_mode(tenant))
    back = _give_back(world, tenant, payout, in_transit, payout.amount, why="Cancelled")
    if payout.fee and tenant is not None:
        fees, merchant = ledger.fee_account(tenant.mode), ledger.merchant_account(tenant)
        now = back.created_at
        ledger.transfer(
            world, "payout_fee", fees, merchant, payout.fee, tid=back.tid, created_at=now
        )
    return move(world, tenant, replace(payout, cancelled_transfer_id=back.id), "cancel")


def send(
    world: World,
    tenant: Tenant | None,
    payout: Payout,
    orders: Iterable[BankOrder],
    account: UUID | None,
) -> Payout:
    """The orders are with the bank now."""
    for order in orders:
        world.orders.add(order.reference, order)
    return move(world, tenant, replace(payout, bank_account_id=account), "send")


class Answered(NamedTuple):
    """A payout after the bank's answer to one of its orders, and the money that moved by it."""

    payout: Payout
    transfer: Transfer


def answer(
    world: World,
    tenant: Tenant | None,
    payout: Payout,
    order: BankOrder,
    action: Literal["settle", "return"],
    *,
    reason: str = RETURNED,
) -> Answered | Refusal:
    """Books the bank's answer to one order.

    Returned money is available at once, and its owner reads the `reason`. The payout is settled if
    all orders are, and returned with the last answer if any order was. A bank may return an order
    that it has confirmed: if the payout is returned already, its event is sent again with the new
    sum.
    """
    if action == "settle" and order.status != "sent":
        return refuse("payout_conflict", f"The order is {order.status}.")
    if action == "return" and order.status == "returned":
        return refuse("payout_conflict", "The order is returned.")
    now, mode = world.at(tenant), _mode(tenant)
    outside, in_transit = ledger.outside_account(mode), ledger.in_transit_account(mode)
    if action == "settle":
        moved = ledger.transfer(
            world,
            "payout_settled",
            in_transit,
            outside,
            order.amount,
            tid=world.new_tid(),
            created_at=now,
        )
        after = replace(order, status="settled", settled_at=now, settled_transfer_id=moved.id)
    else:
        source = in_transit if order.status == "sent" else outside
        moved = _give_back(world, tenant, payout, source, order.amount, why=RETURNED)
        after = replace(
            order,
            status="returned",
            returned_at=now,
            returned_transfer_id=moved.id,
            return_reason=reason,
        )
        payout = replace(payout, returned_amount=payout.returned_amount + order.amount)
        world.payouts.change(payout.id, payout)
    world.orders.change(order.reference, after)
    return Answered(_after_answer(world, tenant, payout), moved)


def _after_answer(world: World, tenant: Tenant | None, payout: Payout) -> Payout:
    statuses = {each.status for each in orders_of(world, payout)}
    if payout.status == "returned":  # another part of it came back
        if tenant is not None:
            emit_again(world, tenant, "payout.returned", payout.id, _shape(world, payout))
        return payout
    if "sent" in statuses:
        return payout
    return move(world, tenant, payout, "return" if "returned" in statuses else "settle")


def orders_of(world: World, payout: Payout) -> list[BankOrder]:
    found = (each for each in world.orders.seen.values() if each.payout_id == payout.id)
    return sorted(found, key=lambda order: order.place)


@dataclass(frozen=True, slots=True)
class SandboxPayout(TenantCommand[Payout]):
    """Pays out all that is available in a sandbox, and sends it at once."""

    tenant: Tenant
    actor: Actor

    def needs(self, needs: Needs) -> None:
        needs.paying_out(self.tenant.id, None)

    def decide(self, world: World) -> Payout | Refusal:
        tenant = self.tenant
        if tenant.mode != "sandbox":
            return refuse("not_found")
        due, terms = _due(world, tenant, None), terms_of(world, tenant)
        if due is None:
            return _another_first()
        refusal = uncovered(due, ledger.available(world, tenant), terms)
        if refusal is not None:
            return refusal
        payout = _pay_out(world, self.actor, tenant, due, terms)
        return _send_in_sandbox(world, tenant, payout)


def _send_in_sandbox(world: World, tenant: Tenant, payout: Payout) -> Payout:
    approved = move(world, tenant, payout, "approve")
    return send(world, tenant, approved, [sandbox_order(payout)], None)


def sandbox_order(payout: Payout) -> BankOrder:
    """The only order of a payout in a sandbox, as it was sent."""
    return BankOrder(ids.show_id(ids.PAYOUT, payout.id), payout.id, 1, payout.amount)


@dataclass(frozen=True, slots=True)
class AnswerSandboxPayout(TenantCommand[Payout]):
    """Plays the bank's answer to a payout of a sandbox."""

    tenant: Tenant
    id: UUID
    action: Literal["settle", "return"]

    def needs(self, needs: Needs) -> None:
        needs.payout(self.id)

    def busy(self) -> Refusal:
        return refuse("payout_conflict")

    def decide(self, world: World) -> Payout | Refusal:
        tenant, payout = self.tenant, world.payouts.get(self.id)
        if payout is None or payout.tenant_id != tenant.id or tenant.mode != "sandbox":
            return refuse("not_found")
        refusal = not_allowed(payout, self.action)
        if refusal is not None:
            return refusal
        (order,) = orders_of(world, payout)
        answered = answer(world, tenant, payout, order, self.action)
        return answered if isinstance(answered, Refusal) else answered.payout
