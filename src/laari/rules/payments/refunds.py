"""Refunds: a paid payment goes back to the wallet that paid it, in one or several parts.

The fee is not returned. A payment stays paid until all of it is refunded, and so does its request.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, NamedTuple
from uuid import UUID

from msgspec.structs import replace

from laari.rules import ids, ledger
from laari.rules.actors import Actor
from laari.rules.command import TenantCommand
from laari.rules.events import emit
from laari.rules.journal import Act, note_of_tenant
from laari.rules.limits.payments import MOST_REFUNDS, REFUNDABLE_FOR
from laari.rules.money import rufiyaa
from laari.rules.needs import Needs
from laari.rules.payments.payment_commands import PAYMENTS, REQUESTS, move
from laari.rules.people.permissions import Permission, may_not
from laari.rules.records.merchant_funds import MerchantFunds
from laari.rules.records.payments import Payment, Refund, RefundReason
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.shapes.refunds import refund_with_payment
from laari.rules.wallets import refund_to_wallet
from laari.rules.world import World


def left_of(payment: Payment) -> int:
    """The amount of a paid payment that was not refunded yet."""
    return payment.amount - (payment.refunded_amount or 0)


def not_refundable(payment: Payment, count: int, now: datetime) -> Refusal | None:
    """Why no part of this payment can be refunded; `count` is the number of its refunds."""
    paid_at = payment.paid_at
    if payment.status == "refunded":
        return refuse("payment_not_refundable", "All of the payment is refunded already.")
    if payment.status != "paid" or paid_at is None:
        return refuse("payment_not_refundable", f"The payment is {payment.status}, not paid.")
    if now > paid_at + REFUNDABLE_FOR:
        message = f"The payment was paid more than {REFUNDABLE_FOR.days} days ago."
        return refuse("payment_not_refundable", message)
    if count >= MOST_REFUNDS:
        message = f"A payment can have at most {MOST_REFUNDS} refunds."
        return refuse("payment_not_refundable", message)
    return None


def counted_fee(funds: MerchantFunds, payment: Payment) -> MerchantFunds:
    """The funds once this payment counts as refunded: with its first refund, by its whole fee."""
    if payment.refunded_amount is not None:
        return funds
    return replace(funds, refunded_fees=funds.refunded_fees + (payment.fee or 0))


def missing_for(funds: MerchantFunds, available: int, payment: Payment, amount: int) -> int:
    """How much the balance lacks for this refund; 0 if it is covered."""
    return max(0, counted_fee(funds, payment).lowest - (available - amount))


class Refunded(NamedTuple):
    """A refund, and its payment after it."""

    refund: Refund
    payment: Payment


@dataclass(frozen=True, slots=True)
class RefundPayment(TenantCommand[Refunded]):
    """Returns an amount to the payer, or all that is left; without the fee.

    `if_left` is what was left when a person decided: a form that is sent twice refunds once.
    """

    permission: ClassVar[Permission] = "payments.refund"
    tenant: Tenant
    id: UUID
    actor: Actor
    amount: int | None = None
    reason: RefundReason | None = None
    note: str | None = None
    if_left: int | None = None

    def needs(self, needs: Needs) -> None:
        needs.refunding(self.tenant.id, self.id)
        needs.role(self.tenant.merchant_id, self.actor)

    def decide(self, world: World) -> Refunded | Refusal:
        refusal = may_not(world, self.actor, self.tenant.merchant_id, self.permission)
        if refusal is not None:
            return refusal
        amount = self.amount_of(world)
        return amount if isinstance(amount, Refusal) else self.refund(world, amount)

    def amount_of(self, world: World) -> int | Refusal:
        """The amount to refund, if that is possible; changes nothing."""
        payment, now = world.payments.get(self.id), world.at(self.tenant)
        if payment is None or payment.tenant_id != self.tenant.id:
            return refuse("not_found")
        refusal = not_refundable(payment, self._count(world), now)
        if refusal is not None:
            return refusal
        account = payment.payer_account
        if account is None or not world.same_mode(self.tenant, account):
            return refuse("not_found")
        left = left_of(payment)
        if self.if_left not in (None, left):
            message = "The payment was refunded meanwhile. Look at its refunds, and decide again."
            return refuse("payment_conflict", message)
        amount = left if self.amount is None else self.amount
        if amount < 1:
            return invalid("amount", "amount must be at least 1 laari.")
        if amount > left:
            message = f"Only {left} laari (MVR {rufiyaa(left)}) of the payment are left to refund."
            return refuse("refund_exceeds_payment", message)
        funds, available = world.funds[self.tenant.id], ledger.available(world, self.tenant)
        missing = missing_for(funds, available, payment, amount)
        if missing:
            message = (
                f"Your balance lacks {missing} laari (MVR {rufiyaa(missing)}) for this refund."
            )
            return refuse("insufficient_merchant_balance", message)
        return amount

    def _count(self, world: World) -> int:
        """The refunds of this payment, those of this batch included."""
        made = sum(each.payment_id == self.id for each in world.refunds)
        return world.refund_counts.get(self.id, 0) + made

    def refund(self, world: World, amount: int) -> Refunded:
        """Books a refund that is possible."""
        tenant, now, payment = self.tenant, world.at(self.tenant), world.payments[self.id]
        assert payment.payer_account is not None
        wallet, funds = world.wallets[payment.payer_account], world.funds[tenant.id]
        moved = refund_to_wallet(world, tenant, payment, wallet, amount)
        refund = Refund(
            id=world.new_id(),
            tenant_id=tenant.id,
            payment_id=payment.id,
            amount=amount,
            reason=self.reason,
            note=self.note,
            actor_kind=self.actor.kind,
            actor_name=self.actor.name,
            tid=moved.tid,
            created_at=now,
        )
        world.refunds.append(refund)
        world.funds.change(tenant.id, counted_fee(funds, payment))
        refunded = (payment.refunded_amount or 0) + amount
        if refunded < payment.amount:
            after = replace(payment, refunded_amount=refunded)
            world.payments.change(payment.id, after)
        else:
            after = self._finish(world, payment)
        note_of_tenant(
            world,
            Act(self.actor, "payment.refund", self.reason),
            tenant,
            "payment",
            ids.show_id(ids.PAYMENT, payment.id),
            before={"status": payment.status, "refunded_amount": payment.refunded_amount or 0},
            after={"status": after.status, "refunded_amount": refunded},
        )
        shape = refund_with_payment(refund, after, world.origin)
        emit(world, tenant, "payment.refunded", refund.id, shape)
        return Refunded(refund, after)

    def _finish(self, world: World, payment: Payment) -> Payment:
        """All of it is refunded, and so is its request."""
        if payment.request_id is not None:
            request = world.requests[payment.request_id]
            move(REQUESTS, world, self.tenant, request, "refund")
        at = {"refunded_at": world.at(self.tenant), "refunded_amount": payment.amount}
        return move(PAYMENTS, world, self.tenant, payment, "refund", **at)
