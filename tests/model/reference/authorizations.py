"""Authorizations: approved by a customer, charged by the merchant within their limits."""

from dataclasses import replace
from typing import Any

from tests.model.reference import payments, shapes, wallets
from tests.model.reference.answers import Refused
from tests.model.reference.fields import AMOUNT, AUTHORIZATION, CHARGE, invalid, read_fields
from tests.model.reference.state import Answer, Authorization, Payment
from tests.model.reference.steps import Step
from tests.model.reference.times import (
    Deadline,
    Stamp,
    has_passed,
    next_period,
    shown,
    spent_in_period,
)
from tests.model.reference.unknowns import ANY_TEXT


def as_of(authorization: Authorization, now: Stamp) -> Authorization:
    """Expired is what is past its deadline: the customer's to decide, or its own."""
    deadlines = {
        "pending": Deadline(authorization.created_at),
        "active": authorization.expires_at,
        "suspended": authorization.expires_at,
    }
    if has_passed(deadlines.get(authorization.status), now):
        return replace(authorization, status="expired")
    return authorization


def answer(authorization: Authorization, status: int = 200) -> Answer:
    return Answer(status, {"data": shapes.authorization(authorization)})


def find(step: Step) -> Authorization:
    """As it is at this moment."""
    assert step.call.subject is not None
    authorization = step.state.authorizations.get(step.call.subject)
    if authorization is None or authorization.tenant != step.tenant:
        raise Refused("authorization_not_found")
    return as_of(authorization, step.now)


def create(step: Step) -> Answer:
    """A reference that is taken answers its original, whatever else is sent."""
    wanted = read_fields(step.fields, AUTHORIZATION, ("reference", "title"))
    limits = wanted.pop("limits", {})
    period = limits.pop("period", {})
    if "amount" in period and "interval" not in period:
        raise invalid("limits.period.interval")
    if wanted.get("type") == "one_time" and limits.get("max_payments", 1) != 1:
        raise invalid("limits.max_payments")
    for original in step.state.authorizations.values():
        if (original.tenant, original.reference) == (step.tenant, wanted["reference"]):
            return answer(as_of(original, step.now), 201)
    if has_passed(wanted.get("expires_at"), step.now):
        raise invalid("expires_at")
    authorization = step.keep(
        Authorization(
            ("authorization", step.call.number),
            step.tenant,
            created_at=step.now,
            updated_at=step.now,
            interval=period.get("interval"),
            period_amount=period.get("amount"),
            **limits,
            **wanted,
        )
    )
    step.emit("authorization.created", authorization)
    return answer(authorization, 201)


def get(step: Step) -> Answer:
    return answer(find(step))


def change(step: Step, authorization: Authorization, status: str, **more: Any) -> Authorization:
    changed: Authorization = step.keep(authorization, status=status, updated_at=step.now, **more)
    return changed


def cancel(step: Step) -> Answer:
    """Pending becomes cancelled, approved becomes revoked; again changes nothing."""
    authorization = find(step)
    match authorization.status:
        case "cancelled" | "revoked":
            return answer(authorization)
        case "pending":
            authorization = change(step, authorization, "cancelled")
            step.emit("authorization.cancelled", authorization)
            return answer(authorization)
        case "active" | "suspended":
            authorization = change(step, authorization, "revoked", revoked_at=step.now)
            step.emit("authorization.revoked", authorization)
            return answer(authorization)
    raise Refused("authorization_not_cancellable")


# What the customer decides: `payer` is None where the sandbox does not ask whose it is.


def undecided(step: Step) -> Authorization:
    authorization = find(step)
    if authorization.status == "expired" and authorization.approved_at is None:
        raise Refused("authorization_expired")
    if authorization.status != "pending":
        raise Refused("authorization_not_pending")
    return authorization


def approve(step: Step, payer: str) -> Answer:
    """The customer is whoever approves."""
    authorization = undecided(step)
    if not step.state.merchants[step.tenant.merchant].active:
        raise Refused("authorization_unavailable")
    if has_passed(authorization.expires_at, step.now):
        raise Refused("authorization_expired")
    authorization = change(step, authorization, "active", approved_at=step.now, payer=payer)
    step.emit("authorization.approved", authorization)
    return answer(authorization)


def reject(step: Step, payer: str) -> Answer:
    authorization = change(step, undecided(step), "rejected", rejected_at=step.now)
    step.emit("authorization.rejected", authorization)
    return answer(authorization)


