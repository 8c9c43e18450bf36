"""Compares what the model expects with what the service sent.

What only the service can choose is bound when it is first seen: from then on it has to be the same
wherever the model expects it, and nothing else may have the same id, link or reference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from tests.model.reference.state import Answer
from tests.model.reference.times import MALDIVES, Deadline, Stamp
from tests.model.reference.unknowns import AnyText, Mvr, Unknown

SLACK = 0.005  # seconds that two clocks of one machine may differ when they are read
_SHOWN_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\+05:00|Z)")


@dataclass
class Bound:
    """What the service has chosen so far."""

    values: dict[tuple[object, ...], Any] = field(default_factory=dict)
    owners: dict[Any, tuple[object, ...]] = field(default_factory=dict)

    def copy(self) -> Bound:
        return Bound(self.values.copy(), self.owners.copy())

    def text(self, unknown: Unknown) -> str:
        return str(self.values[unknown.key])


def difference(expected: Answer, status: int, body: Any, replayed: bool, bound: Bound) -> str:
    """Where the response differs from the answer; empty where it does not."""
    wanted = expected.status
    if status not in (wanted if isinstance(wanted, frozenset) else {wanted}):
        return f"status {status}, not {wanted}: {body}"
    if replayed != expected.replayed:
        return f"replayed is {replayed}, not {expected.replayed}"
    if expected.body is None:
        return ""
    return compare(expected.body, body, bound, "")


def compare(expected: Any, actual: Any, bound: Bound, place: str) -> str:
    match expected:
        case dict():
            return _compare_members(expected, actual, bound, place)
        case list():
            return _compare_list(expected, actual, bound, place)
        case Unknown():
            return _compare_unknown(expected, actual, bound, place)
        case Stamp():
            return _compare_stamp(expected, actual, bound, place)
        case Deadline():
            return _compare_deadline(expected, actual, bound, place)
    return "" if _same(expected, actual) else f"{place}: {_short(actual)} not {_short(expected)}"


def _same(expected: Any, actual: Any) -> bool:
    match expected:
        case Mvr():
            number = isinstance(actual, int | Decimal) and not isinstance(actual, bool)
            return number and Decimal(actual) * 100 == expected.laari
        case AnyText():
            return isinstance(actual, str) and bool(actual.strip())
    return type(actual) is type(expected) and bool(actual == expected)


def _compare_list(expected: list[Any], actual: Any, bound: Bound, place: str) -> str:
    if not isinstance(actual, list) or len(actual) != len(expected):
        return f"{place}: {_short(actual)} instead of {len(expected)}: {_short(expected)}"
    pairs = enumerate(zip(expected, actual, strict=True))
    found = (compare(one, other, bound, f"{place}[{at}]") for at, (one, other) in pairs)
    return next(filter(None, found), "")


def _compare_members(expected: dict[str, Any], actual: Any, bound: Bound, place: str) -> str:
    if not isinstance(actual, dict) or actual.keys() != expected.keys():
        return f"{place}: {_short(actual)} instead of {_short(expected)}"
    # A deadline follows from the moment it counts from, which may come later in the object.
    names = sorted(expected, key=lambda name: isinstance(expected[name], Deadline))
    found = (compare(expected[name], actual[name], bound, f"{place}.{name}") for name in names)
    return next(filter(None, found), "")


def _compare_unknown(expected: Unknown, actual: Any, bound: Bound, place: str) -> str:
    key = expected.key
    if key in bound.values:
        known = bound.values[key]
        return "" if actual == known else f"{place}: {actual!r} instead of {known!r} {key}"
    if not isinstance(actual, str) or not re.fullmatch(expected.pattern, actual):
        return f"{place}: {actual!r} does not look like {expected.pattern}"
    if expected.alone:
        owner = bound.owners.setdefault(actual, key)
        if owner != key:
            return f"{place}: {actual!r} is that of {owner} already, not of {key}"
    bound.values[key] = actual
    return ""


def _compare_stamp(expected: Stamp, actual: Any, bound: Bound, place: str) -> str:
    """To the second: the same moment is shown as the same second, in Maldives time or in UTC."""
    if not isinstance(actual, str) or not _SHOWN_TIME.fullmatch(actual):
        return f"{place}: {actual!r} is no time"
    second = int(datetime.fromisoformat(actual).timestamp())
    known = bound.values.setdefault(expected.key, second)
    earliest, latest = expected.earliest - SLACK, expected.latest + SLACK
    if second == known and int(earliest) <= second <= latest:
        return ""
    bounds = [datetime.fromtimestamp(at, MALDIVES).isoformat() for at in (known, earliest, latest)]
    return f"{place}: {actual} instead of {bounds[0]}, between {bounds[1]} and {bounds[2]}"


def _compare_deadline(expected: Deadline, actual: Any, bound: Bound, place: str) -> str:
    begun = bound.values.get(expected.begun.key)
    if begun is None:
        return f"{place}: a deadline before its beginning was seen"
    due = datetime.fromtimestamp(begun, UTC) + timedelta(days=1)
    wanted = due.astimezone(MALDIVES).isoformat()
    return "" if actual == wanted else f"{place}: {actual!r} instead of {wanted!r}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 600 else text[:600] + "…"
