"""Hosted payments: a merchant creates them, a customer pays or rejects them.

While an attempt reserves a payment, it cannot expire, be cancelled or be paid by another.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from msgspec import Struct

from laari.rules import ledger
from laari.rules.command import TenantCommand
from laari.rules.limits.payments import PAYMENT_LIFE
from laari.rules.money import rufiyaa
from laari.rules.needs import Needs
from laari.rules.payments import references
from laari.rules.payments.fees import fee_for
from laari.rules.payments.payment_commands import (
    PAYMENTS,
    Cancel,
    Expire,
    Pay,
    Reject,
    Release,
    Reserve,
    announce,
    move,
)
from laari.rules.records.payments import Payment, PaymentKind, PaymentRequest, ReferenceClaim
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal, invalid
from laari.rules.world import World


@lru_cache(maxsize=1)  # all payments of a batch are made at the same moment
def default_deadline(now: datetime) -> datetime:
    """In whole seconds, as deadlines are shown."""
    return (now + PAYMENT_LIFE).replace(microsecond=0)


class PaymentDraft(Struct, frozen=True):
    """A payment as a merchant requests it, its fields already checked."""

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
    world: World,
    tenant: Tenant,
    kind: PaymentKind,
    asked: PaymentDraft | PaymentRequest,
    *,
    expires_at: datetime | None = None,
    metadata: str = "{}",
    request_id: UUID | None = None,
    authorization_id: UUID | None = None,
) -> Payment:
    """A pending payment of any kind."""
    return Payment(
        id=world.new_id(),
        tenant_id=tenant.id,
        kind=kind,
        token=world.new_token(),
        reference=asked.reference,
        amount=asked.amount,
        title=asked.title,
        description=asked.description,
        terminal_label=asked.terminal_label,
        bill_number=asked.bill_number,
        return_url=asked.return_url,
        metadata=metadata,
        created_at=world.at(tenant),
        expires_at=expires_at,
        request_id=request_id,
        authorization_id=authorization_id,
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
        refusal = too_large(tenant, draft.amount)
        if refusal is not None:
            return refusal
        deadline = draft.expires_at or default_deadline(now)
        payment = new_payment(
            world, tenant, "hosted", draft, expires_at=deadline, metadata=draft.metadata
        )
        references.claim(world, tenant, draft.reference, "payment", payment.id)
        world.payments.add(payment.id, payment)
        announce(PAYMENTS, world, tenant, "payment.created", payment)
        return payment

    def _retry(self, world: World, claim: ReferenceClaim) -> Payment | Refusal:
        if claim.kind != "payment":
            return references.other_kind(claim, "hosted payment")
        original = world.payments[claim.resource_id]
        if original.amount != self.draft.amount:
            return references.differs(claim, "amount")
        return original


def too_large(tenant: Tenant, amount: int) -> Refusal | None:
    """A new payment above the operator's limit for the merchant. A retry is not a new payment."""
    if tenant.max_payment is None or amount <= tenant.max_payment:
        return None
    limit = f"MVR {rufiyaa(tenant.max_payment)}"
    return invalid("amount", f"amount must not exceed the limit of this merchant, {limit}.")


def book_payment(
    world: World, tenant: Tenant, payment: Payment, account: int, tid: str
) -> dict[str, object]:
    """Books money that has left the payer's wallet; returns the changed fields of the payment."""
    now = world.at(tenant)
    fee = fee_for(payment.amount, tenant.fee_bps, tenant.fee_fixed)
    payer = ledger.wallet_account(world.wallets[account])
    merchant = ledger.merchant_account(tenant)
    ledger.transfer(
        world,
        "payment",
        payer,
        merchant,
        payment.amount,
        tid=tid,
        created_at=now,
        payment_id=payment.id,
    )
    if fee:
        fees = ledger.fee_account(tenant.mode)
        ledger.transfer(
            world, "fee", merchant, fees, fee, tid=tid, created_at=now, payment_id=payment.id
        )
    return {
        "fee": fee,
        "paid_at": now,
        "payment_reference": tid,
        "payer_account": account,
        "reserved_at": None,
        "reserved_by": None,
    }


class CancelPayment(Cancel[Payment]):
    kind = PAYMENTS


class ExpirePayment(Expire[Payment]):
    kind = PAYMENTS


class RejectPayment(Reject[Payment]):
    kind = PAYMENTS


class ReservePayment(Reserve[Payment]):
    kind = PAYMENTS


class ReleasePayment(Release[Payment]):
    kind = PAYMENTS


class PayPayment(Pay[Payment]):
    kind = PAYMENTS

    def book(self, world: World, payable: Payment, tid: str) -> Payment:
        booked = book_payment(world, self.tenant, payable, self.payer.account, tid)
        return move(PAYMENTS, world, self.tenant, payable, "pay", **booked)
