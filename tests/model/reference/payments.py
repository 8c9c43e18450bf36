"""Hosted payments, and what payments of every kind have in common."""

from typing import Any

from tests.model.reference import shapes, wallets
from tests.model.reference.answers import Refused
from tests.model.reference.fields import PAYMENT, invalid, read_fields
from tests.model.reference.state import Answer, Payment, Request
from tests.model.reference.steps import Step
from tests.model.reference.times import Deadline, Stamp, has_passed
from tests.model.reference.unknowns import Unknown


def is_overdue(asked: Payment | Request, now: Stamp) -> bool:
    """Past its deadline, and no attempt to pay it is still processing."""
    return asked.status == "pending" and not asked.reserved and has_passed(asked.expires_at, now)


def fee_of(step: Step, amount: int) -> int:
    """A share rounded half up, plus a fixed part, never more than the amount."""
    merchant = step.state.merchants[step.tenant.merchant]
    share = (amount * merchant.fee_bps * 2 + 10_000) // 20_000
    return min(amount, share + merchant.fee_fixed)


def paid(step: Step, payment: Payment, payer: str, tid: Unknown) -> Payment:
    changed: Payment = step.keep(
        payment,
        status="paid",
        fee=fee_of(step, payment.amount),
        paid_at=step.now,
        tid=tid,
        payer=payer,
        reserved=False,
    )
    return changed


def answer(payment: Payment, status: int = 200) -> Answer:
    return Answer(status, {"data": shapes.payment(payment)})


def find(step: Step) -> Payment:
    """A payment of another merchant or mode is not found."""
    assert step.call.subject is not None
    payment = step.state.payments.get(step.call.subject)
    if payment is None or payment.tenant != step.tenant:
        raise Refused("not_found")
    return payment


def create(step: Step) -> Answer:
    wanted = read_fields(step.fields, PAYMENT, ("reference", "amount"))
    slot = (step.tenant, wanted["reference"])
    if slot in step.state.references:
        original = step.state.payments.get(step.state.references[slot])
        if original is None or original.kind != "hosted" or original.amount != wanted["amount"]:
            raise Refused("reference_conflict")
        return answer(original, 201)
    deadline = wanted.pop("expires_at", Deadline(step.now))
    if has_passed(deadline, step.now):
        raise invalid("expires_at")
    name = ("payment", step.call.number)
    payment = step.keep(
        Payment(name, step.tenant, "hosted", created_at=step.now, expires_at=deadline, **wanted)
    )
    step.state.references[slot] = name
    step.emit("payment.created", payment)
    return answer(payment, 201)


def expired_if_overdue(step: Step, payment: Payment) -> Payment:
    """Reading an overdue payment marks it, once."""
    if not is_overdue(payment, step.now):
        return payment
    payment = step.keep(payment, status="expired")
    step.emit("payment.expired", payment, step.about(payment.name))
    return payment


def get(step: Step) -> Answer:
    return answer(expired_if_overdue(step, find(step)))


def cancel(step: Step) -> Answer:
    payment = find(step)
    if payment.status == "cancelled":
        return answer(payment)
    if payment.status != "pending":
        raise Refused("payment_not_cancellable")
    if payment.reserved:
        raise Refused("payment_conflict")
    payment = step.keep(payment, status="cancelled")
    step.emit("payment.cancelled", payment)
    return answer(payment)


def qr(step: Step) -> Answer:
    """An image for as long as the payment can be paid; nobody is asked who they are."""
    assert step.call.subject is not None
    payment = step.state.payments.get(step.call.subject)
    payable = payment is not None and payment.kind == "hosted" and payment.status == "pending"
    if not payable or has_passed(payment.expires_at, step.now):
        raise Refused("not_found")
    return Answer(200)


# What the customer decides.


def payable(step: Step) -> Payment:
    payment = find(step)
    if payment.status != "pending" or is_overdue(payment, step.now):
        raise Refused("payment_conflict")
    return payment


def pay(step: Step, payer: str) -> Answer:
    """An attempt that fails ends its reservation, and leaves the payment pending."""
    payment = payable(step)
    payment = step.keep(payment, reserved=False)
    if not step.state.merchants[step.tenant.merchant].active:
        raise Refused("payment_conflict")
    tid = wallets.take(step, payer, payment.amount, payment.title or payment.reference)
    payment = paid(step, payment, payer, tid)
    step.emit("payment.paid", payment)
    return answer(payment)


def reject(step: Step, payer: str) -> Answer:
    payment = payable(step)
    if payment.reserved:
        raise Refused("payment_conflict")
    return answer(step.keep(payment, status="rejected"))


def reserve(step: Step, payer: str) -> Answer:
    payment = payable(step)
    if payment.reserved:
        raise Refused("payment_conflict")
    return answer(step.keep(payment, reserved=True))


def release(step: Step, payer: str) -> Answer:
    payment = payable(step)
    if not payment.reserved:
        raise Refused("payment_conflict")
    return answer(step.keep(payment, reserved=False))


DECISIONS: dict[str, Any] = {
    "pay": pay,
    "reject": reject,
    "reserve": reserve,
    "release": release,
}
