"""Hosted payments: created by the merchant, decided by the customer.

A payment is reserved while an attempt to pay it is being processed: it then neither expires nor
can it be cancelled, and no other attempt may pay it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from laari.rules import ids, ledger
from laari.rules.actors import Payer
from laari.rules.command import TenantCommand
from laari.rules.money import fee_for
from laari.rules.records import Payment, PaymentKind, PaymentRequest, ReferenceClaim, Tenant
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.shapes import emit, payment_shape
from laari.rules.wallets import give_back, take_payment
from laari.rules.world import Needs, World

Asked = TypeVar("Asked", Payment, PaymentRequest)  # of a customer, who pays it or does not

DEFAULT_LIFE = timedelta(hours=24)


def default_deadline(now: datetime) -> datetime:
    """A whole second, like the deadlines merchants send, so that it equals what is shown."""
    return (now + DEFAULT_LIFE).replace(microsecond=0)


def is_overdue(asked: Payment | PaymentRequest, now: datetime) -> bool:
    """Past its deadline and nobody is paying it: due to expire when it is next read."""
    return (
        asked.status == "pending"
        and asked.expires_at is not None
        and asked.expires_at <= now
        and asked.reserved_at is None
    )


def at_rest(asked: Asked | Refusal) -> Asked | Refusal:
    """What may be paid, if no attempt to pay it is being processed."""
    if isinstance(asked, Refusal) or asked.reserved_at is None:
        return asked
    return refuse("payment_conflict", "An attempt to pay is being processed.")


def in_processing(asked: Asked | Refusal) -> Asked | Refusal:
    """What may be paid, if an attempt to pay it is being processed."""
    if isinstance(asked, Refusal) or asked.reserved_at is not None:
        return asked
    return refuse("payment_conflict", "No attempt to pay is being processed.")


def expire(world: World, tenant: Tenant, payment: Payment) -> Payment:
    expired = replace(payment, status="expired")
    world.payments.change(payment.id, expired)
    emit_payment(world, tenant, "payment.expired", expired)
    return expired


def emit_payment(world: World, tenant: Tenant, event_type: str, payment: Payment) -> None:
    emit(world, tenant, event_type, payment.id, payment_shape(payment, world.origin))


class PaymentDraft(Struct, frozen=True):
    """What a merchant asks for, its fields already checked."""

    reference: str
    amount: int
    title: str | None = None
    description: str | None = None
    terminal_label: str | None = None
    bill_number: str | None = None
    return_url: str | None = None
    expires_at: datetime | None = None
    metadata: str = "{}"


def new_payment(
    tenant: Tenant,
    kind: PaymentKind,
    draft: PaymentDraft,
    now: datetime,
    *,
    expires_at: datetime | None = None,
    request_id: UUID | None = None,
    authorization_id: UUID | None = None,
) -> Payment:
    """A payment of any kind as it begins: nobody has paid it yet."""
    return Payment(
        id=ids.new_id(),
        tenant_id=tenant.id,
        kind=kind,
        token=ids.new_token(),
        reference=draft.reference,
        amount=draft.amount,
        title=draft.title,
        description=draft.description,
        terminal_label=draft.terminal_label,
        bill_number=draft.bill_number,
        return_url=draft.return_url,
        metadata=draft.metadata,
        created_at=now,
        expires_at=expires_at,
        request_id=request_id,
        authorization_id=authorization_id,
        status="pending",
        fee=None,
        paid_at=None,
        payment_reference=None,
        payer_account=None,
        reserved_at=None,
        reserved_by=None,
        cancelled_at=None,
        rejected_at=None,
        refunded_at=None,
    )


@dataclass(frozen=True, slots=True)
class CreatePayment(TenantCommand[Payment]):
    tenant: Tenant
    draft: PaymentDraft

    def needs(self, needs: Needs) -> None:
        needs.read(World.references, (self.tenant.id, self.draft.reference))

    def decide(self, world: World) -> Payment | Refusal:
        tenant, draft, now = self.tenant, self.draft, world.at(self.tenant)
        claim = world.references.get((tenant.id, draft.reference))
        if claim is not None:
            return self._retry(world, claim)
        if draft.expires_at is not None and draft.expires_at <= now:
            return invalid("expires_at", "expires_at must be in the future.")
        deadline = draft.expires_at or default_deadline(now)
        payment = new_payment(tenant, "hosted", draft, now, expires_at=deadline)
        world.references.add(
            (tenant.id, draft.reference),
            ReferenceClaim(tenant.id, draft.reference, "payment", payment.id),
        )
        world.payments.add(payment.id, payment)
        emit_payment(world, tenant, "payment.created", payment)
        return payment

    def _retry(self, world: World, claim: ReferenceClaim) -> Payment | Refusal:
        if claim.kind != "payment":
            return refuse("reference_conflict")
        original = world.payments.get(claim.resource_id)
        assert original is not None
        if original.amount != self.draft.amount:
            return refuse("reference_conflict")
        return original


@dataclass(frozen=True, slots=True)
class OnePayment(TenantCommand[Payment]):
    """A command about one payment of the tenant's, locked."""

    tenant: Tenant
    payment_id: UUID

    def needs(self, needs: Needs) -> None:
        needs.lock(World.payments, self.payment_id)

    def busy(self) -> Refusal:
        return refuse("payment_conflict")

    def find(self, world: World) -> Payment | None:
        payment = world.payments.get(self.payment_id)
        return payment if payment is not None and payment.tenant_id == self.tenant.id else None


