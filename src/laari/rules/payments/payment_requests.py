"""Payment requests: a merchant requests a payment from one customer, who pays or rejects it.

Paying one creates an ordinary payment; the reference stays claimed by the request.
"""

import math
from dataclasses import asdict, dataclass
from datetime import datetime

from msgspec.structs import replace

from laari.rules import ids
from laari.rules.command import TenantCommand
from laari.rules.messages import RequestContent, emit
from laari.rules.needs import Needs
from laari.rules.payments import references
from laari.rules.payments.payment_commands import (
    PAYMENTS,
    REQUESTS,
    Cancel,
    Expire,
    Pay,
    Reject,
    Release,
    Reserve,
    announce,
    move,
)
from laari.rules.payments.payments import book_payment, default_deadline, new_payment, too_large
from laari.rules.records.payments import CustomerType, PaymentRequest, ReferenceClaim
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import World


@dataclass(frozen=True, slots=True)
class RequestDraft:
    """The fields of a request that the merchant chooses, checked; the customer is normalised."""

    reference: str
    amount: int
    customer_type: CustomerType
    customer_value: str
    title: str | None = None
    description: str | None = None
    terminal_label: str | None = None
    bill_number: str | None = None
    return_url: str | None = None
    expires_at: datetime | None = None

    @property
    def recipient(self) -> tuple[CustomerType, str]:
        """The customer in the form that is compared; `customer_value` keeps an email's case."""
        return self.customer_type, self.customer_value.lower()

    def differences(self, original: PaymentRequest) -> list[str]:
        """The fields in which this differs from the stored request."""
        same = {
            "amount": self.amount == original.amount,
            "customer": self.recipient == (original.customer_type, original.customer_value.lower()),
            "title": self.title == original.title,
            "description": self.description == original.description,
            "terminal_label": self.terminal_label == original.terminal_label,
            "bill_number": self.bill_number == original.bill_number,
            "return_url": self.return_url == original.return_url,
            "expires_at": self.expires_at in (None, original.expires_at),
        }
        return [name for name, is_same in same.items() if not is_same]


@dataclass(frozen=True, slots=True)
class CreateRequest(TenantCommand[PaymentRequest]):
    """Requests a payment; `designated` if the customer is the only one allowed in a sandbox.

    `wait_seconds` is above 0 if the merchant has recently named too many unknown customers.
    """

    tenant: Tenant
    draft: RequestDraft
    designated: bool
    wait_seconds: float = 0.0

    def needs(self, needs: Needs) -> None:
        needs.read(World.references, (self.tenant.id, self.draft.reference))
        if self.tenant.mode == "live":
            needs.read(World.recipients, self.draft.recipient)

    def decide(self, world: World) -> PaymentRequest | Refusal:
        tenant, draft, now = self.tenant, self.draft, world.at(self.tenant)
        claim = world.references.get((tenant.id, draft.reference))
        if claim is not None:
            return self._retry(world, claim)
        if draft.expires_at is not None and draft.expires_at <= now:
            return invalid("expires_at", "expires_at must be in the future.")
        refusal = too_large(tenant, draft.amount)
        if refusal is not None:
            return refusal
        account = self._resolve(world)
        if isinstance(account, Refusal):
            return account
        chosen = asdict(draft) | {"expires_at": draft.expires_at or default_deadline(now)}
        request = PaymentRequest(
            id=world.new_id(), tenant_id=tenant.id, account=account, created_at=now, **chosen
        )
        references.claim(world, tenant, draft.reference, "request", request.id)
        world.requests.add(request.id, request)
        announce(REQUESTS, world, tenant, "payment_request.created", request)
        if tenant.mode == "live":
            content = RequestContent(
                merchant=tenant.merchant_name,
                amount=request.amount,
                title=request.title or request.reference,
                expires_at=request.expires_at,
                link=_link(world, request),
            )
            contact = world.recipients[draft.recipient]
            emit(world, tenant, contact, "payment_request", request.id, content=content)
        return request

    def _retry(self, world: World, claim: ReferenceClaim) -> PaymentRequest | Refusal:
        if claim.kind != "request":
            return references.other_kind(claim, "payment request")
        original = world.requests[claim.resource_id]
        different = self.draft.differences(original)
        return references.differs(claim, *different) if different else original

    def _resolve(self, world: World) -> int | Refusal:
        """The recipient's wallet."""
        if self.tenant.mode == "sandbox":
            if not self.designated:
                return refuse("sandbox_recipient_not_allowed", field="customer.value")
            return self.tenant.sandbox_account
        if self.wait_seconds > 0:
            # Checked before the look-up, or the response would show whether the customer exists.
            return refuse("rate_limited", "Too many unknown recipients; wait and retry.")._replace(
                retry_after=math.ceil(self.wait_seconds)
            )
        contact = world.recipients.get(self.draft.recipient)
        if contact is None:
            return refuse("customer_not_found", field="customer.value")
        return contact.account


def _link(world: World, request: PaymentRequest) -> str:
    """The request's page in the wallet application."""
    return f"{world.origin}/app/requests/{ids.show_id(ids.PAYMENT_REQUEST, request.id)}"


class CancelRequest(Cancel[PaymentRequest]):
    kind = REQUESTS

    def busy(self) -> Refusal:
        return refuse("payment_request_not_cancellable", "An attempt to pay is being processed.")


class ExpireRequest(Expire[PaymentRequest]):
    kind = REQUESTS


class RejectRequest(Reject[PaymentRequest]):
    kind = REQUESTS


class ReserveRequest(Reserve[PaymentRequest]):
    kind = REQUESTS


class ReleaseRequest(Release[PaymentRequest]):
    kind = REQUESTS


class PayRequest(Pay[PaymentRequest]):
    kind = REQUESTS

    def book(self, world: World, payable: PaymentRequest, tid: str) -> PaymentRequest:
        tenant = self.tenant
        made = new_payment(
            world,
            tenant,
            "request",
            payable,
            expires_at=payable.expires_at,
            request_id=payable.id,
        )
        booked = book_payment(world, tenant, made, self.payer.account, tid)
        payment = replace(made, status="paid", **booked)
        world.payments.add(payment.id, payment)
        paid = move(
            REQUESTS,
            world,
            tenant,
            payable,
            "pay",
            fee=payment.fee,
            paid_at=payment.paid_at,
            payment_id=payment.id,
            payment_reference=tid,
            reserved_at=None,
        )
        announce(PAYMENTS, world, tenant, "payment.paid", payment)
        return paid
