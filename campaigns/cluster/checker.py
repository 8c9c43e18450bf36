"""Holds the journal against the database: acknowledged means there, refused means not there.

Pure: it is told what the clients saw and what the database and the webhook receiver have.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from campaigns.journal import NOT_NOW, Operation

EVENT = {"create": "payment.created", "charge": "payment.paid", "cancel": "payment.cancelled"}


class Row(NamedTuple):
    """A payment in the database."""

    id: str
    merchant: str
    reference: str
    amount: int
    state: str
    kind: str


@dataclass(frozen=True)
class Found:
    """What is there at the end."""

    payments: list[Row]
    # Per payment the amounts that were taken from the customer for it.
    taken: dict[str, list[int]] = field(default_factory=dict)
    events: Counter[tuple[str, str]] = field(default_factory=Counter)  # type and payment
    delivered: set[tuple[str, str]] = field(default_factory=set)  # type and payment
    # Per merchant what the customer had at first and has now.
    balances: dict[str, tuple[int, int]] = field(default_factory=dict)


class Problem(NamedTuple):
    what: str  # lost, doubled, ghost, wrong, stale, refused, undelivered, unresolved, books
    detail: str


def check(operations: list[Operation], found: Found) -> list[Problem]:
    return [
        *_doubled(operations, found),
        *_lost(operations, found),
        *_ghosts(operations, found),
        *_cancels(operations, found),
        *_reads(operations),
        *_refusals(operations),
        *_deliveries(operations, found),
        *_books(found),
    ]


def _making(operations: list[Operation]) -> Iterator[Operation]:
    return (each for each in operations if each.kind in ("create", "charge"))


def _doubled(operations: list[Operation], found: Found) -> Iterator[Problem]:
    for operation in _making(operations):
        ids = {each.payment_id for each in operation.attempts if each.outcome == "ok"}
        if len(ids) > 1:
            yield Problem("doubled", f"{operation.reference} was answered with {ids}")
    rows = Counter((row.merchant, row.reference) for row in found.payments)
    for (_, reference), count in rows.items():
        if count > 1:
            yield Problem("doubled", f"{reference} has {count} payments")
    for (event, payment), count in found.events.items():
        if count > 1:
            yield Problem("doubled", f"{payment} has {count} events {event}")
    for row in found.payments:
        taken = found.taken.get(row.id, [])
        if len(taken) > 1:
            yield Problem("doubled", f"{row.reference} was taken from the customer {taken}")


def _lost(operations: list[Operation], found: Found) -> Iterator[Problem]:
    rows = {row.id: row for row in found.payments}
    for operation in _making(operations):
        if operation.acknowledged is None:
            if operation.was_in_doubt:
                yield Problem("unresolved", f"{operation.reference}: retries did not settle it")
            continue
        row = rows.get(operation.acknowledged.payment_id or "")
        if row is None:
            yield Problem("lost", f"{operation.reference} was acknowledged and is not there")
        elif (row.merchant, row.reference, row.amount) != (
            operation.merchant,
            operation.reference,
            operation.amount,
        ):
            yield Problem("wrong", f"{operation.reference} is there as {row}")
        elif operation.kind == "charge" and found.taken.get(row.id) != [row.amount]:
            yield Problem("lost", f"{operation.reference} is paid, but nothing was taken for it")


def _ghosts(operations: list[Operation], found: Found) -> Iterator[Problem]:
    known = {(each.merchant, each.reference): each for each in _making(operations)}
    for row in found.payments:
        operation = known.get((row.merchant, row.reference))
        if operation is None:
            yield Problem("ghost", f"{row.reference} is there and nobody asked for it")
        elif operation.was_refused:
            codes = [each.code or each.status for each in operation.attempts]
            yield Problem("ghost", f"{row.reference} is there, and its client was told {codes}")


def _cancels(operations: list[Operation], found: Found) -> Iterator[Problem]:
    rows = {row.id: row for row in found.payments}
    by_payment: defaultdict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        if operation.kind == "cancel" and operation.payment_id is not None:
            by_payment[operation.payment_id].append(operation)
    for payment, cancels in by_payment.items():
        row = rows.get(payment)
        if row is None:
            continue  # lost, and said so above
        if any(each.acknowledged for each in cancels):
            if row.state != "cancelled":
                yield Problem("lost", f"{row.reference} was cancelled and is {row.state}")
        elif all(each.was_refused for each in cancels) and row.state != "pending":
            yield Problem("ghost", f"the cancel of {row.reference} was refused: {row.state}")
    cancelled = set(by_payment)
    for row in found.payments:
        if row.kind == "hosted" and row.id not in cancelled and row.state != "pending":
            yield Problem("ghost", f"{row.reference} is {row.state} and nobody asked for it")


def _reads(operations: Iterable[Operation]) -> Iterator[Problem]:
    for operation in operations:
        if operation.kind != "read":
            continue
        for attempt in operation.attempts:
            if attempt.status == 404:
                yield Problem("stale", f"{operation.reference} was acknowledged, then not found")
            elif attempt.outcome == "ok" and attempt.state != operation.expected_state:
                expected = operation.expected_state
                yield Problem("stale", f"{operation.reference}: {expected}, read {attempt.state}")
            elif attempt.status == 500:
                yield Problem("refused", f"read of {operation.reference}: 500")


def _refusals(operations: Iterable[Operation]) -> Iterator[Problem]:
    """Refusals that nothing in this load deserves, and those that do not say when to come back."""
    for operation in operations:
        for attempt in operation.attempts:
            if attempt.outcome != "refused":
                continue
            if attempt.code not in NOT_NOW:
                yield Problem("refused", f"{operation.kind}: {attempt.status} {attempt.code}")
            if attempt.status == 503 and not attempt.retry_after:
                yield Problem("refused", f"{operation.kind}: 503 without Retry-After")


def _deliveries(operations: Iterable[Operation], found: Found) -> Iterator[Problem]:
    for operation in operations:
        if operation.kind == "read" or operation.acknowledged is None:
            continue
        payment = operation.payment_id or operation.acknowledged.payment_id or ""
        event = (EVENT[operation.kind], payment)
        if event not in found.delivered:
            yield Problem("undelivered", f"{event[0]} of {operation.reference}")


def _books(found: Found) -> Iterator[Problem]:
    spent: Counter[str] = Counter()
    for row in found.payments:
        spent[row.merchant] += sum(found.taken.get(row.id, []))
    for merchant, (first, last) in found.balances.items():
        if first - spent[merchant] != last:
            detail = f"{first} - {spent[merchant]} is not {last}"
            yield Problem("books", f"the customer of {merchant}: {detail}")