class CancelPayment(OnePayment):
    def decide(self, world: World) -> Payment | Refusal:
        payment = self.find(world)
        if payment is None:
            return refuse("not_found")
        if payment.status == "cancelled":
            return payment
        if payment.status != "pending":
            return refuse("payment_not_cancellable")
        if payment.reserved_at is not None:
            return refuse("payment_conflict", "An attempt to pay is being processed.")
        cancelled = replace(payment, status="cancelled", cancelled_at=world.at(self.tenant))
        world.payments.change(payment.id, cancelled)
        emit_payment(world, self.tenant, "payment.cancelled", cancelled)
        return cancelled


class ExpirePayment(OnePayment):
    """Expires the payment if it is overdue; answers it as it then is."""

    def decide(self, world: World) -> Payment | Refusal:
        payment = self.find(world)
        if payment is None:
            return refuse("not_found")
        if is_overdue(payment, world.at(self.tenant)):
            return expire(world, self.tenant, payment)
        return payment


@dataclass(frozen=True, slots=True)
class PayerCommand(OnePayment):
    """A command of a customer about one payment; it does not exist for one of the other mode."""

    payer: Payer

    def needs(self, needs: Needs) -> None:
        needs.lock(World.payments, self.payment_id)
        needs.read(World.wallets, self.payer.account)

    def find(self, world: World) -> Payment | None:
        return OnePayment.find(self, world) if world.knows(self.tenant, self.payer) else None

    def payable(self, world: World) -> Payment | Refusal:
        """The payment, if this account may pay it now."""
        payment = self.find(world)
        if payment is None:
            return refuse("not_found")
        if payment.status != "pending":
            return refuse("payment_conflict", f"The payment is {payment.status}.")
        if payment.reserved_at is not None and payment.reserved_by != self.payer.account:
            return refuse("payment_conflict", "Another attempt to pay is being processed.")
        if is_overdue(payment, world.at(self.tenant)):
            return refuse("payment_conflict", "The payment has expired.")
        return payment


class PayPayment(PayerCommand):
    def needs(self, needs: Needs) -> None:
        needs.lock(World.merchants, self.tenant.merchant_id)
        needs.lock(World.payments, self.payment_id)
        needs.spending(self.tenant, self.payer.account)

    def decide(self, world: World) -> Payment | Refusal:
        payment = self.payable(world)
        if isinstance(payment, Refusal):
            return payment
        tid = not_taking(world, self.tenant) or take_payment(
            world,
            self.tenant,
            self.payer.account,
            payment.amount,
            payment.title or payment.reference,
        )
        if isinstance(tid, Refusal):
            if payment.reserved_at is not None:  # the attempt has ended
                world.payments.change(
                    payment.id, replace(payment, reserved_at=None, reserved_by=None)
                )
            return tid
        paid = settle(world, self.tenant, payment, self.payer.account, tid)
        world.payments.change(paid.id, paid)
        emit_payment(world, self.tenant, "payment.paid", paid)
        return paid


