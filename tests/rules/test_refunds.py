"""Refunds as decisions: how much, how often, how late, and what the merchant's balance allows."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from laari.rules import ledger
from laari.rules.limits.payments import MOST_REFUNDS
from laari.rules.payments.charges import ChargeAuthorization
from laari.rules.payments.payments import PaymentDraft
from laari.rules.payments.refunds import Refunded, RefundPayment
from laari.rules.records.merchant_funds import MerchantFunds
from laari.rules.records.payments import Payment
from laari.rules.refusals import Refusal
from laari.rules.tables import UnlockedRowError
from tests.actors import ANYBODY
from tests.rules.books import Books

DAY = 86_400


def charged(books: Books, amount: int = 10_000, reference: str = "order") -> Payment:
    paid = books.run(ChargeAuthorization(books.tenant, books.id, PaymentDraft(reference, amount)))
    assert isinstance(paid, Payment)
    return paid


def refund(books: Books, payment_id: UUID, amount: int | None = None, **more: Any) -> Any:
    return books.run(RefundPayment(books.tenant, payment_id, ANYBODY, amount, **more))


@pytest.fixture
def books() -> Books:
    return Books(100_000_000)  # the fee is 2.5 % and 10 laari


def test_a_part_leaves_the_payment_paid(books: Books) -> None:
    paid = charged(books)
    done = refund(books, paid.id, 4_000, reason="duplicate", note="One of two")
    assert isinstance(done, Refunded)
    assert (done.payment.status, done.payment.refunded_amount) == ("paid", 4_000)
    assert (done.payment.refunded_at, done.payment.fee) == (None, 260)
    made = done.refund
    assert (made.amount, made.reason, made.note) == (4_000, "duplicate", "One of two")
    assert (made.actor_kind, made.actor_name) == (ANYBODY.kind, ANYBODY.name)
    moved = books.transfers[-1]
    assert (moved.kind, moved.amount, moved.tid) == ("refund", 4_000, made.tid)
    assert books.balance == 100_000_000 - 6_000


def test_the_last_part_refunds_the_payment(books: Books) -> None:
    paid = charged(books)
    refund(books, paid.id, 4_000)
    books.move_clock(DAY)
    done = refund(books, paid.id)
    assert (done.refund.amount, done.payment.status) == (6_000, "refunded")
    assert done.payment.refunded_at == done.refund.created_at == books.now
    assert done.payment.refunded_amount == 10_000
    again = refund(books, paid.id, 1)
    assert again == Refusal("payment_not_refundable", "All of the payment is refunded already.")
    assert books.balance == 100_000_000


def test_each_refund_has_an_event_with_the_payment_inside(books: Books) -> None:
    paid = charged(books)
    before = len(books.events)
    made = [refund(books, paid.id, amount).refund for amount in (4_000, None)]
    events = books.events[before:]
    assert [event.type for event in events] == ["payment.refunded"] * 2
    assert [event.object_id for event in events] == [each.id for each in made]
    data = [msgspec.json.decode(event.body)["data"] for event in events]
    assert [each["payment"]["status"] for each in data] == ["paid", "refunded"]
    assert [each["amount"] for each in data] == [4_000, 6_000]
    assert {each["payment_id"] for each in data} == {data[0]["payment"]["id"]}
    assert list(data[0]) == [
        "id",
        "payment_id",
        "amount",
        "reason",
        "note",
        "created_at",
        "payment",
    ]


@pytest.mark.parametrize("amount", [6_001, 10_000, 10**12])
def test_no_more_than_what_is_left(books: Books, amount: int) -> None:
    paid = charged(books)
    refund(books, paid.id, 4_000)
    refused = refund(books, paid.id, amount)
    assert refused.code == "refund_exceeds_payment"
    assert "6000 laari (MVR 60.00)" in refused.message
    assert len(books.refunds) == 1


@pytest.mark.parametrize("amount", [0, -5])
def test_an_amount_is_positive(books: Books, amount: int) -> None:
    refused = refund(books, charged(books).id, amount)
    assert (refused.code, refused.field) == ("invalid_request", "amount")


def test_fifty_refunds_and_no_more(books: Books) -> None:
    paid = charged(books)
    for _ in range(MOST_REFUNDS):
        assert isinstance(refund(books, paid.id, 1), Refunded)
    refused = refund(books, paid.id)
    assert (refused.code, MOST_REFUNDS) == ("payment_not_refundable", 50)
    assert "50 refunds" in refused.message


@pytest.mark.parametrize(("seconds", "is_late"), [(365 * DAY, False), (365 * DAY + 1, True)])
def test_within_a_year_of_the_payment(books: Books, seconds: int, is_late: bool) -> None:
    paid = charged(books)
    books.move_clock(seconds)
    outcome = refund(books, paid.id)
    assert isinstance(outcome, Refusal) == is_late
    if is_late:
        assert outcome.code == "payment_not_refundable"


def test_the_refunds_of_one_batch_see_each_other(books: Books) -> None:
    paid = charged(books)
    world = books.world()
    command = RefundPayment(books.tenant, paid.id, ANYBODY, 4_000)
    outcomes = [command.decide(world) for _ in range(3)]
    assert [isinstance(each, Refunded) for each in outcomes] == [True, True, False]
    assert outcomes[2].code == "refund_exceeds_payment"  # type: ignore[union-attr]
    for _ in range(48):
        RefundPayment(books.tenant, paid.id, ANYBODY, 1).decide(world)
    last = RefundPayment(books.tenant, paid.id, ANYBODY, 1).decide(world)
    assert isinstance(last, Refusal)
    assert last.code == "payment_not_refundable"
    assert len(world.refunds) == 50


def test_refunds_of_one_batch_see_the_balance(books: Books) -> None:
    first, second = charged(books, reference="a"), charged(books, reference="b")
    paid_out(books, 2 * 9_740 - 6_000)
    world = books.world()
    outcomes = [
        RefundPayment(books.tenant, each.id, ANYBODY, 6_000).decide(world)
        for each in (first, second)
    ]
    assert isinstance(outcomes[0], Refunded)
    assert isinstance(outcomes[1], Refusal)
    assert outcomes[1].code == "insufficient_merchant_balance"


def test_a_form_that_is_sent_twice_refunds_once(books: Books) -> None:
    paid = charged(books)
    assert isinstance(refund(books, paid.id, 100, if_left=10_000), Refunded)
    assert refund(books, paid.id, 100, if_left=10_000).code == "payment_conflict"
    assert isinstance(refund(books, paid.id, 100, if_left=9_900), Refunded)


def test_a_refund_of_the_only_payment_is_covered_by_its_fee(books: Books) -> None:
    """Fees are not returned, so the balance ends at the fee below zero."""
    paid = charged(books)
    assert books.earned == 10_000 - 260
    assert isinstance(refund(books, paid.id, 9_000), Refunded)
    assert isinstance(refund(books, paid.id), Refunded)
    assert books.earned == -260
    assert books.rows["funds"][1] == MerchantFunds(1, refunded_fees=260)


def paid_out(books: Books, amount: int) -> None:
    """Money leaves the merchant otherwise, as a payout will take it."""
    world = books.world()
    transit = ledger.in_transit_account("sandbox")
    merchant = ledger.merchant_account(books.tenant)
    ledger.transfer(world, "payout", merchant, transit, amount, tid="T", created_at=books.now)
    books.transfers += world.transfers


def test_a_refund_that_the_balance_does_not_cover_is_refused(books: Books) -> None:
    first, second = charged(books, reference="a"), charged(books, reference="b")
    paid_out(books, 2 * 9_740 - 5_000)
    assert books.earned == 5_000
    # It may fall to the fee of this payment below zero, and no further.
    refused = refund(books, first.id, 5_261)
    assert refused.code == "insufficient_merchant_balance"
    assert "lacks 1 laari (MVR 0.01)" in refused.message
    assert books.refunds == []
    assert isinstance(refund(books, first.id, 5_260), Refunded)
    # The fee of the first payment counts once.
    assert refund(books, first.id, 1).code == "insufficient_merchant_balance"
    # The second payment brings its own fee.
    assert isinstance(refund(books, second.id, 260), Refunded)
    assert refund(books, second.id, 1).code == "insufficient_merchant_balance"
    assert books.earned == -520


def test_a_balance_is_never_read_without_its_lock(books: Books) -> None:
    world = books.world()
    world.funds._locked.clear()
    with pytest.raises(UnlockedRowError):
        ledger.available(world, books.tenant)


def test_another_merchant_finds_no_payment(books: Books) -> None:
    paid = charged(books)
    stranger = replace(books.tenant, id=2)
    assert books.run(RefundPayment(stranger, paid.id, ANYBODY)).code == "not_found"
    assert refund(books, UUID(int=1)).code == "not_found"


# Decisions 111 and 112 again, as plain sums.


@dataclass
class Shop:
    paid: dict[str, int] = field(default_factory=dict)
    fees: dict[str, int] = field(default_factory=dict)
    refunded: dict[str, list[int]] = field(default_factory=dict)
    paid_at: dict[str, timedelta] = field(default_factory=dict)
    out: int = 0

    @property
    def balance(self) -> int:
        returned = sum(map(sum, self.refunded.values()))
        return sum(self.paid.values()) - sum(self.fees.values()) - returned - self.out

    def refund(self, name: str, amount: int | None, now: timedelta) -> str:
        parts = self.refunded.get(name, [])
        left = self.paid[name] - sum(parts)
        late = now - self.paid_at[name] > timedelta(days=365)
        if left == 0 or late or len(parts) == 50:
            return "payment_not_refundable"
        amount = left if amount is None else amount
        if amount > left:
            return "refund_exceeds_payment"
        counted = {*(each for each, some in self.refunded.items() if some), name}
        if self.balance - amount < -sum(self.fees[each] for each in counted):
            return "insufficient_merchant_balance"
        self.refunded.setdefault(name, []).append(amount)
        return "refunded" if amount == left else "paid"


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pay"), st.integers(1, 5_000), st.just(0)),
        st.tuples(
            st.just("refund"), st.integers(0, 7), st.none() | st.sampled_from([1, 7, 900, 4_000])
        ),
        st.tuples(st.just("out"), st.integers(1, 100), st.just(0)),
        st.tuples(st.just("clock"), st.integers(0, 200), st.just(0)),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(steps=STEPS)
def test_refunds_agree_with_the_decisions(steps: list[tuple[str, int, int | None]]) -> None:
    books, shop, ids = Books(10**9), Shop(), dict[str, UUID]()
    for what, number, amount in steps:
        if what == "pay":
            name = f"p{len(ids)}"
            made = charged(books, number, name)
            ids[name], shop.paid[name], shop.fees[name] = made.id, number, made.fee or 0
            shop.paid_at[name] = timedelta(seconds=books.offset)
        elif what == "refund" and ids:
            name = f"p{number % len(ids)}"
            expected = shop.refund(name, amount, timedelta(seconds=books.offset))
            outcome = refund(books, ids[name], amount)
            told = outcome.code if isinstance(outcome, Refusal) else outcome.payment.status
            assert told == expected
        elif what == "out" and shop.balance > 0:
            taken = max(1, shop.balance * number // 100)
            shop.out += taken
            paid_out(books, taken)
        elif what == "clock":
            books.move_clock(books.offset + number * DAY)
        assert books.earned == shop.balance
    returned = sum(map(sum, shop.refunded.values()))
    assert books.balance == 10**9 - sum(shop.paid.values()) + returned
    # What customers got back and the merchant was paid out is never more than they paid.
    assert returned + shop.out <= sum(shop.paid.values())
