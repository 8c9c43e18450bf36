"""Payments as JSON."""

from msgspec import Raw, Struct

from laari.rules import ids
from laari.rules.calendar import show, show_or_none
from laari.rules.records import payments
from laari.rules.shapes import fields


class AuthorizationPayment(Struct, frozen=True):
    """A payment made by charging an authorization."""

    id: fields.PaymentId
    reference: fields.Reference
    amount: fields.Amount
    fee: fields.Fee
    net_amount: fields.NetAmount
    title: fields.Title
    description: fields.Description
    bill_number: fields.BillNumber
    status: fields.PaymentStatus
    payment_reference: fields.PaymentReference
    created_at: fields.Timestamp
    paid_at: fields.Timestamp | None
    metadata: fields.Metadata


class HostedPayment(Struct, frozen=True):
    """A payment with a hosted checkout page, or one made from a payment request."""

    id: fields.PaymentId
    reference: fields.Reference
    amount: fields.Amount
    fee: fields.Fee
    net_amount: fields.NetAmount
    title: fields.Title
    description: fields.Description
    terminal_label: fields.TerminalLabel
    bill_number: fields.BillNumber
    status: fields.PaymentStatus
    payment_url: fields.PaymentUrl
    payment_reference: fields.PaymentReference
    qr_url: fields.QrUrl
    return_url: fields.ReturnUrl
    created_at: fields.Timestamp
    paid_at: fields.Timestamp | None
    expires_at: fields.Timestamp | None
    metadata: fields.Metadata


AnyPayment = HostedPayment | AuthorizationPayment


def net_amount(payment: payments.Payment | payments.PaymentRequest) -> int | None:
    return None if payment.fee is None else payment.amount - payment.fee


def payment_shape(payment: payments.Payment, origin: str) -> AnyPayment:
    if payment.kind == "charge":
        return AuthorizationPayment(
            id=ids.show_id(ids.PAYMENT, payment.id),
            reference=payment.reference,
            amount=payment.amount,
            fee=payment.fee,
            net_amount=net_amount(payment),
            title=payment.title,
            description=payment.description,
            bill_number=payment.bill_number,
            status=payment.status,
            payment_reference=payment.payment_reference,
            created_at=show(payment.created_at),
            paid_at=show_or_none(payment.paid_at),
            metadata=Raw(payment.metadata),
        )
    return HostedPayment(
        id=ids.show_id(ids.PAYMENT, payment.id),
        reference=payment.reference,
        amount=payment.amount,
        fee=payment.fee,
        net_amount=net_amount(payment),
        title=payment.title,
        description=payment.description,
        terminal_label=payment.terminal_label,
        bill_number=payment.bill_number,
        status=payment.status,
        payment_url=f"{origin}/pay/{payment.token}",
        payment_reference=payment.payment_reference,
        qr_url=f"{origin}/merchant/public/qr/{payment.token}",
        return_url=payment.return_url,
        created_at=show(payment.created_at),
        paid_at=show_or_none(payment.paid_at),
        expires_at=show_or_none(payment.expires_at),
        metadata=Raw(payment.metadata),
    )
