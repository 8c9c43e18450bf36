"""Refunds as JSON."""

from msgspec import Raw, Struct

from laari.rules import ids
from laari.rules.calendar import show
from laari.rules.records import payments
from laari.rules.shapes import fields
from laari.rules.shapes.envelopes import to_json
from laari.rules.shapes.payments import payment_shape


class Refund(Struct, frozen=True):
    """A payment, or a part of it, that was returned to the customer."""

    id: fields.RefundId
    payment_id: fields.PaymentId
    amount: fields.RefundAmount
    reason: fields.RefundReason
    note: fields.RefundNote
    created_at: fields.Timestamp


class RefundData(Refund, frozen=True):
    """A refund, with its payment as it was right after the refund."""

    payment: fields.RefundedPayment


def refund_shape(refund: payments.Refund) -> Refund:
    return Refund(*_values(refund))


def refund_with_payment(
    refund: payments.Refund, payment: payments.Payment, origin: str
) -> RefundData:
    return RefundData(*_values(refund), payment=Raw(to_json(payment_shape(payment, origin))))


def _values(
    refund: payments.Refund,
) -> tuple[str, str, int, payments.RefundReason | None, str | None, str]:
    return (
        ids.show_id(ids.REFUND, refund.id),
        ids.show_id(ids.PAYMENT, refund.payment_id),
        refund.amount,
        refund.reason,
        refund.note,
        show(refund.created_at),
    )
