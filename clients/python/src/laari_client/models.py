"""What the service returns. Fields that this version does not know are kept apart.

Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Dict, List, Literal, Optional, Union

from laari_client._reading import (
    Fields,
    UnknownEvent,
    decimal,
    event_type,
    flag,
    integer,
    listed,
    moment,
    text,
    texts,
)


@dataclass(frozen=True)
class Authorization:
    """A customer's permission to be charged later, within limits."""

    id: str
    # Your name for it.
    reference: str
    title: str
    description: Optional[str]
    type: str
    currency: str
    limits: AuthorizationLimits
    usage: AuthorizationUsage
    status: str
    # The page for the customer's approval. Use it exactly as returned.
    approval_url: str
    approval_expires_at: datetime
    expires_at: Optional[datetime]
    return_url: Optional[str]
    approved_at: Optional[datetime]
    rejected_at: Optional[datetime]
    revoked_at: Optional[datetime]
    last_used_at: Optional[datetime]
    created_at: datetime
    updated_at: datetime
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> Authorization:
        """Reads it from parsed JSON."""
        fields = Fields("Authorization", value)
        return cls(
            id=fields.take("id", text),
            reference=fields.take("reference", text),
            title=fields.take("title", text),
            description=fields.maybe("description", text),
            type=fields.take("type", text),
            currency=fields.take("currency", text),
            limits=fields.take("limits", AuthorizationLimits.from_json),
            usage=fields.take("usage", AuthorizationUsage.from_json),
            status=fields.take("status", text),
            approval_url=fields.take("approval_url", text),
            approval_expires_at=fields.take("approval_expires_at", moment),
            expires_at=fields.maybe("expires_at", moment),
            return_url=fields.maybe("return_url", text),
            approved_at=fields.maybe("approved_at", moment),
            rejected_at=fields.maybe("rejected_at", moment),
            revoked_at=fields.maybe("revoked_at", moment),
            last_used_at=fields.maybe("last_used_at", moment),
            created_at=fields.take("created_at", moment),
            updated_at=fields.take("updated_at", moment),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class AuthorizationEvent:
    """A resource: AuthorizationEvent."""

    # The same in every attempt to deliver it.
    id: str
    type: Literal[
        "authorization.created",
        "authorization.approved",
        "authorization.rejected",
        "authorization.cancelled",
        "authorization.revoked",
    ]
    payload_version: int
    mode: str
    # In UTC.
    created_at: datetime
    data: Authorization
    delivery: Optional[EventDelivery]
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> AuthorizationEvent:
        """Reads it from parsed JSON."""
        fields = Fields("AuthorizationEvent", value)
        return cls(
            id=fields.take("id", text),
            type=fields.take("type", event_type),
            payload_version=fields.take("payload_version", integer),
            mode=fields.take("mode", text),
            created_at=fields.take("created_at", moment),
            data=fields.take("data", Authorization.from_json),
            delivery=fields.maybe("delivery", EventDelivery.from_json),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class AuthorizationLimits:
    """All of them apply together."""

    # In laari; null is no limit of this kind.
    per_payment: Optional[int]
    period: Optional[PeriodLimit]
    # In laari; null is no limit of this kind.
    total: Optional[int]
    # Number of payments; null is no limit.
    max_payments: Optional[int]
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> AuthorizationLimits:
        """Reads it from parsed JSON."""
        fields = Fields("AuthorizationLimits", value)
        return cls(
            per_payment=fields.maybe("per_payment", integer),
            period=fields.maybe("period", PeriodLimit.from_json),
            total=fields.maybe("total", integer),
            max_payments=fields.maybe("max_payments", integer),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class AuthorizationUsage:
    """Lifetime usage of the authorization; refunds do not reduce it."""

    payment_count: int
    # In laari.
    total_paid: int
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> AuthorizationUsage:
        """Reads it from parsed JSON."""
        fields = Fields("AuthorizationUsage", value)
        return cls(
            payment_count=fields.take("payment_count", integer),
            total_paid=fields.take("total_paid", integer),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class ChargePreview:
    """The result of a new charge now, without the customer's private balance and wallet limits."""

    # In laari.
    amount: int
    would_succeed: bool
    code: Optional[str]
    message: Optional[str]
    remaining: RemainingLimits
    period_resets_at: Optional[datetime]
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> ChargePreview:
        """Reads it from parsed JSON."""
        fields = Fields("ChargePreview", value)
        return cls(
            amount=fields.take("amount", integer),
            would_succeed=fields.take("would_succeed", flag),
            code=fields.maybe("code", text),
            message=fields.maybe("message", text),
            remaining=fields.take("remaining", RemainingLimits.from_json),
            period_resets_at=fields.maybe("period_resets_at", moment),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class Customer:
    """The recipient of a payment request."""

    type: str
    # A mobile number as seven digits, an email address, or a VPA's name part.
    value: str
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> Customer:
        """Reads it from parsed JSON."""
        fields = Fields("Customer", value)
        return cls(
            type=fields.take("type", text),
            value=fields.take("value", text),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class EventDelivery:
    """The delivery of the event; `next_attempt_at` only while it is pending."""

    status: str
    attempts: int
    next_attempt_at: Optional[datetime]
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> EventDelivery:
        """Reads it from parsed JSON."""
        fields = Fields("EventDelivery", value)
        return cls(
            status=fields.take("status", text),
            attempts=fields.take("attempts", integer),
            next_attempt_at=fields.maybe("next_attempt_at", moment),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class MerchantBalance:
    """A merchant's money in one mode, in laari."""

    # Can be refunded or paid out; may be negative.
    available: int
    # Held back by the operator.
    held: int
    # Paid out, not confirmed by the bank.
    in_transit: int
    currency: str
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> MerchantBalance:
        """Reads it from parsed JSON."""
        fields = Fields("MerchantBalance", value)
        return cls(
            available=fields.take("available", integer),
            held=fields.take("held", integer),
            in_transit=fields.take("in_transit", integer),
            currency=fields.take("currency", text),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class PaidAccount:
    """The bank account that a payout was sent to."""

    # The code of the bank.
    bank: str
    # The last four digits of the account number.
    last4: str
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> PaidAccount:
        """Reads it from parsed JSON."""
        fields = Fields("PaidAccount", value)
        return cls(
            bank=fields.take("bank", text),
            last4=fields.take("last4", text),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class Payment:
    """HostedPayment: A payment with a hosted checkout page, or one made from a payment request.
    AuthorizationPayment: A payment made by charging an authorization."""

    id: str
    # Your name for it.
    reference: str
    # In laari.
    amount: int
    # In laari; null until paid.
    fee: Optional[int]
    # Amount minus fee; null until paid.
    net_amount: Optional[int]
    title: Optional[str]
    description: Optional[str]
    terminal_label: Optional[str]
    bill_number: Optional[str]
    status: str
    # The checkout page. Use it exactly as returned.
    payment_url: Optional[str]
    # The service's transaction reference.
    payment_reference: Optional[str]
    # A PNG image of the checkout page's address. Use it exactly as returned.
    qr_url: Optional[str]
    return_url: Optional[str]
    created_at: datetime
    paid_at: Optional[datetime]
    expires_at: Optional[datetime]
    # The strings sent with the payment.
    metadata: Dict[str, str]
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> Payment:
        """Reads it from parsed JSON."""
        fields = Fields("Payment", value)
        return cls(
            id=fields.take("id", text),
            reference=fields.take("reference", text),
            amount=fields.take("amount", integer),
            fee=fields.maybe("fee", integer),
            net_amount=fields.maybe("net_amount", integer),
            title=fields.maybe("title", text),
            description=fields.maybe("description", text),
            terminal_label=fields.maybe("terminal_label", text),
            bill_number=fields.maybe("bill_number", text),
            status=fields.take("status", text),
            payment_url=fields.maybe("payment_url", text),
            payment_reference=fields.maybe("payment_reference", text),
            qr_url=fields.maybe("qr_url", text),
            return_url=fields.maybe("return_url", text),
            created_at=fields.take("created_at", moment),
            paid_at=fields.maybe("paid_at", moment),
            expires_at=fields.maybe("expires_at", moment),
            metadata=fields.take("metadata", texts),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class PaymentEvent:
    """A resource: PaymentEvent."""

    # The same in every attempt to deliver it.
    id: str
    type: Literal["payment.created", "payment.paid", "payment.cancelled", "payment.expired"]
    payload_version: int
    mode: str
    # In UTC.
    created_at: datetime
    data: Payment
    delivery: Optional[EventDelivery]
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> PaymentEvent:
        """Reads it from parsed JSON."""
        fields = Fields("PaymentEvent", value)
        return cls(
            id=fields.take("id", text),
            type=fields.take("type", event_type),
            payload_version=fields.take("payload_version", integer),
            mode=fields.take("mode", text),
            created_at=fields.take("created_at", moment),
            data=fields.take("data", read_payment),
            delivery=fields.maybe("delivery", EventDelivery.from_json),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class PaymentRequest:
    """A payment requested from a customer, who finds it in the wallet application."""

    id: str
    # Your name for it.
    reference: str
    # In laari.
    amount: int
    # In laari; null until paid.
    fee: Optional[int]
    # Amount minus fee; null until paid.
    net_amount: Optional[int]
    title: Optional[str]
    description: Optional[str]
    terminal_label: Optional[str]
    bill_number: Optional[str]
    status: str
    # The payment made from it; null until paid.
    payment_id: Optional[str]
    # The service's transaction reference.
    payment_reference: Optional[str]
    customer: Customer
    return_url: Optional[str]
    created_at: datetime
    paid_at: Optional[datetime]
    expires_at: datetime
    cancelled_at: Optional[datetime]
    rejected_at: Optional[datetime]
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> PaymentRequest:
        """Reads it from parsed JSON."""
        fields = Fields("PaymentRequest", value)
        return cls(
            id=fields.take("id", text),
            reference=fields.take("reference", text),
            amount=fields.take("amount", integer),
            fee=fields.maybe("fee", integer),
            net_amount=fields.maybe("net_amount", integer),
            title=fields.maybe("title", text),
            description=fields.maybe("description", text),
            terminal_label=fields.maybe("terminal_label", text),
            bill_number=fields.maybe("bill_number", text),
            status=fields.take("status", text),
            payment_id=fields.maybe("payment_id", text),
            payment_reference=fields.maybe("payment_reference", text),
            customer=fields.take("customer", Customer.from_json),
            return_url=fields.maybe("return_url", text),
            created_at=fields.take("created_at", moment),
            paid_at=fields.maybe("paid_at", moment),
            expires_at=fields.take("expires_at", moment),
            cancelled_at=fields.maybe("cancelled_at", moment),
            rejected_at=fields.maybe("rejected_at", moment),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class PaymentRequestEvent:
    """A resource: PaymentRequestEvent."""

    # The same in every attempt to deliver it.
    id: str
    type: Literal[
        "payment_request.created",
        "payment_request.paid",
        "payment_request.rejected",
        "payment_request.cancelled",
        "payment_request.expired",
    ]
    payload_version: int
    mode: str
    # In UTC.
    created_at: datetime
    data: PaymentRequest
    delivery: Optional[EventDelivery]
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> PaymentRequestEvent:
        """Reads it from parsed JSON."""
        fields = Fields("PaymentRequestEvent", value)
        return cls(
            id=fields.take("id", text),
            type=fields.take("type", event_type),
            payload_version=fields.take("payload_version", integer),
            mode=fields.take("mode", text),
            created_at=fields.take("created_at", moment),
            data=fields.take("data", PaymentRequest.from_json),
            delivery=fields.maybe("delivery", EventDelivery.from_json),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class Payout:
    """Money on its way from the balance to the bank account."""

    id: str
    # Among your payouts, from 1.
    number: int
    # In laari.
    amount: int
    # In laari; one of the movements of the payout.
    fee: int
    status: str
    # In laari: the part that the bank returned.
    returned_amount: int
    # The movements of the payout are from before this time.
    cut_off: datetime
    # The references of its orders on the bank's statement; empty until it is sent.
    bank_references: List[str]
    bank_account: Optional[PaidAccount]
    created_at: datetime
    sent_at: Optional[datetime]
    settled_at: Optional[datetime]
    returned_at: Optional[datetime]
    cancelled_at: Optional[datetime]
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> Payout:
        """Reads it from parsed JSON."""
        fields = Fields("Payout", value)
        return cls(
            id=fields.take("id", text),
            number=fields.take("number", integer),
            amount=fields.take("amount", integer),
            fee=fields.take("fee", integer),
            status=fields.take("status", text),
            returned_amount=fields.take("returned_amount", integer),
            cut_off=fields.take("cut_off", moment),
            bank_references=fields.take("bank_references", listed(text)),
            bank_account=fields.maybe("bank_account", PaidAccount.from_json),
            created_at=fields.take("created_at", moment),
            sent_at=fields.maybe("sent_at", moment),
            settled_at=fields.maybe("settled_at", moment),
            returned_at=fields.maybe("returned_at", moment),
            cancelled_at=fields.maybe("cancelled_at", moment),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class PayoutEvent:
    """A resource: PayoutEvent."""

    # The same in every attempt to deliver it.
    id: str
    type: Literal["payout.sent", "payout.settled", "payout.returned"]
    payload_version: int
    mode: str
    # In UTC.
    created_at: datetime
    data: Payout
    delivery: Optional[EventDelivery]
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> PayoutEvent:
        """Reads it from parsed JSON."""
        fields = Fields("PayoutEvent", value)
        return cls(
            id=fields.take("id", text),
            type=fields.take("type", event_type),
            payload_version=fields.take("payload_version", integer),
            mode=fields.take("mode", text),
            created_at=fields.take("created_at", moment),
            data=fields.take("data", Payout.from_json),
            delivery=fields.maybe("delivery", EventDelivery.from_json),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class PayoutMovement:
    """A change of the balance that belongs to a payout."""

    type: str
    # In laari; negative if the balance fell.
    amount: int
    # Of a payment, its fee or its refund.
    payment_id: Optional[str]
    # Of a refund.
    refund_id: Optional[str]
    created_at: datetime
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> PayoutMovement:
        """Reads it from parsed JSON."""
        fields = Fields("PayoutMovement", value)
        return cls(
            type=fields.take("type", text),
            amount=fields.take("amount", integer),
            payment_id=fields.maybe("payment_id", text),
            refund_id=fields.maybe("refund_id", text),
            created_at=fields.take("created_at", moment),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class PeriodLimit:
    """A limit for each calendar period of Maldives time; without an amount it has no effect."""

    interval: str
    # In laari; null is no limit of this kind.
    amount: Optional[int]
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> PeriodLimit:
        """Reads it from parsed JSON."""
        fields = Fields("PeriodLimit", value)
        return cls(
            interval=fields.take("interval", text),
            amount=fields.maybe("amount", integer),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class Refund:
    """A payment, or a part of it, that was returned to the customer."""

    id: str
    payment_id: str
    # In laari.
    amount: int
    reason: Optional[str]
    # For you; the customer does not see it.
    note: Optional[str]
    created_at: datetime
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> Refund:
        """Reads it from parsed JSON."""
        fields = Fields("Refund", value)
        return cls(
            id=fields.take("id", text),
            payment_id=fields.take("payment_id", text),
            amount=fields.take("amount", integer),
            reason=fields.maybe("reason", text),
            note=fields.maybe("note", text),
            created_at=fields.take("created_at", moment),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class RefundData:
    """A refund, with its payment as it was right after the refund."""

    id: str
    payment_id: str
    # In laari.
    amount: int
    reason: Optional[str]
    # For you; the customer does not see it.
    note: Optional[str]
    created_at: datetime
    payment: Payment
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> RefundData:
        """Reads it from parsed JSON."""
        fields = Fields("RefundData", value)
        return cls(
            id=fields.take("id", text),
            payment_id=fields.take("payment_id", text),
            amount=fields.take("amount", integer),
            reason=fields.maybe("reason", text),
            note=fields.maybe("note", text),
            created_at=fields.take("created_at", moment),
            payment=fields.take("payment", read_payment),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class RefundEvent:
    """A resource: RefundEvent."""

    # The same in every attempt to deliver it.
    id: str
    type: Literal["payment.refunded"]
    payload_version: int
    mode: str
    # In UTC.
    created_at: datetime
    data: RefundData
    delivery: Optional[EventDelivery]
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> RefundEvent:
        """Reads it from parsed JSON."""
        fields = Fields("RefundEvent", value)
        return cls(
            id=fields.take("id", text),
            type=fields.take("type", event_type),
            payload_version=fields.take("payload_version", integer),
            mode=fields.take("mode", text),
            created_at=fields.take("created_at", moment),
            data=fields.take("data", RefundData.from_json),
            delivery=fields.maybe("delivery", EventDelivery.from_json),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class Remaining:
    """The amount that can still be spent, never below 0; null if there is no limit."""

    # In MVR, exact.
    daily: Optional[Decimal]
    # In MVR, exact.
    weekly: Optional[Decimal]
    # In MVR, exact.
    monthly: Optional[Decimal]
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> Remaining:
        """Reads it from parsed JSON."""
        fields = Fields("Remaining", value)
        return cls(
            daily=fields.maybe("daily", decimal),
            weekly=fields.maybe("weekly", decimal),
            monthly=fields.maybe("monthly", decimal),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class RemainingLimits:
    """The rest of each limit."""

    # In laari; null is no limit of this kind.
    per_payment: Optional[int]
    # In laari; null is no limit of this kind.
    period: Optional[int]
    # In laari; null is no limit of this kind.
    total: Optional[int]
    # Number of payments; null is no limit.
    payments: Optional[int]
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> RemainingLimits:
        """Reads it from parsed JSON."""
        fields = Fields("RemainingLimits", value)
        return cls(
            per_payment=fields.maybe("per_payment", integer),
            period=fields.maybe("period", integer),
            total=fields.maybe("total", integer),
            payments=fields.maybe("payments", integer),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class ResetAt:
    """A resource: ResetAt."""

    daily: datetime
    weekly: datetime
    monthly: datetime
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> ResetAt:
        """Reads it from parsed JSON."""
        fields = Fields("ResetAt", value)
        return cls(
            daily=fields.take("daily", moment),
            weekly=fields.take("weekly", moment),
            monthly=fields.take("monthly", moment),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class SampleData:
    """The data of a sample, instead of a resource."""

    message: str
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> SampleData:
        """Reads it from parsed JSON."""
        fields = Fields("SampleData", value)
        return cls(
            message=fields.take("message", text),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class SampleEvent:
    """A resource: SampleEvent."""

    # The same in every attempt to deliver it.
    id: str
    type: Literal["webhook.test"]
    payload_version: int
    mode: str
    # In UTC.
    created_at: datetime
    data: SampleData
    delivery: Optional[EventDelivery]
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> SampleEvent:
        """Reads it from parsed JSON."""
        fields = Fields("SampleEvent", value)
        return cls(
            id=fields.take("id", text),
            type=fields.take("type", event_type),
            payload_version=fields.take("payload_version", integer),
            mode=fields.take("mode", text),
            created_at=fields.take("created_at", moment),
            data=fields.take("data", SampleData.from_json),
            delivery=fields.maybe("delivery", EventDelivery.from_json),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class SandboxClock:
    """The sandbox's time, and its offset from real time."""

    now: datetime
    offset_seconds: int
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> SandboxClock:
        """Reads it from parsed JSON."""
        fields = Fields("SandboxClock", value)
        return cls(
            now=fields.take("now", moment),
            offset_seconds=fields.take("offset_seconds", integer),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class SandboxWallet:
    """The merchant's sandbox customer: balance in laari, tier, and key of the wallet interface."""

    balance: int
    tier: str
    api_key: str = field(repr=False)
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> SandboxWallet:
        """Reads it from parsed JSON."""
        fields = Fields("SandboxWallet", value)
        return cls(
            balance=fields.take("balance", integer),
            tier=fields.take("tier", text),
            api_key=fields.take("api_key", text),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class Spent:
    """A resource: Spent."""

    # In MVR, exact.
    daily: Decimal
    # In MVR, exact.
    weekly: Decimal
    # In MVR, exact.
    monthly: Decimal
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> Spent:
        """Reads it from parsed JSON."""
        fields = Fields("Spent", value)
        return cls(
            daily=fields.take("daily", decimal),
            weekly=fields.take("weekly", decimal),
            monthly=fields.take("monthly", decimal),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class TierLimits:
    """The limits of the tier; null is no limit."""

    # In MVR, exact.
    per_transaction: Optional[Decimal]
    # In MVR, exact.
    daily: Optional[Decimal]
    # In MVR, exact.
    weekly: Optional[Decimal]
    # In MVR, exact.
    monthly: Optional[Decimal]
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> TierLimits:
        """Reads it from parsed JSON."""
        fields = Fields("TierLimits", value)
        return cls(
            per_transaction=fields.maybe("per_transaction", decimal),
            daily=fields.maybe("daily", decimal),
            weekly=fields.maybe("weekly", decimal),
            monthly=fields.maybe("monthly", decimal),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class Usage:
    """The limits of the wallet's tier, and their current usage."""

    tier: str
    limits: TierLimits
    usage: Spent
    remaining: Remaining
    reset_at: ResetAt
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> Usage:
        """Reads it from parsed JSON."""
        fields = Fields("Usage", value)
        return cls(
            tier=fields.take("tier", text),
            limits=fields.take("limits", TierLimits.from_json),
            usage=fields.take("usage", Spent.from_json),
            remaining=fields.take("remaining", Remaining.from_json),
            reset_at=fields.take("reset_at", ResetAt.from_json),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class WalletBalance:
    """A wallet's balance; all of it is available, because there are no holds."""

    account_number: str
    currency: str
    # In MVR, exact.
    ledger_balance: Decimal
    # In MVR, exact.
    available_balance: Decimal
    # In MVR, exact.
    hold_balance: Decimal
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> WalletBalance:
        """Reads it from parsed JSON."""
        fields = Fields("WalletBalance", value)
        return cls(
            account_number=fields.take("account_number", text),
            currency=fields.take("currency", text),
            ledger_balance=fields.take("ledger_balance", decimal),
            available_balance=fields.take("available_balance", decimal),
            hold_balance=fields.take("hold_balance", decimal),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class WalletTransaction:
    """A line of the history; a failed transaction moved no money."""

    tid: str
    time: datetime
    type: str
    name: str
    details: str
    # In MVR, exact.
    amount: Decimal
    status: str
    unknown_fields: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: Any) -> WalletTransaction:
        """Reads it from parsed JSON."""
        fields = Fields("WalletTransaction", value)
        return cls(
            tid=fields.take("tid", text),
            time=fields.take("time", moment),
            type=fields.take("type", text),
            name=fields.take("name", text),
            details=fields.take("details", text),
            amount=fields.take("amount", decimal),
            status=fields.take("status", text),
            unknown_fields=fields.rest(),
        )


Event = Union[
    AuthorizationEvent,
    PaymentEvent,
    PaymentRequestEvent,
    PayoutEvent,
    RefundEvent,
    SampleEvent,
    UnknownEvent,
]

_EVENT_TYPES: Dict[str, Any] = {
    "payment.created": PaymentEvent.from_json,
    "payment.paid": PaymentEvent.from_json,
    "payment.cancelled": PaymentEvent.from_json,
    "payment.expired": PaymentEvent.from_json,
    "payment.refunded": RefundEvent.from_json,
    "payment_request.created": PaymentRequestEvent.from_json,
    "payment_request.paid": PaymentRequestEvent.from_json,
    "payment_request.rejected": PaymentRequestEvent.from_json,
    "payment_request.cancelled": PaymentRequestEvent.from_json,
    "payment_request.expired": PaymentRequestEvent.from_json,
    "authorization.created": AuthorizationEvent.from_json,
    "authorization.approved": AuthorizationEvent.from_json,
    "authorization.rejected": AuthorizationEvent.from_json,
    "authorization.cancelled": AuthorizationEvent.from_json,
    "authorization.revoked": AuthorizationEvent.from_json,
    "payout.sent": PayoutEvent.from_json,
    "payout.settled": PayoutEvent.from_json,
    "payout.returned": PayoutEvent.from_json,
    "webhook.test": SampleEvent.from_json,
}


def read_event(value: Any) -> Event:
    """One of them by its `type`; of a type that is new, an `UnknownEvent`."""
    kind = Fields("Event", value).take("type", text)
    read = _EVENT_TYPES.get(kind, UnknownEvent.from_json)
    event: Event = read(value)
    return event


@dataclass(frozen=True)
class AuthorizationPayment(Payment):
    """A payment made by charging an authorization."""

    @classmethod
    def from_json(cls, value: Any) -> AuthorizationPayment:
        """Reads it from parsed JSON."""
        fields = Fields("AuthorizationPayment", value)
        return cls(
            id=fields.take("id", text),
            reference=fields.take("reference", text),
            amount=fields.take("amount", integer),
            fee=fields.maybe("fee", integer),
            net_amount=fields.maybe("net_amount", integer),
            title=fields.maybe("title", text),
            description=fields.maybe("description", text),
            terminal_label=None,
            bill_number=fields.maybe("bill_number", text),
            status=fields.take("status", text),
            payment_url=None,
            payment_reference=fields.maybe("payment_reference", text),
            qr_url=None,
            return_url=None,
            created_at=fields.take("created_at", moment),
            paid_at=fields.maybe("paid_at", moment),
            expires_at=None,
            metadata=fields.take("metadata", texts),
            unknown_fields=fields.rest(),
        )


@dataclass(frozen=True)
class HostedPayment(Payment):
    """A payment with a hosted checkout page, or one made from a payment request."""

    # The checkout page. Use it exactly as returned.
    payment_url: str
    # A PNG image of the checkout page's address. Use it exactly as returned.
    qr_url: str

    @classmethod
    def from_json(cls, value: Any) -> HostedPayment:
        """Reads it from parsed JSON."""
        fields = Fields("HostedPayment", value)
        return cls(
            id=fields.take("id", text),
            reference=fields.take("reference", text),
            amount=fields.take("amount", integer),
            fee=fields.maybe("fee", integer),
            net_amount=fields.maybe("net_amount", integer),
            title=fields.maybe("title", text),
            description=fields.maybe("description", text),
            terminal_label=fields.maybe("terminal_label", text),
            bill_number=fields.maybe("bill_number", text),
            status=fields.take("status", text),
            payment_url=fields.take("payment_url", text),
            payment_reference=fields.maybe("payment_reference", text),
            qr_url=fields.take("qr_url", text),
            return_url=fields.maybe("return_url", text),
            created_at=fields.take("created_at", moment),
            paid_at=fields.maybe("paid_at", moment),
            expires_at=fields.maybe("expires_at", moment),
            metadata=fields.take("metadata", texts),
            unknown_fields=fields.rest(),
        )


def read_payment(value: Any) -> Payment:
    """As the shape that it has."""
    names = set(value) if isinstance(value, dict) else set()
    if {"expires_at", "payment_url", "qr_url", "return_url", "terminal_label"} <= names:
        return HostedPayment.from_json(value)
    return AuthorizationPayment.from_json(value)


__all__ = [
    "Authorization",
    "AuthorizationEvent",
    "AuthorizationLimits",
    "AuthorizationPayment",
    "AuthorizationUsage",
    "ChargePreview",
    "Customer",
    "Event",
    "EventDelivery",
    "HostedPayment",
    "MerchantBalance",
    "PaidAccount",
    "Payment",
    "PaymentEvent",
    "PaymentRequest",
    "PaymentRequestEvent",
    "Payout",
    "PayoutEvent",
    "PayoutMovement",
    "PeriodLimit",
    "Refund",
    "RefundData",
    "RefundEvent",
    "Remaining",
    "RemainingLimits",
    "ResetAt",
    "SampleData",
    "SampleEvent",
    "SandboxClock",
    "SandboxWallet",
    "Spent",
    "TierLimits",
    "UnknownEvent",
    "Usage",
    "WalletBalance",
    "WalletTransaction",
]