def own(step: Step, payer: str | None) -> Authorization:
    authorization = find(step)
    if payer is not None and authorization.payer != payer:
        raise Refused("authorization_not_found")
    return authorization


def suspend(step: Step, payer: str | None = None) -> Answer:
    return _turn(step, payer, "active", "suspended")


def resume(step: Step, payer: str | None = None) -> Answer:
    return _turn(step, payer, "suspended", "active")


def _turn(step: Step, payer: str | None, before: str, after: str) -> Answer:
    authorization = own(step, payer)
    if authorization.status == after:
        return answer(authorization)
    if authorization.status == before:
        return answer(change(step, authorization, after))
    codes = {"pending": "authorization_unapproved", "expired": "authorization_expired"}
    raise Refused(codes.get(authorization.status, "authorization_unavailable"))


def revoke(step: Step, payer: str) -> Answer:
    own(step, payer)
    return cancel(step)


DECISIONS: dict[str, Any] = {"approve": approve, "reject": reject}
PAUSES: dict[str, Any] = {"suspend": suspend, "resume": resume}


# Charges.


def remaining(authorization: Authorization, now: Stamp) -> dict[str, int | None]:
    """What is left of each limit; None is no limit of that kind."""
    paid = sum(amount for _, amount in authorization.spendings)
    count = 1 if authorization.type == "one_time" else authorization.max_payments
    period = None
    if authorization.interval is not None and authorization.period_amount is not None:
        used = spent_in_period(authorization.spendings, authorization.interval, now)
        period = authorization.period_amount - used
    return {
        "per_payment": authorization.per_payment,
        "period": period,
        "total": None if authorization.total is None else authorization.total - paid,
        "payments": None if count is None else count - len(authorization.spendings),
    }


def check_charge(authorization: Authorization, amount: int, now: Stamp) -> None:
    """State and limits, in this order; the customer's wallet comes after."""
    match authorization.status:
        case "pending":
            raise Refused("authorization_unapproved")
        case "expired":
            raise Refused("authorization_expired")
    if authorization.status != "active":
        raise Refused("authorization_inactive")
    left = remaining(authorization, now)
    for limit in ("per_payment", "period", "total"):
        most = left[limit]
        if most is not None and amount > most:
            raise Refused(f"{limit}_limit_exceeded")
    if left["payments"] is not None and left["payments"] < 1:
        raise Refused("payment_count_limit_exceeded")


def charge(step: Step) -> Answer:
    wanted = read_fields(step.fields, CHARGE, ("reference", "amount"))
    authorization = find(step)
    slot, amount = (step.tenant, wanted["reference"]), wanted["amount"]
    if slot in step.state.references:
        original = step.state.payments.get(step.state.references[slot])
        same = original is not None and original.authorization == authorization.name
        if not same or original.amount != amount:
            raise Refused("reference_conflict")
        return payments.answer(original, 201)
    check_charge(authorization, amount, step.now)
    payer = authorization.payer
    assert payer is not None
    tid = wallets.take(step, payer, amount, wanted.get("title") or authorization.title)
    step.keep(
        authorization,
        status="consumed" if authorization.type == "one_time" else authorization.status,
        spendings=(*authorization.spendings, (step.now, amount)),
        last_used_at=step.now,
        updated_at=step.now,
    )
    name = ("payment", step.call.number)
    payment = Payment(
        name,
        step.tenant,
        "charge",
        created_at=step.now,
        authorization=authorization.name,
        **wanted,
    )
    payment = payments.paid(step, payment, payer, tid)
    step.state.references[slot] = name
    step.emit("payment.paid", payment)
    return payments.answer(payment, 201)


def preview(step: Step) -> Answer:
    """What a charge with a new reference would answer, but for the customer's wallet."""
    amount = AMOUNT(step.call.query.get("amount"), "amount")
    authorization = find(step)
    code = None
    try:
        check_charge(authorization, amount, step.now)
    except Refused as refused:
        code = refused.code
    left = remaining(authorization, step.now)
    resets = None
    if left["period"] is not None:
        assert authorization.interval is not None
        resets = shown(next_period(step.now, authorization.interval))
    data = {
        "amount": amount,
        "would_succeed": code is None,
        "code": code,
        "message": None if code is None else ANY_TEXT,
        "remaining": left,
        "period_resets_at": resets,
    }
    return Answer(200, {"data": data})
