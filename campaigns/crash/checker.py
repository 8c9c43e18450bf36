"""Holds the journal against the database: acknowledged means there, refused means not there.

Pure: it is told what the clients saw and what is in the database and at the webhook receiver.

lost        acknowledged and not there
doubled     there, or paid for, more than once
ghost       there, and refused or never asked for
wrong       there, and not as it was asked for
torn        one half of what belongs together: a payment without its saved response, or the reverse
event       a change of state without its event, or an event without its change
undelivered an event that reached nobody and waits for nobody
limit       a counter that is not the sum of the payments, or above its limit
books       a balance that is not the sum of the transfers
stale       a read behind what had been acknowledged
refused     a refusal that nothing in this load deserves
unresolved  in doubt to the end
stuck       a lock that nobody lets go of
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta, timezone
from typing import NamedTuple

from campaigns.crash.found import Counted, Found, Spend, number
from campaigns.journal import NOT_NOW, Operation

MAKING = ("create", "charge", "request")
# What an operation makes of the payment or request that it is about.
DECIDING = {
    "pay": "paid",
    "cancel": "cancelled",
    "refund": "refunded",
    "pay_request": "paid",
    "cancel_request": "cancelled",
}
LATER = {"pending": 0, "cancelled": 1, "paid": 1, "refunded": 2}
LIMITS = {"period_limit_exceeded", "wallet_limit_exceeded"}
DESERVED = {
    "charge": NOT_NOW | LIMITS,
    "pay": NOT_NOW | {"wallet_limit_exceeded"},
    "pay_request": NOT_NOW | {"wallet_limit_exceeded"},
    "reuse": NOT_NOW | {"idempotency_conflict"},
}
MALDIVES = timezone(timedelta(hours=5))


class Problem(NamedTuple):
    what: str
    detail: str


def check(operations: list[Operation], found: Found, *, delivered: bool = False) -> list[Problem]:
    """All that is wrong. `delivered`: every event has had the time to reach the receiver."""
    return [
        *_doubled(operations, found),
        *_made(operations, found),
        *_states(operations, found),
        *_keys(operations, found),
        *_answers(operations),
        *_events(found, delivered),
        *_limits(found),
        *_books(found),
        *(Problem("stuck", each) for each in found.held),
    ]


def _refused_for_good(operation: Operation) -> bool:
    """A retry was refused for a reason of its own, and not just for now: it had not happened."""
    last = operation.attempts[-1] if operation.attempts else None
    return last is not None and last.outcome == "refused" and last.code not in NOT_NOW


def _in_doubt(operation: Operation) -> bool:
    """Nobody was ever told what came of it."""
    if operation.acknowledged is not None or _refused_for_good(operation):
        return False
    return operation.was_in_doubt


def _doubled(operations: list[Operation], found: Found) -> Iterator[Problem]:
    for operation in operations:
        shown = {each.payment_id for each in operation.attempts if each.outcome == "ok"}
        if operation.kind in MAKING and len(shown) > 1:
            yield Problem("doubled", f"{operation.reference} was answered with {shown}")
    # A payment that was made from a request has its reference.
    own = [row for row in found.payments if row.kind != "request"]
    rows = Counter((row.merchant, row.reference) for row in (*own, *found.requests))
    for (_, reference), count in rows.items():
        if count > 1:
            yield Problem("doubled", f"{reference} is there {count} times")
    moved = Counter((each.kind, each.payment) for each in found.transfers if each.payment)
    for (kind, payment), count in moved.items():
        if count > 1:
            yield Problem("doubled", f"{count} transfers of the kind {kind} for {payment}")


def _made(operations: list[Operation], found: Found) -> Iterator[Problem]:
    rows = {row.id: row for row in (*found.payments, *found.requests)}
    asked = {(each.merchant, each.reference): each for each in operations if each.kind in MAKING}
    for operation in asked.values():
        if operation.acknowledged is None:
            if _in_doubt(operation):
                yield Problem("unresolved", f"{operation.kind} {operation.reference}")
            continue
        row = rows.get(number(operation.acknowledged.payment_id))
        told = (operation.merchant, operation.reference, operation.amount)
        if row is None:
            yield Problem("lost", f"{operation.reference} was acknowledged and is not there")
        elif (row.merchant, row.reference, row.amount) != told:
            yield Problem("wrong", f"{told} is there as {row}")
    for row in rows.values():
        made = asked.get((row.merchant, row.reference))
        if made is None:
            yield Problem("ghost", f"{row.reference} is there and nobody asked for it")
        elif made.was_refused or _refused_for_good(made):
            codes = [each.code or each.status for each in made.attempts]
            yield Problem("ghost", f"{row.reference} is there, and its client was told {codes}")


def _states(operations: list[Operation], found: Found) -> Iterator[Problem]:
    about: defaultdict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        if operation.kind in DECIDING:
            about[number(operation.payment_id)].append(operation)
            if _in_doubt(operation):
                yield Problem("unresolved", f"{operation.kind} {operation.reference}")
    requests = {row.id: row.state for row in found.requests}
    for row in (*found.payments, *found.requests):
        origin = requests.get(getattr(row, "request", None) or "")
        first = "paid" if getattr(row, "kind", "") == "charge" else "pending"
        told = {DECIDING[each.kind] for each in about[row.id] if each.acknowledged}
        expected = origin or max(told, key=LATER.__getitem__, default=first)
        doubt = {DECIDING[each.kind] for each in about[row.id] if _in_doubt(each)}
        if "cancelled" in told and len(told) > 1:
            yield Problem("doubled", f"{row.reference} was told to be {told}")
        if row.state == expected or (row.state in doubt - told and origin is None):
            continue
        less = LATER.get(row.state, 0) < LATER[expected]
        yield Problem("lost" if less else "ghost", f"{row.reference}: {expected}, is {row.state}")


def _keys(operations: list[Operation], found: Found) -> Iterator[Problem]:
    rows = {(row.merchant, row.reference): row.id for row in found.payments}
    rows |= {(row.merchant, row.reference): row.id for row in found.requests}
    for operation in operations:
        if operation.kind not in MAKING or operation.key is None:
            continue
        row = rows.get((operation.merchant, operation.reference))
        saved = found.saved.get((operation.merchant, operation.key))
        shows = saved.about if saved is not None and saved.status < 300 else None
        if row != shows:
            detail = f"there is {row}, and under its key {saved}"
            yield Problem("torn", f"{operation.kind} {operation.reference}: {detail}")


def _answers(operations: Iterable[Operation]) -> Iterator[Problem]:
    for operation in operations:
        deserved = DESERVED.get(operation.kind, NOT_NOW)
        named = f"{operation.kind} of {operation.reference}"
        if operation.kind == "reuse" and operation.acknowledged is not None:
            yield Problem("doubled", f"{named}: a key was good for two different requests")
        for each in operation.attempts:
            if each.outcome == "refused" and each.code not in deserved:
                yield Problem("refused", f"{named}: {each.status} {each.code}")
            if each.status == 503 and not each.retry_after:
                yield Problem("refused", f"{named}: 503 without Retry-After")
            if operation.kind != "read" or each.outcome != "ok":
                continue
            expected = operation.expected_state
            if expected is not None and LATER[each.state or "pending"] < LATER[expected]:
                yield Problem("stale", f"{named}: {expected}, read {each.state}")


def _events(found: Found, delivered: bool) -> Iterator[Problem]:
    has = Counter((each.type, each.about) for each in found.events)
    wants = Counter(_wanted_events(found))
    for kind, about in wants - has:
        yield Problem("event", f"there is no {kind} of {about}")
    for kind, about in has - wants:
        yield Problem("event", f"there is a {kind} of {about}, and nothing of the kind happened")
    for each in found.events:
        if each.delivery is None or each.delivery == "failed":
            yield Problem("undelivered", f"{each.type} {each.id}: {each.delivery}")
        elif each.id not in found.received and (delivered or each.delivery == "delivered"):
            yield Problem("undelivered", f"{each.type} {each.id} is {each.delivery} and never came")


def _wanted_events(found: Found) -> Iterator[tuple[str, str]]:
    for row in found.payments:
        if row.kind == "hosted":
            yield "payment.created", row.id
        if row.state in ("paid", "refunded"):
            yield "payment.paid", row.id
            if row.state == "refunded":
                yield "payment.refunded", row.id
        elif row.state != "pending":
            yield f"payment.{row.state}", row.id
    for request in found.requests:
        yield "payment_request.created", request.id
        if request.state != "pending":
            state = "paid" if request.state == "refunded" else request.state
            yield f"payment_request.{state}", request.id
    for authorization in found.authorizations:
        yield "authorization.created", authorization.id
        yield "authorization.approved", authorization.id


def _limits(found: Found) -> Iterator[Problem]:
    spent_by: defaultdict[int, list[Spend]] = defaultdict(list)
    charged: defaultdict[str | None, list[Spend]] = defaultdict(list)
    authorization_of = {row.id: row.authorization for row in found.payments}
    for spend in found.spends:
        spent_by[spend.account].append(spend)
        charged[authorization_of.get(spend.payment)].append(spend)
    for wallet in found.wallets:
        for counted in wallet.counted:
            yield from _counter(f"wallet {wallet.account}", counted, spent_by[wallet.account])
    for each in found.authorizations:
        named, spends = f"authorization {each.id}", charged[each.id]
        if each.counted is not None:
            yield from _counter(named, each.counted, spends)
        sums = (sum(spend.amount for spend in spends), len(spends))
        if sums != (each.total, each.payments):
            yield Problem("limit", f"{named}: {(each.total, each.payments)} counted, {sums} paid")


def _counter(named: str, counted: Counted, spends: list[Spend]) -> Iterator[Problem]:
    """Counts once more, period after period: a period that has begun does not end by a clock
    that is behind."""
    start, spent = date.min, 0
    for spend in spends:
        began = period_start(spend.at, counted.unit)
        if began > start:
            start, spent = began, 0
        spent += spend.amount
        if counted.allowed is not None and spent > counted.allowed:
            detail = f"{spent} of {counted.allowed} spent since {start}"
            yield Problem("limit", f"{named}, {counted.unit}: {detail}")
    if spends and (counted.start, counted.spent) != (start, spent):
        detail = f"{counted.spent} since {counted.start} counted, {spent} since {start} paid"
        yield Problem("limit", f"{named}, {counted.unit}: {detail}")


def period_start(at: datetime, unit: str) -> date:
    """Weeks begin on Sunday, all of them at midnight in +05:00."""
    day = at.astimezone(MALDIVES).date()
    if unit == "week":
        return day - timedelta(days=day.isoweekday() % 7)
    return day if unit == "day" else day.replace(day=1)


def _books(found: Found) -> Iterator[Problem]:
    balance: Counter[int] = Counter()
    for each in found.transfers:
        balance[each.credit] += each.amount
        balance[each.debit] -= each.amount
    for wallet in found.wallets:
        if wallet.balance != balance[wallet.account]:
            detail = f"{wallet.balance}, its transfers say {balance[wallet.account]}"
            yield Problem("books", f"wallet {wallet.account} has {detail}")
    moved = {(each.kind, each.payment): each.amount for each in found.transfers}
    for row in found.payments:
        taken, back = moved.get(("payment", row.id)), moved.get(("refund", row.id))
        told = (
            row.amount if row.state in ("paid", "refunded") else None,
            row.amount if row.state == "refunded" else None,
        )
        if (taken, back) != told:
            yield Problem("books", f"{row.reference} is {row.state}: {taken} taken, {back} back")
