"""JSON bodies, read strictly.

`json` accepts repeated keys, NaN, lone surrogates, deep nesting and very long, slow integers.
"""

import json
from dataclasses import dataclass
from typing import NoReturn

from laari.rules.refusals import Refusal, refuse

MAX_DEPTH = 32
MAX_INTEGER_LENGTH = 30  # far above every field, far below where parsing gets slow
# A valid body has at most 50 entries of metadata and a dozen fields. Values are counted before
# parsing, because parsing takes time from other requests.
MAX_VALUES = 200
_MOST_QUOTES = 4 * MAX_VALUES  # a name and a text for each value, with two quotes around each
_NO_MARKS = bytes(set(range(256)) - set(b",[]{}"))


@dataclass(frozen=True, slots=True)
class LongInteger:
    """An integer too long to compute: no field takes it, but fingerprints have to differ."""

    text: str


class _NotStrictError(ValueError):
    """Valid for Python, not for us; its message may be shown."""


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
    """Whether a body has too many levels or values, whichever comes first.

    There are at most as many values as commas and opening brackets outside of texts.
    """
    if _most_values(body) <= MAX_DEPTH:
        return None  # neither limit is within reach, even if all of them are outside of texts
    outside = _outside_texts(body)
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
    if _most_values(outside) > MAX_VALUES:
        return refuse("invalid_request", f"The body has more than {MAX_VALUES:,} values.")
    return None


def _outside_texts(body: bytes) -> bytes:
    """The body without its texts, which may be full of commas, in a few passes of C.

    A body with too many texts is not valid: its rest counts as outside.
    """
    if b"\\" in body:  # an escaped quote ends no text, one behind an escaped backslash does
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(body.split(b'"', _MOST_QUOTES)[::2])


def _most_values(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _malformed(problem: json.JSONDecodeError) -> Refusal:
    if problem.doc.startswith("\ufeff"):
        return refuse("invalid_json", "The body starts with a byte order mark; send plain UTF-8.")
    where = f"line {problem.lineno}, column {problem.colno}"
    return refuse("invalid_json", f"The body is not valid JSON: {problem.msg} ({where}).")


def _has_lone_surrogate(value: object) -> bool:
    """The decoder has joined escaped pairs, so any surrogate left is alone."""
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
