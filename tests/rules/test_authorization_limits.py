"""The limits of authorizations against a slow model that keeps nothing but history."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laari.rules.limits.payments import REFUNDABLE_FOR
from laari.rules.merchants.sandbox_clock import MoveClock
from laari.rules.payments.charges import ChargeAuthorization
from laari.rules.payments.payments import PaymentDraft
from laari.rules.payments.refunds import Refunded, RefundPayment
from laari.rules.records.payments import Payment
from laari.rules.refusals import Refusal
from tests.actors import OPERATOR
from tests.rules.books import ACCOUNT, START, Books

DAY = 86_400
BIGGEST = 9_999_999_999


def period_of(moment: datetime, interval: str) -> object:
    """A name for the period; worked out another way than the service does."""
    local = (moment + timedelta(hours=5)).replace(tzinfo=None)
    match interval:
        case "day":
            return local.toordinal()
        case "week":  # day 7 of the calendar was a Sunday
            return local.toordinal() // 7
        case "month":
            return local.year, local.month
        case _:
            return local.year


@dataclass
class Model:
    """Everything is summed over all payments ever made, each time."""

    balance: int
    limits: dict[str, Any]
    paid: dict[str, tuple[datetime, int]] = field(default_factory=dict)
    refunded: set[str] = field(default_factory=set)

    def charge(self, reference: str, amount: int, now: datetime) -> str:
        if reference in self.paid:
            return "again" if self.paid[reference][1] == amount else "reference_conflict"
        one_time = self.limits.get("type") == "one_time"
        if one_time and self.paid:
            return "authorization_inactive"
        amounts = [taken for _, taken in self.paid.values()]
        per_payment, total = self.limits.get("per_payment"), self.limits.get("total")
        interval, period = self.limits.get("period_interval"), self.limits.get("period_amount")
        most = self.limits.get("max_payments")
        if per_payment and amount > per_payment:
            return "per_payment_limit_exceeded"
        if period:
            running = period_of(now, interval)
            earlier = [a for at, a in self.paid.values() if period_of(at, interval) == running]
            if sum(earlier) + amount > period:
                return "period_limit_exceeded"
        if total and sum(amounts) + amount > total:
            return "total_limit_exceeded"
        if most and len(amounts) + 1 > most:
            return "payment_count_limit_exceeded"
        if amount > self.left():
            return "insufficient_balance"
        self.paid[reference] = (now, amount)
        return "paid"

    def left(self) -> int:
        kept = [a for name, (_, a) in self.paid.items() if name not in self.refunded]
        return self.balance - sum(kept)


# Small enough to be met, and now and then the largest there is.
MONEY = st.one_of(st.integers(1, 40), st.integers(1, 900), st.just(10**18 - 1))
SELDOM = st.one_of(st.none(), st.none(), MONEY)


@st.composite
def limits(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["recurring", "unscheduled", "unscheduled", "one_time"]))
    counts = [None, 1] if kind == "one_time" else [None, None, 1, 2, 5, 4_294_967_295]
    interval = draw(st.sampled_from([None, "day", "week", "month", "year"]))
    return {
        "type": kind,
        "per_payment": draw(SELDOM),
        "period_interval": interval,
        "period_amount": draw(MONEY) if interval else None,
        "total": draw(SELDOM),
        "max_payments": draw(st.sampled_from(counts)),
    }


# Either side of midnights where days, weeks, months and years begin, as seconds from START.
EDGES = [
    int((datetime.fromisoformat(f"{day}T00:00:00+05:00") - START).total_seconds())
    for day in ("2026-02-28", "2026-03-01", "2026-03-02", "2026-03-08", "2027-01-01", "2026-01-01")
]
# The clock goes to and fro between few places, so that periods are left and come back to.
OFFSETS = [0, DAY, -DAY, *EDGES, *(edge - 1 for edge in EDGES)]
AMOUNTS = [*range(1, 13), *range(1, 13), 40, 41, 150, 400, BIGGEST]


def steps(choices: bytes) -> list[tuple[str, int, int]]:
    """Three bytes are a step: drawing every part by itself would take most of the time."""
    made = []
    for action, which, amount in zip(*[iter(choices)] * 3, strict=False):
        match action % 8:
            case 0:
                made.append(("refund", which % 40, 0))
            case 1 | 2:
                made.append(("clock", OFFSETS[which % len(OFFSETS)], 0))
            case _:
                made.append(("charge", which % 40, AMOUNTS[amount % len(AMOUNTS)]))
    return made


STEPS = st.binary(min_size=3 * 20, max_size=3 * 30).map(steps)


def compare(limits: dict[str, Any], balance: int, steps: list[tuple[str, int, int]]) -> None:
    books, model = Books(balance, **limits), Model(balance, limits)
    for action, number, amount in steps:
        reference = f"charge-{number}"
        if action == "clock":
            books.move_clock(number)
        elif action == "refund":
            refund(books, model, reference)
        else:
            draft = PaymentDraft(reference, amount)
            outcome = books.run(ChargeAuthorization(books.tenant, books.id, draft))
            expected = model.charge(reference, amount, books.now)
            if isinstance(outcome, Refusal):
                assert outcome.code == expected
            else:
                assert expected in ("paid", "again")
                assert (outcome.reference, outcome.amount) == (reference, amount)
        amounts = [taken for _, taken in model.paid.values()]
        usage = books.authorization
        assert (usage.payment_count, usage.total_paid) == (len(amounts), sum(amounts))
        assert books.balance == model.left() >= 0


def refund(books: Books, model: Model, reference: str) -> None:
    claim = books.rows["references"].get((1, reference))
    assert (claim is not None) == (reference in model.paid)
    if claim is None:
        return
    outcome = books.run(RefundPayment(books.tenant, claim.resource_id, OPERATOR))
    in_time = books.now <= model.paid[reference][0] + REFUNDABLE_FOR
    is_new = in_time and reference not in model.refunded
    assert isinstance(outcome, Refunded) == is_new
    if is_new:
        model.refunded.add(reference)


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(limits=limits(), balance=st.sampled_from([50, 2_000, 10**17]), steps=STEPS)
def test_charges_agree_with_the_model(
    limits: dict[str, Any], balance: int, steps: list[tuple[str, int, int]]
) -> None:
    compare(limits, balance, steps)


@pytest.mark.campaign
@settings(max_examples=50_000, suppress_health_check=[HealthCheck.too_slow])
@given(limits=limits(), balance=st.sampled_from([50, 2_000, 10**17]), steps=STEPS)
def test_charges_agree_with_the_model_for_longer(
    limits: dict[str, Any], balance: int, steps: list[tuple[str, int, int]]
) -> None:
    compare(limits, balance, steps)


def charge(books: Books, reference: str, amount: int) -> str:
    outcome = books.run(
        ChargeAuthorization(books.tenant, books.id, PaymentDraft(reference, amount))
    )
    return outcome.code if isinstance(outcome, Refusal) else outcome.status


@pytest.mark.parametrize(
    ("interval", "last", "first"),
    [
        ("day", "2026-02-27T18:59:59+00:00", "2026-02-27T19:00:00+00:00"),
        ("week", "2026-02-28T18:59:59+00:00", "2026-02-28T19:00:00+00:00"),  # a Sunday begins
        ("month", "2026-02-28T18:59:59+00:00", "2026-02-28T19:00:00+00:00"),
        ("year", "2026-12-31T18:59:59+00:00", "2026-12-31T19:00:00+00:00"),
    ],
)
def test_periods_end_at_midnight_in_the_maldives(interval: str, last: str, first: str) -> None:
    books = Books(10**6, period_interval=interval, period_amount=100)
    assert charge(books, "a", 100) == "paid"
    books.move_clock(int((datetime.fromisoformat(last) - START).total_seconds()))
    assert charge(books, "b", 1) == "period_limit_exceeded"
    books.move_clock(int((datetime.fromisoformat(first) - START).total_seconds()))
    assert charge(books, "c", 100) == "paid"
    assert charge(books, "d", 1) == "period_limit_exceeded"


def test_a_clock_moved_back_finds_the_usage_of_that_period_again() -> None:
    books = Books(10**6, period_interval="month", period_amount=100)
    assert charge(books, "now", 60) == "paid"
    books.move_clock(40 * DAY)
    assert charge(books, "later", 100) == "paid"
    books.move_clock(0)
    assert charge(books, "back", 41) == "period_limit_exceeded"
    assert charge(books, "back", 40) == "paid"
    books.move_clock(40 * DAY)
    assert charge(books, "later still", 1) == "period_limit_exceeded"


def test_a_charge_in_the_same_batch_as_a_clock_move_is_counted() -> None:
    books = Books(10**6, period_interval="month", period_amount=100)
    world = books.world()
    paid = ChargeAuthorization(books.tenant, books.id, PaymentDraft("a", 60)).decide(world)
    assert isinstance(paid, Payment)
    MoveClock(books.tenant, OPERATOR, DAY).decide(world)
    authorization, wallet = world.authorizations.seen[books.id], world.wallets.seen[ACCOUNT]
    assert (authorization.period_paid, wallet.month_spent) == (60, 60)


def test_a_server_whose_clock_is_behind_does_not_forget_the_new_period() -> None:
    books = Books(10**6, period_interval="day", period_amount=100)
    midnight = datetime.fromisoformat("2026-02-28T00:00:00+05:00")
    for moment, reference, amount, expected in (
        (midnight, "ahead", 90, "paid"),
        (midnight - timedelta(milliseconds=1), "behind", 11, "period_limit_exceeded"),
        (midnight - timedelta(milliseconds=1), "behind", 10, "paid"),
        (midnight + timedelta(seconds=1), "after", 1, "period_limit_exceeded"),
    ):
        books.real = moment
        assert charge(books, reference, amount) == expected
