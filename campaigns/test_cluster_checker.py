"""The checker of the cluster campaign finds each kind of harm, and nothing in good books."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from campaigns.cluster.checker import Found, Row, check
from campaigns.cluster.watch import Seen, Tried, election, recovery
from campaigns.journal import Attempt, Journal, Operation, outcome_of


def told(status: int | None, payment_id: str | None = None, **more: object) -> Attempt:
    code = {503: "service_unavailable", 500: "internal_error"}.get(status or 0)
    given = {"code": code, "retry_after": status == 503, **more}
    return Attempt("svc1", 1.0, 1.1, status, payment_id=payment_id, **given)  # type: ignore[arg-type]


def asked(kind: str, reference: str, *attempts: Attempt, **more: object) -> Operation:
    return Operation(kind, "mer_1", reference, 100, attempts=list(attempts), **more)  # type: ignore[arg-type]


CREATED = asked("create", "c1", told(201, "pay_1"))
CHARGED = asked("charge", "h1", told(None), told(503), told(201, "pay_2"))
CANCELLED = asked("cancel", "c1", told(200, "pay_1"), payment_id="pay_1")
REFUSED = asked("create", "c2", told(503))
READ = asked("read", "c1", told(200, "pay_1", state="cancelled"), expected_state="cancelled")
OPERATIONS = [CREATED, CHARGED, CANCELLED, REFUSED, READ]
ROW_1 = Row("pay_1", "mer_1", "c1", 100, "cancelled", "hosted")
ROW_2 = Row("pay_2", "mer_1", "h1", 100, "paid", "charge")
EVENTS = [
    ("payment.created", "pay_1"),
    ("payment.cancelled", "pay_1"),
    ("payment.paid", "pay_2"),
]
GOOD = Found([ROW_1, ROW_2], {"pay_2": [100]}, Counter(EVENTS), set(EVENTS), {"mer_1": (500, 400)})


def kinds(operations: list[Operation], found: Found) -> list[str]:
    return [problem.what for problem in check(operations, found)]


def test_good_books_have_no_problem() -> None:
    assert check(OPERATIONS, GOOD) == []


def test_a_payment_that_was_acknowledged_and_is_not_there_is_lost() -> None:
    assert "lost" in kinds(OPERATIONS, replace(GOOD, payments=[ROW_2]))


def test_a_charge_whose_money_never_moved_is_lost() -> None:
    assert "lost" in kinds(OPERATIONS, replace(GOOD, taken={}))


def test_a_cancel_that_was_acknowledged_and_undone_is_lost() -> None:
    row = ROW_1._replace(state="pending")
    assert "lost" in kinds(OPERATIONS, replace(GOOD, payments=[row, ROW_2]))


def test_two_payments_under_one_reference_are_doubled() -> None:
    twin = ROW_1._replace(id="pay_9")
    assert "doubled" in kinds(OPERATIONS, replace(GOOD, payments=[ROW_1, twin, ROW_2]))


def test_a_retry_that_shows_another_payment_is_doubled() -> None:
    retried = asked("create", "c1", told(201, "pay_1"), told(201, "pay_3"))
    assert "doubled" in kinds([retried, *OPERATIONS[1:]], GOOD)


def test_money_taken_twice_is_doubled() -> None:
    found = replace(GOOD, taken={"pay_2": [100, 100]}, balances={"mer_1": (500, 300)})
    assert "doubled" in kinds(OPERATIONS, found)


def test_an_event_told_under_two_ids_is_doubled() -> None:
    assert "doubled" in kinds(OPERATIONS, replace(GOOD, events=Counter([*EVENTS, EVENTS[0]])))


def test_a_payment_whose_client_was_told_503_is_a_ghost() -> None:
    row = Row("pay_3", "mer_1", "c2", 100, "pending", "hosted")
    assert kinds(OPERATIONS, replace(GOOD, payments=[ROW_1, ROW_2, row])) == ["ghost"]


def test_a_payment_that_nobody_asked_for_is_a_ghost() -> None:
    row = Row("pay_3", "mer_1", "c3", 100, "pending", "hosted")
    assert kinds(OPERATIONS, replace(GOOD, payments=[ROW_1, ROW_2, row])) == ["ghost"]


def test_a_cancel_that_was_refused_and_happened_is_a_ghost() -> None:
    refused = asked("cancel", "c1", told(503), payment_id="pay_1")
    assert "ghost" in kinds([CREATED, CHARGED, refused, REFUSED], GOOD)


def test_a_payment_cancelled_unasked_is_a_ghost() -> None:
    assert "ghost" in kinds([CREATED, CHARGED, REFUSED], GOOD)


def test_a_payment_in_doubt_may_be_there_or_not_but_has_to_be_settled() -> None:
    settled = asked("create", "c2", told(500), told(201, "pay_3"))
    row = Row("pay_3", "mer_1", "c2", 100, "pending", "hosted")
    found = replace(
        GOOD,
        payments=[ROW_1, ROW_2, row],
        delivered={*EVENTS, ("payment.created", "pay_3")},
    )
    assert check([*OPERATIONS[:3], settled], found) == []
    assert kinds([*OPERATIONS[:3], asked("create", "c2", told(500))], GOOD) == ["unresolved"]


def test_another_amount_than_asked_for_is_wrong() -> None:
    row = ROW_1._replace(amount=101)
    assert "wrong" in kinds(OPERATIONS, replace(GOOD, payments=[row, ROW_2]))


@pytest.mark.parametrize("answer", [told(404), told(200, "pay_1", state="pending")])
def test_a_read_behind_what_was_acknowledged_is_stale(answer: Attempt) -> None:
    read = asked("read", "c1", answer, expected_state="cancelled")
    assert "stale" in kinds([*OPERATIONS[:4], read], GOOD)


def test_a_read_in_doubt_is_no_such_thing() -> None:
    assert kinds([*OPERATIONS[:4], asked("read", "c1", told(500))], GOOD) == ["refused"]


@pytest.mark.parametrize(
    "answer", [told(503, retry_after=False), told(401, code="unauthorized"), told(429)]
)
def test_refusals_that_are_not_deserved_are_found(answer: Attempt) -> None:
    assert "refused" in kinds([*OPERATIONS[:3], asked("create", "c2", answer)], GOOD)


def test_an_event_that_never_came_is_undelivered() -> None:
    assert kinds(OPERATIONS, replace(GOOD, delivered=set(EVENTS[1:]))) == ["undelivered"]


def test_a_balance_that_is_not_what_was_spent_is_found() -> None:
    assert kinds(OPERATIONS, replace(GOOD, balances={"mer_1": (500, 399)})) == ["books"]


def test_no_answer_is_no_refusal() -> None:
    assert [outcome_of(status) for status in (201, 409, 503, 500, None)] == [
        "ok",
        "refused",
        "refused",
        "unknown",
        "unknown",
    ]


def test_the_journal_keeps_every_attempt_in_its_file(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    operation = journal.begin(asked("create", "c1"))
    journal.record(operation, told(500))
    journal.record(operation, told(201, "pay_1"))
    assert [each.status for _, each in journal.attempts(1.05, 2.0)] == [500, 201]
    assert list(journal.attempts(1.2, 2.0)) == []
    journal.close()
    assert (tmp_path / "journal.jsonl").read_text().count('"reference": "c1"') == 2


def test_an_election_is_the_return_of_a_leader() -> None:
    seen = [Seen(1, "db1"), Seen(5, None), Seen(25, "db2"), Seen(45, None), Seen(46, "db2")]
    assert election(seen, 4) == 25
    assert election(seen, 30) == 46
    assert election(seen, 47) is None
    assert election([Seen(1, "db1"), Seen(9, "db2")], 4) == 9


def test_a_leader_that_never_left_is_back_with_the_first_commit_after_one_that_failed() -> None:
    tried = [Tried(1, True), Tried(5, True), Tried(6, False), Tried(7, False), Tried(9, True)]
    assert recovery(tried, 4) == 9
    assert recovery(tried, 8) is None
