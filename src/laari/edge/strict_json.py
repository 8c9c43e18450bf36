"""Reading a request body: JSON as strangers send it, without the surprises Python allows.

`json` alone takes the last of two equal keys, NaN, lone surrogates and nesting up to the
interpreter's limit, and spends quadratic time on very long integers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NoReturn

from laari.rules.refusals import Refusal, refuse

MAX_DEPTH = 32
MAX_INTEGER_LENGTH = 30  # far above every field, far below where parsing gets slow
# What no request has, and what would keep the process for a tenth of a second and more: half a
# megabyte holds a quarter of a million values. Commas are counted first, as they tell the most
# there can be without parsing; texts that fit into our fields have up to some 30,000 of them.
MAX_COMMAS = 40_000
MAX_VALUES = 2_000


@dataclass(frozen=True, slots=True)
class LongInteger:
    """An integer too long to be worth computing: no field takes it, yet it differs from others."""

    text: str


class _NotStrictError(ValueError):
    """Valid for Python, not for us; the message is ours to show."""


def read_object(body: bytes) -> dict[str, object] | Refusal:
    """The JSON object in a request body, or why there is none."""
    if not body:
        return refuse("invalid_json", "The body is empty; a JSON object is expected.")
    try:
        text = body.decode()
        if text.count(",") > MAX_COMMAS:
            return _too_many()
        value = _decode(text)
    except UnicodeDecodeError:
        return refuse("invalid_json", "The body is not valid UTF-8.")
    except RecursionError:
        return _too_deep()
    except _NotStrictError as problem:
        return refuse("invalid_json", str(problem))
    except json.JSONDecodeError as problem:
        return _malformed(problem)
    doubtful = _look_into(text, value)
    if doubtful is not None:
        return doubtful
    if not isinstance(value, dict):
        return refuse("invalid_request", "The body must be a JSON object.")
    return value


def _look_into(text: str, value: object) -> Refusal | None:
    """What is wrong within; each of the walks is made only where the text could need it."""
    if text.count("{") + text.count("[") > MAX_DEPTH and _is_too_deep(value):
        return _too_deep()
    # There are no more values on any level than places between commas.
    if (text.count(",") + 1) * MAX_DEPTH > MAX_VALUES and _values(value) > MAX_VALUES:
        return _too_many()
    if ("\\ud" in text or "\\uD" in text) and _has_lone_surrogate(value):
        return refuse("invalid_json", "The body contains half of a surrogate pair.")
    return None


def _malformed(problem: json.JSONDecodeError) -> Refusal:
    if problem.doc.startswith("\ufeff"):
        return refuse("invalid_json", "The body starts with a byte order mark; send plain UTF-8.")
    where = f"line {problem.lineno}, column {problem.colno}"
    return refuse("invalid_json", f"The body is not valid JSON: {problem.msg} ({where}).")


def _too_deep() -> Refusal:
    return refuse("invalid_json", f"The body is nested deeper than {MAX_DEPTH} levels.")


def _too_many() -> Refusal:
    return refuse("invalid_request", f"The body has more than {MAX_VALUES:,} values.")


def _values(value: object) -> int:
    """The members of all objects and the items of all arrays."""
    total = 0
    level = _containers([value])
    while level:
        total += sum(map(len, level))
        level = [child for container in level for child in _containers(container)]
    return total


def _is_too_deep(value: object) -> bool:
    level = _containers([value])
    for _ in range(MAX_DEPTH):
        level = [child for container in level for child in _containers(container)]
        if not level:
            return False
    return True


def _containers(values: dict[str, object] | list[object]) -> list[dict[str, object] | list[object]]:
    """The objects and arrays directly within one."""
    members = values.values() if isinstance(values, dict) else values
    return [each for each in members if isinstance(each, dict | list)]


def _has_lone_surrogate(value: object) -> bool:
    """Escaped pairs have become one character by now, so that what is left stands alone."""
    try:
        json.dumps(value, ensure_ascii=False, default=repr).encode()
    except UnicodeEncodeError:
        return True
    return False


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _NotStrictError("The body repeats a key within one object.")
    return members


def _integer(text: str) -> int | LongInteger:
    return int(text) if len(text) <= MAX_INTEGER_LENGTH else LongInteger(text)


def _constant(name: str) -> NoReturn:
    raise _NotStrictError(f"{name} is not a JSON number.")


_decode = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_constant=_constant
).decode
