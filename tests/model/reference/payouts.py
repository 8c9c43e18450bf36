"""Payouts of a sandbox: all that is available goes to the bank, which settles or returns it."""

from tests.model.reference import refunds, shapes
from tests.model.reference.answers import Refused
from tests.model.reference.lists import page
from tests.model.reference.state import Answer, Payout
from tests.model.reference.steps import Step


def create(step: Step) -> Answer:
    amount = refunds.balance_of(step.state, step.tenant)
    if amount <= 0:
        raise Refused("payout_not_possible")
    number = 1 + sum(each.tenant == step.tenant for each in step.state.payouts.values())
    name = ("payout", step.call.number)
    payout = step.keep(Payout(name, step.tenant, number, amount, step.now))
    step.emit("payout.sent", payout)
    return Answer(201, {"data": shapes.payout(payout)})


def find(step: Step) -> Payout:
    assert step.call.subject is not None
    payout = step.state.payouts.get(step.call.subject)
    if payout is None or payout.tenant != step.tenant:
        raise Refused("not_found")
    return payout


def settle(step: Step) -> Answer:
    payout = find(step)
    if payout.status != "sent":
        raise Refused("payout_conflict")
    payout = step.keep(payout, status="settled", settled_at=step.now)
    step.emit("payout.settled", payout)
    return Answer(200, {"data": shapes.payout(payout)})


def give_back(step: Step) -> Answer:
    """A bank may also return money that it has confirmed."""
    payout = find(step)
    if payout.status == "returned":
        raise Refused("payout_conflict")
    payout = step.keep(payout, status="returned", returned_at=step.now)
    step.emit("payout.returned", payout)
    return Answer(200, {"data": shapes.payout(payout)})


def get(step: Step) -> Answer:
    return Answer(200, {"data": shapes.payout(find(step))})


def list_all(step: Step) -> Answer:
    wanted = step.call.query.get("status")
    own = [row for row in step.state.payouts.values() if row.tenant == step.tenant]
    rows = [row for row in own if wanted in (None, row.status)]
    return page(step, ("payouts", step.tenant), rows, shapes.payout)
