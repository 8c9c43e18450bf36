"""Payouts: a merchant's balance goes to its bank account, and comes back if the bank returns it.

Money leaves the balance when a payout is requested. It is in transit until the bank answers. A
customer's withdrawal is a payout without a tenant: `tenant` is None, and its wallet is live.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from msgspec.structs import replace

from laari.rules import ids, ledger
from laari.rules.actors import Actor
from laari.rules.command import TenantCommand
from laari.rules.events import EventType, emit
from laari.rules.journal import note
from laari.rules.lifecycle import PAYOUT_TRANSITIONS, PayoutAction, TransitionError
from laari.rules.money import rufiyaa
from laari.rules.records import (
    BankAccount,
    BankDetails,
    BankOrder,
    Due,
    Mode,
    Payout,
    PayoutTerms,
    Tenant,
    Transfer,
)
from laari.rules.refusals import Refusal, refuse
from laari.rules.shapes.payouts import payout_shape
from laari.rules.wallets import move_withdrawal
from laari.rules.world import Needs, World

BANK_ACCOUNT_DELAY = timedelta(hours=48)
MOST_IN_A_RUN = 1_000  # payouts: approving or sending them is one transaction
MAX_AMOUNT = 999_999_999_999_999  # laari: its orders fit into one file

_EVENTS: dict[PayoutAction, EventType] = {
    "send": "payout.sent",
    "settle": "payout.settled",
    "return": "payout.returned",
}


def in_effect(accounts: Iterable[BankAccount], now: datetime) -> BankAccount | None:
    """The bank account that is used at this moment: of those whose time has come, the newest."""
    begun = [account for account in accounts if account.effective_at <= now]
    return max(begun, key=lambda account: (account.created_at, account.id), default=None)


def effective_from(
    accounts: Sequence[BankAccount], now: datetime, details: BankDetails
) -> datetime:
    """When a bank account takes effect: at once if it is the first.

    The account in use, entered again, does so too. It is newer than a change that has not begun,
    so it stops that change.
    """
    current = in_effect(accounts, now)
    if not accounts or (current is not None and current.details == details):
        return now
    return now + BANK_ACCOUNT_DELAY


def coming(accounts: Iterable[BankAccount], now: datetime) -> list[BankAccount]:
    """The bank accounts that will be used later, if nothing stops them; `accounts` by their age."""
    found: list[BankAccount] = []
    for account in accounts:
        if account.effective_at > now:
            found.append(account)
        else:
            found.clear()  # it is newer than the ones before
    return found


def stopped(is_frozen: bool, terms: PayoutTerms | None) -> str | None:
    """Why the operator lets no money go to the owner of a payout, if so.

    This is a frozen wallet, or a merchant whose terms say that payouts are paused.
    """
    if is_frozen:
        return "The wallet is frozen."
    if terms is None or terms.paused_reason is None:
        return None
    return f"Payouts are paused: {terms.paused_reason}."


def not_payable(
    due: Due, available: int, terms: PayoutTerms, account: BankAccount | None
) -> Refusal | None:
    """Why a merchant is not paid out now, if so."""
    if terms.paused_reason is not None:
        return refuse("payout_not_possible", f"Payouts are paused: {terms.paused_reason}")
    if account is None:
        return refuse("payout_not_possible", "There is no bank account.")
    refusal = uncovered(due, available, terms)
    if refusal is not None:
        return refusal
    amount = due.balance - due.later - terms.fee
    if amount < terms.minimum:
        least = f"MVR {rufiyaa(terms.minimum)}"
        return refuse("payout_not_possible", f"The amount is below the minimum of {least}.")
    return None


def uncovered(due: Due, available: int, terms: PayoutTerms) -> Refusal | None:
    """Why the balance does not allow a payout, if so: it never makes a balance negative."""
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
        emit(world, tenant, _EVENTS[action], payout.id, payout_shape(moved))
    return moved


def note_payout(
    world: World,
    actor: Actor,
    tenant: Tenant | None,
    action: str,
    before: Payout | None,
    after: Payout,
) -> None:
    """An entry of the journal about a payout or a withdrawal."""
    what = "payout" if tenant is not None else "withdrawal"
    note(
        *(world, actor, f"{what}.{action}", what, ids.show_id(ids.PAYOUT, after.id)),
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
class RequestPayout(TenantCommand[Payout]):
    """Takes the movements up to the cut-off, or all that is available, out of the balance.

    With a run, the payout joins it. Otherwise the next run takes it. A sandbox has no runs: the
    payout is sent at once, and the sandbox's controls answer it.
    """

    tenant: Tenant
    actor: Actor
    cut_off: datetime | None = None
    run_id: UUID | None = None

    def needs(self, needs: Needs) -> None:
        needs.paying_out(self.tenant, self.cut_off)
        if self.run_id is not None:
            needs.run(self.run_id)

    def decide(self, world: World) -> Payout | Refusal:
        if self.run_id is not None:
            refusal = not_joinable(world, self.tenant, self.run_id)
            if refusal is not None:
                return refusal
        due, terms = self._due(world), terms_of(world, self.tenant)
        if due is None:
            return refuse("service_unavailable")
        if not self.actor.is_operator and not terms.on_request:
            return refuse("payout_not_possible", "Payouts on request are not agreed.")
        account = in_effect(world.bank_accounts.get(self.tenant.id, ()), world.now)
        refusal = not_payable(due, ledger.available(world, self.tenant), terms, account)
        if refusal is not None:
            return refusal
        payout = self._pay_out(world, due, terms)
        if self.tenant.mode == "sandbox" and self.run_id is None:
            return _send_in_sandbox(world, self.tenant, payout)
        return payout

    def _due(self, world: World) -> Due | None:
        """The money to pay out; None if another payout of this batch came first."""
        if any(each.tenant_id == self.tenant.id for each in world.payouts.added.values()):
            return None
        due = world.dues[self.tenant.id, self.cut_off]
        # All that is available has a time before this moment, unless a clock was moved back.
        is_all = self.cut_off is None
        return replace(due, cut_off=max(due.cut_off, world.at(self.tenant))) if is_all else due

    def _pay_out(self, world: World, due: Due, terms: PayoutTerms) -> Payout:
        tenant, now = self.tenant, world.at(self.tenant)
        merchant, funds = ledger.merchant_account(tenant), world.funds[tenant.id]
        amount = due.balance - due.later - terms.fee
        in_transit, fees = ledger.in_transit_account(tenant.mode), ledger.fee_account(tenant.mode)
        tid = world.new_tid()
        transfer_id = ledger.transfer(world, "payout", merchant, in_transit, amount, tid, now)
        if terms.fee:
            ledger.transfer(world, "payout_fee", merchant, fees, terms.fee, tid, now)
        payout = Payout(
            id=world.new_id(),
            tenant_id=tenant.id,
            number=funds.last_payout + 1,
            amount=amount,
            fee=terms.fee,
            cut_off=due.cut_off,
            snapshot=due.snapshot,
            transfer_id=transfer_id,
            created_at=now,
            actor_kind=self.actor.kind,
            actor_name=self.actor.name,
            run_id=self.run_id,
        )
        world.payouts.add(payout.id, payout)
        changed = replace(funds, last_payout=payout.number, paid_out_upto=due.cut_off)
        world.funds.change(tenant.id, changed)
        if self.actor.kind != "credential":  # the API's sandbox controls are not in the journal
            note_payout(world, self.actor, tenant, "request", None, payout)
        return payout


def terms_of(world: World, tenant: Tenant) -> PayoutTerms:
    return world.payout_terms.get(tenant.id) or PayoutTerms(tenant.id)


def not_joinable(world: World, tenant: Tenant | None, run_id: UUID) -> Refusal | None:
    """Why a payout cannot join this run, if so."""
    run = world.runs.get(run_id)
    if run is None or run.mode != _mode(tenant):
        return refuse("not_found", "No such run.")
    if run.status != "requested":
        return refuse("payout_conflict", f"The run is {run.status}.")
    joined = [each for each in world.payouts.seen.values() if each.run_id == run_id]
    if len(joined) >= MOST_IN_A_RUN:
        return refuse("payout_conflict", f"The run has {MOST_IN_A_RUN} payouts, which is the most.")
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
    why: str,
) -> Transfer:
    """Returns money to the merchant or to the wallet; it is available at once."""
    if tenant is None:
        move_withdrawal(world, payout.owner, source, amount, why)
    else:
        merchant, now = ledger.merchant_account(tenant), world.at(tenant)
        tid = world.new_tid()
        ledger.transfer(world, "payout_returned", source, merchant, amount, tid, now)
    return world.transfers[-1]


def cancel(world: World, tenant: Tenant | None, payout: Payout) -> Payout:
    """Returns the amount and the fee to the balance."""
    in_transit = ledger.in_transit_account(_mode(tenant))
    back = _give_back(world, tenant, payout, in_transit, payout.amount, "Cancelled")
    if payout.fee and tenant is not None:
        fees, merchant = ledger.fee_account(tenant.mode), ledger.merchant_account(tenant)
        now = back.created_at
        ledger.transfer(world, "payout_fee", fees, merchant, payout.fee, back.tid, now)
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


def answer(
    world: World,
    tenant: Tenant | None,
    payout: Payout,
    order: BankOrder,
    action: Literal["settle", "return"],
) -> Payout | Refusal:
    """Books the bank's answer to one order.

    Returned money is available at once. The payout is settled if all orders are, and returned with
    the last answer if any order was. A bank may return an order that it has confirmed.
    """
    if action == "settle" and order.status != "sent":
        return refuse("payout_conflict", f"The order is {order.status}.")
    if action == "return" and order.status == "returned":
        return refuse("payout_conflict", "The order is returned.")
    now, mode = world.at(tenant), _mode(tenant)
    outside, in_transit = ledger.outside_account(mode), ledger.in_transit_account(mode)
    if action == "settle":
        moved = ledger.transfer(
            world, "payout_settled", in_transit, outside, order.amount, world.new_tid(), now
        )
        after = replace(order, status="settled", settled_at=now, settled_transfer_id=moved)
    else:
        source = in_transit if order.status == "sent" else outside
        why = "Returned by the bank"
        back = _give_back(world, tenant, payout, source, order.amount, why)
        after = replace(order, status="returned", returned_at=now, returned_transfer_id=back.id)
        payout = replace(payout, returned_amount=payout.returned_amount + order.amount)
        world.payouts.change(payout.id, payout)
    world.orders.change(order.reference, after)
    return _answered(world, tenant, payout)


def _answered(world: World, tenant: Tenant | None, payout: Payout) -> Payout:
    statuses = {each.status for each in orders_of(world, payout)}
    if "sent" in statuses or payout.status == "returned":
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
        needs.paying_out(self.tenant, None)

    def decide(self, world: World) -> Payout | Refusal:
        tenant = self.tenant
        if tenant.mode != "sandbox":
            return refuse("not_found")
        request = RequestPayout(tenant, self.actor)
        due, terms = request._due(world), terms_of(world, tenant)
        if due is None:
            return refuse("service_unavailable")
        refusal = uncovered(due, ledger.available(world, tenant), terms)
        if refusal is not None:
            return refusal
        return _send_in_sandbox(world, tenant, request._pay_out(world, due, terms))


def _send_in_sandbox(world: World, tenant: Tenant, payout: Payout) -> Payout:
    approved = move(world, tenant, payout, "approve")
    order = BankOrder(ids.show_id(ids.PAYOUT, payout.id), payout.id, 1, payout.amount)
    return send(world, tenant, approved, [order], None)


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
        return answer(world, tenant, payout, order, self.action)
