"""Calls sent at the same time: their responses must fit some serial order of the model.

The search tries the orders call by call and gives up an order at the first response that does not
fit it. A call that was answered before another was sent comes before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.model.binding import Bound, difference
from tests.model.driver import Reply
from tests.model.reference.service import OPERATIONS, apply
from tests.model.reference.state import Answer, State
from tests.model.reference.steps import Call


@dataclass(frozen=True)
class Sent:
    call: Call
    reply: Reply


@dataclass
class Fit:
    """A serial order that the responses fit, and what is true after it."""

    order: tuple[int, ...]
    state: State
    bound: Bound


def fit(state: State, bound: Bound, group: Sequence[Sent]) -> tuple[Fit | None, list[str]]:
    """Some order that fits, or why none does: what was wrong with each."""
    # All of them happened at some moment of the whole group's.
    start = min(sent.reply.start for sent in group)
    end = max(sent.reply.end for sent in group)
    problems: list[str] = []

    def search(so_far: Fit, left: Sequence[Sent]) -> Fit | None:
        if not left:
            return so_far
        for sent in left:
            if any(other.reply.end < sent.reply.start for other in left):
                continue  # that one was over before
            state, bound = so_far.state.copy(), so_far.bound.copy()
            problem = ""
            if not _is_passing(sent, group):
                expected = apply(state, sent.call, start, end)
                problem = _difference(expected, sent, bound)
            order = (*so_far.order, sent.call.number)
            if problem:
                problems.append(f"{order}: {problem}")
                continue
            rest = [other for other in left if other is not sent]
            found = search(Fit(order, state, bound), rest)
            if found is not None:
                return found
        return None

    return search(Fit((), state, bound), group), problems


def _difference(expected: Answer, sent: Sent, bound: Bound) -> str:
    reply = sent.reply
    return difference(expected, reply.status, reply.body, reply.replayed, bound)


def _is_passing(sent: Sent, group: Sequence[Sent]) -> bool:
    """Refused only because another call of the group was under way: nothing was done."""
    body = sent.reply.body
    code = body["error"]["code"] if isinstance(body, dict) and "error" in body else ""
    others = [other.call for other in group if other is not sent]
    if code == "idempotency_in_progress":
        return any(_slot(other) == _slot(sent.call) for other in others)
    if code == "payment_in_progress":
        return any(other.subject == sent.call.subject for other in others)
    return False


def _slot(call: Call) -> tuple[object, ...]:
    keyed = call.operation in OPERATIONS and OPERATIONS[call.operation].keyed
    return (call.merchant, call.operation, call.key if keyed else None)
