"""Reading a request body: JSON as strangers send it, without the surprises Python allows.

`json` alone takes the last of two equal keys, NaN, lone surrogates and nesting up to the
interpreter's limit, and spends quadratic time on very long integers.
"""

import json
from dataclasses import dataclass
from typing import NoReturn

from laari.rules.refusals import Refusal, refuse

MAX_DEPTH = 32
MAX_INTEGER_LENGTH = 30  # far above every field, far below where parsing gets slow
# A valid body has at most 50 entries of metadata and a dozen fields. Each value more takes the time
# of all other requests, so they are counted before anything is parsed.
MAX_VALUES = 200
_MOST_QUOTES = 4 * MAX_VALUES  # a name and a text for each value, with two quotes around each
_NO_MARKS = bytes(set(range(256)) - set(b",[]{}"))


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
    except UnicodeDecodeError:
        return refuse("invalid_json", "The body is not valid UTF-8.")
    excess = _excess(body)
    if excess is not None:
        return excess
    try:
        value = _decode(text)
    except _NotStrictError as problem:
        return refuse("invalid_json", str(problem))
    except json.JSONDecodeError as problem:
        return _malformed(problem)
    if ("\\ud" in text or "\\uD" in text) and _has_lone_surrogate(value):
        return refuse("invalid_json", "The body contains half of a surrogate pair.")
    if not isinstance(value, dict):
        return refuse("invalid_request", "The body must be a JSON object.")
    return value


def _excess(body: bytes) -> Refusal | None:
    """Whether a body has too many levels or values, whichever its parser would meet first.

    A value begins a container or follows a comma, but for the first of each container. So the
    commas and opening brackets outside of texts are as many as the values, or more.
    """
    if _most_values(body) <= MAX_DEPTH:
        return None  # neither limit is within reach, even if all of them are outside of texts
    outside = _outside_texts(body)
    if _most_values(outside) <= MAX_VALUES and _opened(outside) <= MAX_DEPTH:
        return None
    depth = values = 0
    for mark in outside.translate(None, _NO_MARKS)[: 3 * MAX_VALUES]:
        if mark in b"]}":
            depth -= 1
            continue
        values += 1
        depth += mark in b"[{"
        if depth > MAX_DEPTH:
            return refuse("invalid_json", f"The body is nested deeper than {MAX_DEPTH} levels.")
        if values > MAX_VALUES:
            break
    return _too_many() if _most_values(outside) > MAX_VALUES else None


def _outside_texts(body: bytes) -> bytes:
    """What stands between the texts of a body, which may themselves be full of commas.

    A few passes of C, whatever the body is. The rest of a body that has more texts than values
    allow counts as outside: it is no valid one.
    """
    if b"\\" in body:  # an escaped quote ends no text, one behind an escaped backslash does
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(body.split(b'"', _MOST_QUOTES)[::2])


def _most_values(text: bytes) -> int:
    return text.count(b",") + _opened(text)


def _opened(text: bytes) -> int:
    return text.count(b"[") + text.count(b"{")


def _malformed(problem: json.JSONDecodeError) -> Refusal:
    if problem.doc.startswith("\ufeff"):
        return refuse("invalid_json", "The body starts with a byte order mark; send plain UTF-8.")
    where = f"line {problem.lineno}, column {problem.colno}"
    return refuse("invalid_json", f"The body is not valid JSON: {problem.msg} ({where}).")


def _too_many() -> Refusal:
    return refuse("invalid_request", f"The body has more than {MAX_VALUES:,} values.")


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
