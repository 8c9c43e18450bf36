"""Payouts as JSON, and the movements that they consist of."""

from collections.abc import Iterable

from msgspec import Struct

from laari.rules import ids
from laari.rules.calendar import show, show_or_none
from laari.rules.records import bank_accounts, payouts
from laari.rules.shapes import fields


class PaidAccount(Struct, frozen=True):
    """The bank account that a payout was sent to."""

    bank: fields.BankCode
    last4: fields.LastDigits


# A sandbox pays out without a bank, and shows what a shop sees in live mode.
SANDBOX_ACCOUNT = PaidAccount("BML", "0000")


class Payout(Struct, frozen=True):
    """Money on its way from the balance to the bank account."""

    id: fields.PayoutId
    number: fields.PayoutNumber
    amount: fields.Amount
    fee: fields.PayoutFee
    status: fields.PayoutStatus
    returned_amount: fields.ReturnedAmount
    cut_off: fields.CutOff
    bank_references: fields.BankReferences
    bank_account: PaidAccount | None
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


def payout_shape(
    payout: payouts.Payout,
    orders: Iterable[payouts.BankOrder],
    accounts: Iterable[bank_accounts.BankAccount],
) -> Payout:
    """`orders` and `accounts` may be those of other payouts too."""
    own = [order for order in orders if order.payout_id == payout.id]
    return Payout(
        id=ids.show_id(ids.PAYOUT, payout.id),
        number=payout.number,
        amount=payout.amount,
        fee=payout.fee,
        status=payout.status,
        returned_amount=payout.returned_amount,
        cut_off=show(payout.cut_off),
        bank_references=[order.reference for order in sorted(own, key=lambda each: each.place)],
        bank_account=_paid_account(payout, accounts),
        created_at=show(payout.created_at),
        sent_at=show_or_none(payout.sent_at),
        settled_at=show_or_none(payout.settled_at),
        returned_at=show_or_none(payout.returned_at),
        cancelled_at=show_or_none(payout.cancelled_at),
    )


def _paid_account(
    payout: payouts.Payout, accounts: Iterable[bank_accounts.BankAccount]
) -> PaidAccount | None:
    if payout.sent_at is None:
        return None
    if payout.bank_account_id is None:
        return SANDBOX_ACCOUNT
    account = next(each for each in accounts if each.id == payout.bank_account_id)
    return PaidAccount(account.bank, account.account_number[-bank_accounts.SHOWN_DIGITS :])


def movement_shape(movement: payouts.PayoutMovement) -> PayoutMovement:
    payment_id, refund_id = movement.payment_id, movement.refund_id
    return PayoutMovement(
        type=movement.type,
        amount=movement.amount,
        payment_id=None if payment_id is None else ids.show_id(ids.PAYMENT, payment_id),
        refund_id=None if refund_id is None else ids.show_id(ids.REFUND, refund_id),
        created_at=show(movement.created_at),
    )
