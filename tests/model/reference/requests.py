"""Payment requests: asked of one customer, who pays or rejects."""

import re
from typing import Any

from tests.model.reference import payments, shapes, wallets
from tests.model.reference.answers import Refused
from tests.model.reference.fields import REQUEST, invalid, read_fields
from tests.model.reference.state import Answer, Payment, Request
from tests.model.reference.steps import Step
from tests.model.reference.times import Deadline, has_passed

SANDBOX_RECIPIENTS = (("vpa", "sandbox"), ("email", "sandbox@laari.test"))
VPA_SUFFIXES = ("fp", "fahipay")
_TEXTS = ("title", "description", "terminal_label", "bill_number", "return_url")


def answer(request: Request, status: int = 200) -> Answer:
    return Answer(status, {"data": shapes.request(request)})


def stored_form(kind: str, value: str) -> str | None:
    """A VPA without its suffix, a mobile number as seven digits, an email address as written."""
    if kind == "vpa":
        name, at, suffix = value.lower().partition("@")
        known = not at or suffix in VPA_SUFFIXES
        return name if known and re.fullmatch(r"\S{1,100}", name) else None
    if kind == "mobile":
        digits = re.sub(r"^\+960|[ -]", "", value)
        return digits if re.fullmatch(r"\d{7}", digits) else None
    return value if re.fullmatch(r"[^\s@]+@[^\s@]+", value) else None


def create(step: Step) -> Answer:
    """In this order: the reference, the deadline, the sandbox's rule, the recipient."""
    wanted = read_fields(step.fields, REQUEST, ("reference", "amount", "customer"))
    customer = wanted.pop("customer")
    kind, value = customer["type"], stored_form(customer["type"], customer["value"])
    if value is None and step.tenant.mode == "live":
        raise invalid("customer.value")
    value = value or customer["value"]
    slot = (step.tenant, wanted["reference"])
    if slot in step.state.references:
        original = step.state.requests.get(step.state.references[slot])
        if original is None or not _repeats(original, wanted, kind, value):
            raise Refused("reference_conflict")
        return answer(original, 201)
    deadline = wanted.pop("expires_at", Deadline(step.now))
    if has_passed(deadline, step.now):
        raise invalid("expires_at")
    request = step.keep(
        Request(
            ("request", step.call.number),
            step.tenant,
            created_at=step.now,
            customer_type=kind,
            customer_value=value,
            recipient=_recipient(step, kind, value),
            expires_at=deadline,
            **wanted,
        )
    )
    step.state.references[slot] = request.name
    step.emit("payment_request.created", request)
    return answer(request, 201)


def _repeats(original: Request, wanted: dict[str, Any], kind: str, value: str) -> bool:
    """A retry repeats everything; a deadline, where it is sent, is the original one."""
    same_customer = (original.customer_type, original.customer_value.lower()) == (
        kind,
        value.lower(),
    )
    same_texts = all(getattr(original, name) == wanted.get(name) for name in _TEXTS)
    deadline = wanted.get("expires_at")
    return (
        original.amount == wanted["amount"]
        and same_customer
        and same_texts
        and deadline in (None, original.expires_at)
    )


def _recipient(step: Step, kind: str, value: str) -> str:
    if step.tenant.mode == "sandbox":
        if (kind, value.lower()) not in SANDBOX_RECIPIENTS:
            raise Refused("sandbox_recipient_not_allowed", "customer.value")
        return f"sandbox of {step.tenant.merchant}"
    for account, wallet in step.state.wallets.items():
        if wallet.mode == "live" and wallet.contacts.get(kind) == value.lower():
            return account
    raise Refused("customer_not_found", "customer.value")


def find(step: Step) -> Request:
    assert step.call.subject is not None
    request = step.state.requests.get(step.call.subject)
    if request is None or request.tenant != step.tenant:
        raise Refused("payment_request_not_found")
    return request


def expired_if_overdue(step: Step, request: Request) -> Request:
    if not payments.is_overdue(request, step.now):
        return request
    request = step.keep(request, status="expired")
    step.emit("payment_request.expired", request, step.about(request.name))
    return request


def get(step: Step) -> Answer:
    return answer(expired_if_overdue(step, find(step)))


def cancel(step: Step) -> Answer:
    """Only one that is pending, not processing and not overdue; again changes nothing."""
    request = find(step)
    if request.status == "cancelled":
        return answer(request)
    open_still = request.status == "pending" and not payments.is_overdue(request, step.now)
    if not open_still or request.reserved:
        raise Refused("payment_request_not_cancellable")
    request = step.keep(request, status="cancelled", cancelled_at=step.now)
    step.emit("payment_request.cancelled", request)
    return answer(request)


# What the recipient decides.


def payable(step: Step, payer: str) -> Request:
    request = find(step)
    if request.recipient != payer:
        raise Refused("payment_request_not_found")
    if request.status != "pending" or payments.is_overdue(request, step.now):
        raise Refused("payment_conflict")
    return request


def pay(step: Step, payer: str) -> Answer:
    """An ordinary payment comes of it, with the request's reference and details."""
    request = payable(step, payer)
    request = step.keep(request, reserved=False)
    if not step.state.merchants[step.tenant.merchant].active:
        raise Refused("payment_conflict")
    tid = wallets.take(step, payer, request.amount, request.title or request.reference)
    payment = payments.paid(
        step,
        Payment(
            ("payment", step.call.number),
            step.tenant,
            "request",
            request.reference,
            request.amount,
            step.now,
            expires_at=request.expires_at,
            request=request.name,
            **{name: getattr(request, name) for name in _TEXTS},
        ),
        payer,
        tid,
    )
    request = step.keep(
        request, status="paid", fee=payment.fee, paid_at=step.now, payment=payment.name, tid=tid
    )
    step.emit("payment_request.paid", request)
    step.emit("payment.paid", payment)
    return answer(request)


def reject(step: Step, payer: str) -> Answer:
    request = payable(step, payer)
    if request.reserved:
        raise Refused("payment_conflict")
    request = step.keep(request, status="rejected", rejected_at=step.now)
    step.emit("payment_request.rejected", request)
    return answer(request)


def reserve(step: Step, payer: str) -> Answer:
    request = payable(step, payer)
    if request.reserved:
        raise Refused("payment_conflict")
    return answer(step.keep(request, reserved=True))


def release(step: Step, payer: str) -> Answer:
    request = payable(step, payer)
    if not request.reserved:
        raise Refused("payment_conflict")
    return answer(step.keep(request, reserved=False))


DECISIONS: dict[str, Any] = {
    "pay": pay,
    "reject": reject,
    "reserve": reserve,
    "release": release,
}
