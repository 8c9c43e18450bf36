"""Payment requests as JSON."""

from msgspec import Struct

from laari.rules import ids
from laari.rules.calendar import show, show_or_none
from laari.rules.records import payments
from laari.rules.shapes import fields
from laari.rules.shapes.payments import net_amount


class Customer(Struct, frozen=True):
    """The recipient of a payment request."""

    type: fields.CustomerKind
    value: fields.CustomerValue


class PaymentRequest(Struct, frozen=True):
    """A payment requested from a customer, who finds it in the wallet application."""

    id: fields.PaymentRequestId
    reference: fields.Reference
    amount: fields.Amount
    fee: fields.Fee
    net_amount: fields.NetAmount
    title: fields.Title
    description: fields.Description
    terminal_label: fields.TerminalLabel
    bill_number: fields.BillNumber
    status: fields.PaymentStatus
    payment_id: fields.RequestPaymentId
    payment_reference: fields.PaymentReference
    customer: Customer
    return_url: fields.ReturnUrl
    created_at: fields.Timestamp
    paid_at: fields.Timestamp | None
    expires_at: fields.Timestamp
    cancelled_at: fields.Timestamp | None
    rejected_at: fields.Timestamp | None


def request_shape(request: payments.PaymentRequest) -> PaymentRequest:
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
