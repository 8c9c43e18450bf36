"""Payment requests as JSON."""

from msgspec import Struct

from laari.rules import ids, records
from laari.rules.calendar import show, show_or_none
from laari.rules.shapes.fields import (
    Amount,
    BillNumber,
    CustomerKind,
    CustomerValue,
    Description,
    Fee,
    NetAmount,
    PaymentReference,
    PaymentRequestId,
    PaymentStatus,
    Reference,
    RequestPaymentId,
    ReturnUrl,
    TerminalLabel,
    Timestamp,
    Title,
)
from laari.rules.shapes.payments import net_amount


class Customer(Struct, frozen=True):
    """The recipient of a payment request."""

    type: CustomerKind
    value: CustomerValue


class PaymentRequest(Struct, frozen=True):
    """A payment requested from a customer, who finds it in the wallet application."""

    id: PaymentRequestId
    reference: Reference
    amount: Amount
    fee: Fee
    net_amount: NetAmount
    title: Title
    description: Description
    terminal_label: TerminalLabel
    bill_number: BillNumber
    status: PaymentStatus
    payment_id: RequestPaymentId
    payment_reference: PaymentReference
    customer: Customer
    return_url: ReturnUrl
    created_at: Timestamp
    paid_at: Timestamp | None
    expires_at: Timestamp
    cancelled_at: Timestamp | None
    rejected_at: Timestamp | None


def request_shape(request: records.PaymentRequest) -> PaymentRequest:
    payment_id = request.payment_id
    return PaymentRequest(
        id=ids.show_id(ids.PAYMENT_REQUEST, request.id),
        reference=request.reference,
        amount=request.amount,
        fee=request.fee,
        net_amount=net_amount(request),
        title=request.title,
        description=request.description,
        terminal_label=request.terminal_label,
        bill_number=request.bill_number,
        status=request.status,
        payment_id=None if payment_id is None else ids.show_id(ids.PAYMENT, payment_id),
        payment_reference=request.payment_reference,
        customer=Customer(request.customer_type, request.customer_value),
        return_url=request.return_url,
        created_at=show(request.created_at),
        paid_at=show_or_none(request.paid_at),
        expires_at=show(request.expires_at),
        cancelled_at=show_or_none(request.cancelled_at),
        rejected_at=show_or_none(request.rejected_at),
    )
