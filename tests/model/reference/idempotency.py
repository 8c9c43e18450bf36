"""Idempotency keys: the same request again is answered again, not done again."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.model.reference.answers import Refused, code_of
from tests.model.reference.state import Answer, Saved
from tests.model.reference.steps import Step
from tests.model.reference.times import Deadline, has_passed

# Answers that say nothing lasting about the request.
PASSING = ("payment_in_progress", "idempotency_in_progress", "idempotency_conflict")


def is_valid(key: str) -> bool:
    return 1 <= len(key) <= 255 and all("!" <= character <= "~" for character in key)


def canonical(value: Any) -> Any:
    """The order of members does not count; values, types and presence do."""
    match value:
        case dict():
            return tuple((name, canonical(value[name])) for name in sorted(value))
        case list():
            return tuple(map(canonical, value))
    return (type(value).__name__, value)


def once(step: Step, perform: Callable[[Step], Answer]) -> Answer:
    """Keys are apart by merchant, mode and operation, and kept for 24 hours."""
    key, call = step.call.key, step.call
    if key is None:
        return perform(step)
    if not is_valid(key):
        raise Refused("invalid_idempotency_key")
    slot = (step.tenant, call.operation, key)
    request = (call.subject, canonical(step.fields))
    saved = step.state.saved.get(slot)
    if saved is not None and not has_passed(Deadline(saved.completed_at), step.now):
        if saved.request != request:
            raise Refused("idempotency_conflict")
        return replace(saved.answer, replayed=True)
    answer = perform(step)
    if code_of(answer) not in PASSING:
        step.state.saved[slot] = Saved(request, step.now, answer)
    return answer
