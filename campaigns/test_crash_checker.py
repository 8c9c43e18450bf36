"""The checker of the crash campaign finds each kind of harm, and nothing in good books."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from campaigns.crash import found as finding
from campaigns.crash.checker import check, period_start
from campaigns.crash.clients import Probe
from campaigns.crash.found import (
    Authorization,
    Counted,
    Event,
    Found,
    Payment,
    Request,
    Saved,
    Spend,
    Transfer,
    Wallet,
)
from campaigns.journal import Attempt, Operation
from laari.store.postgres.pool import connection_to

LATE = datetime(2026, 11, 14, 18, 59, 59, tzinfo=UTC)  # a second before midnight in +05:00
EARLY = datetime(2026, 11, 14, 19, 0, 0, tzinfo=UTC)
DAY, MONTH = date(2026, 11, 15), date(2026, 11, 1)  # a Sunday


def told(status: int | None, shown: str | None = None, **more: Any) -> Attempt:
    code = {503: "service_unavailable", 500: "internal_error"}.get(status or 0)
    return Attempt("", 1.0, 1.1, status, payment_id=shown, **{"code": code, **more})


def asked(kind: str, reference: str, *attempts: Attempt, **more: Any) -> Operation:
    amount = 100 if kind in ("create", "charge", "request") else 0
    return Operation(kind, "mer_1", reference, amount, attempts=list(attempts), **more)


def spent(account: int, payment: str, at: datetime, amount: int = 100) -> Spend:
    return Spend(account, payment, at, amount)


OPERATIONS = [
    asked("create", "c1", told(201, "pay_1"), key="k1"),
    asked("charge", "h1", told(None), told(201, "pay_2"), key="k2"),
    asked("pay", "c1", told(500), told(200, "pay_1"), payment_id="pay_1"),
    asked("refund", "c1", told(200), payment_id="pay_1"),
    asked("request", "r1", told(201, "prq_3")),
    asked("pay_request", "r1", told(200, "prq_3"), payment_id="prq_3"),
    asked("create", "c4", told(201, "pay_4"), key="k4"),
    asked("cancel", "c4", told(200, "pay_4"), payment_id="pay_4"),
    asked("create", "c5", told(503, retry_after=True), key="k5"),
    asked("charge", "h6", told(409, code="period_limit_exceeded"), key="k6"),
]
PAYMENTS = [
    Payment("1", "mer_1", "c1", 100, "refunded"),
    Payment("2", "mer_1", "h1", 100, "paid", "charge", authorization="a"),
    Payment("9", "mer_1", "r1", 100, "paid", "request", request="3"),
    Payment("4", "mer_1", "c4", 100, "cancelled"),
]
WANTED = (
    "payment.created 1",
    "payment.paid 1",
    "payment.refunded 1",
    "payment.paid 2",
    "payment.paid 9",
    "payment_request.created 3",
    "payment_request.paid 3",
    "payment.created 4",
    "payment.cancelled 4",
    "authorization.created a",
    "authorization.approved a",
)
EVENTS = [
    Event(f"e{place}", *each.split(), delivery="delivered") for place, each in enumerate(WANTED)
]
TRANSFERS = [
    Transfer("topup", None, 4, 77, 1_000),
    *(Transfer("payment", each, 77, 1001, 100) for each in ("1", "2", "9")),
    Transfer("refund", "1", 1001, 77, 100),
]
# One server's clock is behind: its payment counts in the day that had already begun.
SPENDS = [spent(77, "1", EARLY), spent(77, "2", LATE), spent(77, "9", EARLY)]
COUNTED = (
    Counted("day", DAY, 300, 1_000),
    Counted("week", DAY, 300, None),
    Counted("month", MONTH, 300, None),
)
GOOD = Found(
    payments=PAYMENTS,
    requests=[Request("3", "mer_1", "r1", 100, "paid")],
    transfers=TRANSFERS,
    events=EVENTS,
    saved={
        ("mer_1", "k1"): Saved(201, "1"),
        ("mer_1", "k2"): Saved(201, "2"),
        ("mer_1", "k4"): Saved(201, "4"),
        ("mer_1", "k6"): Saved(409, None),
    },
    spends=SPENDS,
    wallets=[Wallet(77, 800, COUNTED)],
    authorizations=[
        Authorization("a", "active", Counted("day", date(2026, 11, 14), 100, 100), 100, 1)
    ],
    received={each.id for each in EVENTS},
)


def kinds(found: Found, operations: list[Operation] = OPERATIONS) -> set[str]:
    return {problem.what for problem in check(operations, found)}


def test_good_books_have_no_problem() -> None:
    assert check(OPERATIONS, GOOD, delivered=True) == []


def without(rows: list[Any], place: int) -> list[Any]:
    return [row for number, row in enumerate(rows) if number != place]


def payment(place: int, **changes: Any) -> list[Payment]:
    changed = [*PAYMENTS]
    changed[place] = changed[place]._replace(**changes)
    return changed


def wallet(place: int, **changes: Any) -> list[Wallet]:
    counted = [*COUNTED]
    counted[place] = counted[place]._replace(**changes)
    return [Wallet(77, 800, tuple(counted))]


HARM: dict[str, tuple[str, Callable[[], Found]]] = {
    "an acknowledged payment is gone": (
        "lost",
        lambda: replace(GOOD, payments=without(PAYMENTS, 3)),
    ),
    "an acknowledged refund is undone": (
        "lost",
        lambda: replace(GOOD, payments=payment(0, state="paid")),
    ),
    "an acknowledged cancel is undone": (
        "lost",
        lambda: replace(GOOD, payments=payment(3, state="pending")),
    ),
    "an acknowledged request is gone": ("lost", lambda: replace(GOOD, requests=[])),
    "two under one reference": (
        "doubled",
        lambda: replace(GOOD, payments=[*PAYMENTS, PAYMENTS[3]._replace(id="8")]),
    ),
    "taken twice": ("doubled", lambda: replace(GOOD, transfers=[*TRANSFERS, TRANSFERS[2]])),
    "given back twice": ("doubled", lambda: replace(GOOD, transfers=[*TRANSFERS, TRANSFERS[4]])),
    "refused and there": (
        "ghost",
        lambda: replace(GOOD, payments=[*PAYMENTS, Payment("5", "mer_1", "c5", 100, "pending")]),
    ),
    "there and never asked for": (
        "ghost",
        lambda: replace(GOOD, payments=[*PAYMENTS, Payment("5", "mer_1", "c9", 100, "pending")]),
    ),
    "another amount": ("wrong", lambda: replace(GOOD, payments=payment(3, amount=101))),
    "a payment without its saved response": (
        "torn",
        lambda: replace(GOOD, saved={**GOOD.saved, ("mer_1", "k1"): Saved(409, None)}),
    ),
    "a saved response without its payment": (
        "torn",
        lambda: replace(GOOD, saved={**GOOD.saved, ("mer_1", "k5"): Saved(201, "5")}),
    ),
    "a change without its event": ("event", lambda: replace(GOOD, events=without(EVENTS, 3))),
    "an event twice": ("event", lambda: replace(GOOD, events=[*EVENTS, EVENTS[0]])),
    "an event of nothing": (
        "event",
        lambda: replace(GOOD, events=[*EVENTS, EVENTS[0]._replace(type="payment.cancelled")]),
    ),
    "an event without a delivery": (
        "undelivered",
        lambda: replace(GOOD, events=[EVENTS[0]._replace(delivery=None), *EVENTS[1:]]),
    ),
    "a delivery that was given up": (
        "undelivered",
        lambda: replace(GOOD, events=[EVENTS[0]._replace(delivery="failed"), *EVENTS[1:]]),
    ),
    "delivered to nobody": ("undelivered", lambda: replace(GOOD, received=set())),
    "a day's sum that forgot a payment": (
        "limit",
        lambda: replace(GOOD, wallets=wallet(0, spent=200)),
    ),
    "a day that went back": (
        "limit",
        lambda: replace(GOOD, wallets=wallet(0, start=date(2026, 11, 14))),
    ),
    "a month's sum that forgot a payment": (
        "limit",
        lambda: replace(GOOD, wallets=wallet(2, spent=200)),
    ),
    "more than the day allows": (
        "limit",
        lambda: replace(GOOD, wallets=wallet(0, allowed=299)),
    ),
    "an authorization that forgot a charge": (
        "limit",
        lambda: replace(GOOD, authorizations=[GOOD.authorizations[0]._replace(payments=0)]),
    ),
    "a balance that is not the sum": (
        "books",
        lambda: replace(GOOD, wallets=[GOOD.wallets[0]._replace(balance=801)]),
    ),
    "paid, and nothing taken": (
        "books",
        lambda: replace(GOOD, transfers=without(TRANSFERS, 2)),
    ),
    "a lock that nobody lets go of": ("stuck", lambda: replace(GOOD, held=["a key's"])),
}


@pytest.mark.parametrize("harm", HARM)
def test_harm_is_found(harm: str) -> None:
    what, found = HARM[harm]
    assert what in kinds(found())


NOT_DESERVED: dict[str, tuple[str, Operation]] = {
    "a retry that shows another payment": (
        "doubled",
        asked("create", "c1", told(201, "pay_1"), told(201, "pay_4"), key="k1"),
    ),
    "a key that is good for two requests": ("doubled", asked("reuse", "u1", told(201, "pay_1"))),
    "in doubt to the end": ("unresolved", asked("create", "c7", told(None))),
    "a decision in doubt to the end": (
        "unresolved",
        asked("cancel", "c1", told(None), payment_id="pay_1"),
    ),
    "a read that does not know of the refund": (
        "stale",
        asked("read", "c1", told(200, "pay_1", state="paid"), expected_state="refunded"),
    ),
    "a refusal for no reason": ("refused", asked("create", "c7", told(401, code="unauthorized"))),
    "not now, without saying when": ("refused", asked("create", "c7", told(503))),
    "a limit that a payment page does not have": (
        "refused",
        asked("create", "c7", told(409, code="period_limit_exceeded")),
    ),
}


@pytest.mark.parametrize("harm", NOT_DESERVED)
def test_answers_that_should_not_have_been_given_are_found(harm: str) -> None:
    what, operation = NOT_DESERVED[harm]
    kept = [each for each in OPERATIONS if (each.kind, each.reference) != operation_of(operation)]
    assert what in kinds(GOOD, [*kept, operation])


def operation_of(operation: Operation) -> tuple[str, str]:
    return operation.kind, operation.reference


def test_a_retry_that_is_refused_on_its_merits_settles_what_was_in_doubt() -> None:
    refused = asked("charge", "h6", told(None), told(409, code="period_limit_exceeded"), key="k6")
    operations = [*OPERATIONS[:-1], refused]
    assert check(operations, GOOD) == []
    row = Payment("6", "mer_1", "h6", 100, "paid", "charge", authorization="a")
    assert "ghost" in kinds(replace(GOOD, payments=[*PAYMENTS, row]), operations)
    for last in (told(503, retry_after=True), told(500)):
        again = asked("charge", "h6", told(None), last, key="k6")
        assert kinds(GOOD, [*OPERATIONS[:-1], again]) == {"unresolved"}


def test_a_decision_that_is_refused_on_its_merits_has_not_happened() -> None:
    limit = told(422, code="wallet_limit_exceeded")
    pay = asked("pay", "c4", told(None), limit, payment_id="pay_4")
    assert check([*OPERATIONS, pay], GOOD) == []
    found = replace(GOOD, payments=payment(3, state="paid"))
    assert "ghost" in kinds(found, [each for each in [*OPERATIONS, pay] if each.kind != "cancel"])


def test_an_event_that_waits_is_not_lost_until_it_has_had_its_time() -> None:
    waits = [EVENTS[0]._replace(delivery="pending"), *EVENTS[1:]]
    found = replace(GOOD, events=waits, received={each.id for each in waits[1:]})
    assert check(OPERATIONS, found) == []
    assert [each.what for each in check(OPERATIONS, found, delivered=True)] == ["undelivered"]


@pytest.mark.parametrize(
    ("unit", "start"), [("day", DAY), ("week", DAY), ("month", MONTH)], ids=str
)
def test_periods_begin_at_midnight_of_the_maldives(unit: str, start: date) -> None:
    assert period_start(EARLY, unit) == start
    assert period_start(LATE, unit) < start or unit == "month"


def test_payments_are_back_when_none_fails_any_more() -> None:
    probe = Probe(None, None)  # type: ignore[arg-type]
    for began, status in ((1.0, 201), (2.0, None), (2.1, 201), (2.2, 503), (2.3, 201), (2.4, 201)):
        attempt = Attempt("", began, began + 0.5, status)
        probe.operations.append(Operation("create", "mer_1", "c", attempts=[attempt]))
    assert probe.back(1.5) == pytest.approx(1.3)
    assert probe.back(2.15) == pytest.approx(0.65)
    assert probe.back(2.5) is None


@pytest.mark.parametrize("ends", [True, False])
async def test_a_transaction_is_stuck_if_it_stays(
    dsn: str, monkeypatch: pytest.MonkeyPatch, ends: bool
) -> None:
    """It is looked for in a transaction, in which the server shows the same again by itself."""
    monkeypatch.setattr(finding, "HELD_LOOKS", 5)
    async with connection_to(dsn) as looking, connection_to(dsn) as other:
        await other.execute("BEGIN; SELECT 1")
        async with looking.transaction(isolation="repeatable_read", readonly=True):
            looks = asyncio.create_task(finding.held_by_others(looking))
            await asyncio.sleep(1.5 * finding.HELD_SECONDS)
            if ends:
                await other.execute("COMMIT")
            held = await looks
    assert [each.partition(" of ")[0] for each in held] == ([] if ends else ["a transaction"])
