"""Calls sent at the same time: their responses must fit some serial order of the model.

The search goes call by call and gives up an order at the first response that does not fit it.
Orders of the same calls that come to the same are one. A call that was answered before another was
sent comes before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.model.driver import Reply
from tests.model.reference.service import OPERATIONS
from tests.model.reference.steps import Call
from tests.model.worlds import World, as_named_in, distinct


@dataclass(frozen=True)
class Sent:
    call: Call
    reply: Reply


def fit(worlds: Sequence[World], group: Sequence[Sent]) -> tuple[list[World], list[str]]:
    """All that may be true after these calls, and what was wrong with the orders that do not fit.

    The calls were chosen in the first of the worlds.
    """
    # All of them happened at some moment of the whole group's.
    start = min(sent.reply.start for sent in group)
    end = max(sent.reply.end for sent in group)
    problems: list[str] = []
    after: dict[tuple[int, ...], list[World]] = {(): [*worlds]}  # by the calls that have happened
    for _ in group:
        before, after = after, {}
        for done, possible in before.items():
            for sent in _next(group, done):
                for world in possible:
                    copy, problem = world.copy(), ""
                    if not _is_passing(sent, group):
                        call = as_named_in(worlds[0], world, sent.call)
                        problem = copy.step(call, sent.reply, start, end)
                    if problem:
                        problems.append(f"{done}, then {sent.call.number}: {problem}")
                    else:
                        calls = tuple(sorted((*done, sent.call.number)))
                        after.setdefault(calls, []).append(copy)
        after = {calls: distinct(possible) for calls, possible in after.items()}
    return [world for possible in after.values() for world in possible], problems


def _next(group: Sequence[Sent], done: tuple[int, ...]) -> list[Sent]:
    """Those of the others that may come first: none of them was over before."""
    left = [sent for sent in group if sent.call.number not in done]
    return [sent for sent in left if not any(other.reply.end < sent.reply.start for other in left)]


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