def not_taking(world: World, tenant: Tenant) -> Refusal | None:
    """Why nobody can pay this merchant now, if so."""
    if world.is_active(tenant):
        return None
    return refuse("payment_conflict", "The merchant is not taking payments.")


def settle(world: World, tenant: Tenant, payment: Payment, account: int, tid: str) -> Payment:
    """Books a payment whose amount has left the payer's wallet, and answers it paid."""
    now, wallet = world.at(tenant), world.wallets.get(account)
    assert wallet is not None
    fee = fee_for(payment.amount, tenant.fee_bps, tenant.fee_fixed)
    payer, merchant = ledger.wallet_account(wallet), ledger.merchant_account(tenant)
    ledger.transfer(
        world, "payment", payer, merchant, payment.amount, tid, now, payment_id=payment.id
    )
    if fee:
        fees = ledger.fee_account(tenant.mode)
        ledger.transfer(world, "fee", merchant, fees, fee, tid, now, payment_id=payment.id)
    return replace(
        payment,
        status="paid",
        fee=fee,
        paid_at=now,
        payment_reference=tid,
        payer_account=account,
        reserved_at=None,
        reserved_by=None,
    )


class RejectPayment(PayerCommand):
    """The customer declines: final, without an event."""

    def decide(self, world: World) -> Payment | Refusal:
        payment = at_rest(self.payable(world))
        if isinstance(payment, Refusal):
            return payment
        rejected = replace(payment, status="rejected", rejected_at=world.at(self.tenant))
        world.payments.change(payment.id, rejected)
        return rejected


class ReservePayment(PayerCommand):
    """An attempt to pay starts and stays in processing."""

    def needs(self, needs: Needs) -> None:
        PayerCommand.needs(self, needs)
        needs.lock(World.merchants, self.tenant.merchant_id)

    def decide(self, world: World) -> Payment | Refusal:
        payment = self.payable(world)
        if isinstance(payment, Refusal):
            return payment
        refusal = not_taking(world, self.tenant)
        if refusal is not None:
            return refusal
        if payment.reserved_at is not None:
            return refuse("payment_conflict", "An attempt to pay is being processed.")
        reserved = replace(
            payment, reserved_at=world.at(self.tenant), reserved_by=self.payer.account
        )
        world.payments.change(payment.id, reserved)
        return reserved


class ReleasePayment(PayerCommand):
    """The attempt in processing is given up."""

    def decide(self, world: World) -> Payment | Refusal:
        payment = in_processing(self.payable(world))
        if isinstance(payment, Refusal):
            return payment
        released = replace(payment, reserved_at=None, reserved_by=None)
        world.payments.change(payment.id, released)
        return released


class RefundPayment(OnePayment):
    """Gives the whole amount back to the payer; the fee stays with the service.

    The request that the payment was made from becomes refunded with it.
    """

    def needs(self, needs: Needs) -> None:
        needs.refunding(self.payment_id)

    def decide(self, world: World) -> Payment | Refusal:
        payment = self.find(world)
        if payment is None:
            return refuse("not_found")
        if payment.status != "paid":
            return refuse("payment_conflict", f"The payment is {payment.status}, not paid.")
        if payment.payer_account is None or not world.same_mode(self.tenant, payment.payer_account):
            return refuse("not_found")
        give_back(world, self.tenant, payment)
        refunded = replace(payment, status="refunded", refunded_at=world.at(self.tenant))
        world.payments.change(payment.id, refunded)
        if payment.request_id is not None:
            request = world.requests.get(payment.request_id)
            assert request is not None
            world.requests.change(request.id, replace(request, status="refunded"))
        return refunded
