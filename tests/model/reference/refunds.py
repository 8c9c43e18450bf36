"""Refunds of payments, whole or in parts, and the merchant's balance."""

from typing import Any

from tests.model.reference import payments, shapes, wallets
from tests.model.reference.answers import Refused
from tests.model.reference.fields import REFUND, read_fields
from tests.model.reference.lists import page
from tests.model.reference.state import Answer, Event, Payment, Refund, State, Tenant
from tests.model.reference.steps import Step
from tests.model.reference.times import DAY

MOST_REFUNDS = 50  # of one payment
REFUNDABLE = 365 * DAY  # after it was paid


def refunds_of(state: State, payment: Payment) -> list[Refund]:
    return [it for it in state.refunds.values() if it.payment == payment.name]


def balance_of(state: State, tenant: Tenant) -> int:
    """What was paid without the fees, minus refunds and payouts: fees are not returned."""
    own = [it for it in state.payments.values() if it.tenant == tenant and it.fee is not None]
    received = sum(it.amount - (it.fee or 0) for it in own)
    left = [it for it in state.payouts.values() if it.status != "returned"]
    gone = [it.amount for it in (*state.refunds.values(), *left) if it.tenant == tenant]
    return received - sum(gone)


def is_covered(state: State, payment: Payment, amount: int) -> bool:
    """The balance may fall below zero by the fees of the payments that were refunded."""
    refunded = {it.payment for it in state.refunds.values() if it.tenant == payment.tenant}
    fees = sum(state.payments[name].fee or 0 for name in {*refunded, payment.name})
    return balance_of(state, payment.tenant) - amount >= -fees


def give_back(step: Step, wanted: dict[str, Any]) -> Refund:
    """The payment stays paid until all of it is refunded, and so does its payment request."""
    payment = payments.find(step)
    earlier = refunds_of(step.state, payment)
    left = payment.amount - sum(it.amount for it in earlier)
    if payment.status != "paid" or len(earlier) >= MOST_REFUNDS:
        raise Refused("payment_not_refundable")
    assert payment.paid_at is not None
    if step.now.earliest >= payment.paid_at.earliest + REFUNDABLE:
        raise Refused("payment_not_refundable")
    amount = wanted.pop("amount", left)
    if amount > left:
        raise Refused("refund_exceeds_payment")
    if not is_covered(step.state, payment, amount):
        raise Refused("insufficient_merchant_balance")
    wallets.give_back(step, payment, amount)
    if amount == left:
        payment = step.keep(payment, status="refunded")
        if payment.request is not None:
            step.keep(step.state.requests[payment.request], status="refunded")
    name = ("refund", step.call.number)
    refund = Refund(name, step.tenant, payment.name, amount, step.now, **wanted)
    step.state.refunds[name] = refund
    data = shapes.refund(refund) | {"payment": shapes.payment(payment)}
    step.state.events += (Event(step.tenant, "payment.refunded", name, step.now, data),)
    return refund


def create(step: Step) -> Answer:
    wanted = read_fields(step.fields, REFUND)
    return Answer(201, {"data": shapes.refund(give_back(step, wanted))})


def on_a_page(step: Step) -> Answer:
    """All that is left."""
    give_back(step, {})
    return Answer(200)


def get(step: Step) -> Answer:
    assert step.call.subject is not None
    refund = step.state.refunds.get(step.call.subject)
    if refund is None or refund.tenant != step.tenant:
        raise Refused("not_found")
    return Answer(200, {"data": shapes.refund(refund)})


def list_of_payment(step: Step) -> Answer:
    payment = payments.find(step)
    rows = refunds_of(step.state, payment)
    return page(step, ("refunds", payment.name), rows, shapes.refund)


def show_balance(step: Step) -> Answer:
    available = balance_of(step.state, step.tenant)
    own = [it for it in step.state.payouts.values() if it.tenant == step.tenant]
    in_transit = sum(it.amount for it in own if it.status == "sent")
    body = {"available": available, "held": 0, "in_transit": in_transit, "currency": "MVR"}
    return Answer(200, {"data": body})
