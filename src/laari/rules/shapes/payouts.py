"""Payouts as JSON, and the movements that they consist of."""

from msgspec import Struct

from laari.rules import ids, records
from laari.rules.calendar import show, show_or_none
from laari.rules.shapes import fields


class Payout(Struct, frozen=True):
    """Money on its way from the balance to the bank account."""

    id: fields.PayoutId
    amount: fields.Amount
    fee: fields.PayoutFee
    status: fields.PayoutStatus
    returned_amount: fields.ReturnedAmount
    cut_off: fields.CutOff
    created_at: fields.Timestamp
    sent_at: fields.Timestamp | None
    settled_at: fields.Timestamp | None
    returned_at: fields.Timestamp | None
    cancelled_at: fields.Timestamp | None


class PayoutMovement(Struct, frozen=True):
    """A change of the balance that belongs to a payout."""

    type: fields.MovementType
    amount: fields.SignedAmount
    payment_id: fields.MovementPaymentId
    refund_id: fields.MovementRefundId
    created_at: fields.Timestamp


def payout_shape(payout: records.Payout) -> Payout:
    return Payout(
        id=ids.show_id(ids.PAYOUT, payout.id),
        amount=payout.amount,
        fee=payout.fee,
        status=payout.status,
        returned_amount=payout.returned_amount,
        cut_off=show(payout.cut_off),
        created_at=show(payout.created_at),
        sent_at=show_or_none(payout.sent_at),
        settled_at=show_or_none(payout.settled_at),
        returned_at=show_or_none(payout.returned_at),
        cancelled_at=show_or_none(payout.cancelled_at),
    )


def movement_shape(movement: records.PayoutMovement) -> PayoutMovement:
    payment_id, refund_id = movement.payment_id, movement.refund_id
    return PayoutMovement(
        type=movement.type,
        amount=movement.amount,
        payment_id=None if payment_id is None else ids.show_id(ids.PAYMENT, payment_id),
        refund_id=None if refund_id is None else ids.show_id(ids.REFUND, refund_id),
        created_at=show(movement.created_at),
    )
