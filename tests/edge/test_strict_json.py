"""Request bodies: ordinary JSON comes through unchanged, everything doubtful is refused."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laari.edge.input.strict_json import MAX_DEPTH, MAX_VALUES, LongInteger, read_object
from laari.rules.idempotency import fingerprint
from laari.rules.refusals import Refusal
from tests.sampling import some_of

MAX_BODY = 512 * 1024

texts = st.text(st.characters(codec="utf-8"), max_size=12)
integers = st.integers(-(10**29) + 1, 10**30 - 1)
leaves = st.none() | st.booleans() | integers | st.floats(allow_nan=False) | texts
finite = leaves.filter(lambda leaf: leaf not in (float("inf"), float("-inf")))
documents = st.recursive(
    finite,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(texts, documents, max_size=4)


def code(body: bytes) -> str:
    answer = read_object(body)
    assert isinstance(answer, Refusal), answer
    assert answer.field is None
    assert answer.message.isprintable()
    return answer.code


def same(one: Any, other: Any) -> bool:
    """Equal in value and in type: `1 == 1.0 == True` is not good enough here."""
    return fingerprint((), {"": one}) == fingerprint((), {"": other})


@given(objects, st.booleans(), st.sampled_from([None, 2]))
def test_ordinary_documents_round_trip(
    document: dict[str, Any], ascii_only: bool, indent: int | None
) -> None:
    body = json.dumps(document, ensure_ascii=ascii_only, indent=indent).encode()
    answer = read_object(body)
    assert answer == document
    assert same(answer, document)


@given(st.binary(max_size=60) | st.text('{}[]":,\\u0dD8e-+.1 tNaIn', max_size=30).map(str.encode))
def test_junk_never_raises(body: bytes) -> None:
    answer = read_object(body)
    if isinstance(answer, Refusal):
        assert answer.code in ("invalid_json", "invalid_request")
    else:
        assert answer == json.loads(body)


@given(documents.filter(lambda value: not isinstance(value, dict)))
def test_other_documents_are_no_object(document: Any) -> None:
    assert code(json.dumps(document).encode()) == "invalid_request"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" \r\n\t",
        b"{",
        b"{}}",
        b"{} {}",
        b"{'a': 1}",
        b'{"a": 1,}',
        b'{"a": 01}',
        b'{"a": +1}',
        b'{"a": .5}',
        b'{"a": 1.}',
        b'{"a": 0x1}',
        b'{"a": 1_000}',
        b'{"a": \xd9\xa1}',  # an Arabic digit
        b'{"a": True}',
        b"{a: 1}",
        b'{"a": "\n"}',
        b'{"a": "\\x41"}',
        b'{"a": "\\u00g0"}',
        b'{"a": "\\u+123"}',
        b"\x00",
        b"/**/{}",
    ],
)
def test_unparsable_bodies(body: bytes) -> None:
    assert code(body) == "invalid_json"


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": 1, "a": 1}',
        b'{"a": {"b": [{"c": 1, "d": 2, "c": 3}]}}',
        b'{"a": 1, "\\u0061": 2}',  # the same key, written differently
        b'[{"a": 1, "a": 2}]',
    ],
)
def test_duplicate_keys(body: bytes) -> None:
    assert code(body) == "invalid_json"


def test_equal_keys_of_different_objects_are_fine() -> None:
    assert read_object(b'{"a": {"a": [{"a": 1}, {"a": 2}]}}') == {"a": {"a": [{"a": 1}, {"a": 2}]}}


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_constants_that_are_not_json(constant: str) -> None:
    assert code(f'{{"a": [{constant}]}}'.encode()) == "invalid_json"


def nested(opening: str, depth: int, closing: str) -> bytes:
    """An object whose member is nested so that the whole is `depth` levels deep."""
    return f'{{"a": {opening * (depth - 1)}{closing * (depth - 1)}}}'.encode()


def test_nesting_up_to_32_levels() -> None:
    assert isinstance(read_object(nested("[", 32, "]")), dict)
    assert code(nested("[", 33, "]")) == "invalid_json"
    assert isinstance(read_object(b'{"a":' * 32 + b"1" + b"}" * 32), dict)
    assert code(b'{"a":' * 33 + b"1" + b"}" * 33) == "invalid_json"


@pytest.mark.parametrize("depth", [100, 900, 5_000, 100_000])
def test_deep_nesting_is_refused(depth: int) -> None:
    assert code(nested("[", depth, "]")) == "invalid_json"
    assert code(b'{"a":' * depth + b"1" + b"}" * depth) == "invalid_json"
    assert code(b"[" * depth) == "invalid_json"


def test_brackets_that_do_not_nest_are_not_depth() -> None:
    wide = {"lists": [[] for _ in range(50)], "text": "[{" * 100}
    assert read_object(json.dumps(wide).encode()) == wide


@pytest.mark.parametrize(
    "text",
    ["\\ud800", "\\uD83D", "\\ude00", "a\\ud83dz", "\\ude00\\ud83d", "\\ud83d\\ud83d\\ude00"],
)
def test_lone_surrogates(text: str) -> None:
    assert code(f'{{"a": "{text}"}}'.encode()) == "invalid_json"
    assert code(f'{{"{text}": 1}}'.encode()) == "invalid_json"
    assert code(f'{{"a": [{{"b": ["{text}"]}}]}}'.encode()) == "invalid_json"


def test_surrogate_pairs_and_escaped_backslashes_are_fine() -> None:
    assert read_object(b'{"a": "\\ud83d\\ude00"}') == {"a": "😀"}
    assert read_object(b'{"a": "\\uD83D\\uDE00"}') == {"a": "😀"}
    assert read_object(b'{"a": "\\\\ud800"}') == {"a": "\\ud800"}
    assert read_object(b'{"a": "\\ud7ff\\u0000"}') == {"a": "\ud7ff\0"}  # NUL is the fields' matter
    beside_long = b'{"a": "\\ud83d\\ude00", "b": ' + b"9" * 50 + b"}"
    assert isinstance(read_object(beside_long), dict)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings(encoding: str) -> None:
    assert code('{"a": "ދިވެހި"}'.encode(encoding)) == "invalid_json"


@pytest.mark.parametrize(
    "raw", [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"]
)
def test_invalid_utf8(raw: bytes) -> None:
    assert code(b'{"a": "' + raw + b'"}') == "invalid_json"


def test_long_integers_are_kept_apart_without_being_computed() -> None:
    body = b'{"a": %s, "b": %s, "c": -%s}' % (b"9" * 30, b"9" * 31, b"9" * 5_000)
    answer = read_object(body)
    assert answer == {
        "a": int("9" * 30),
        "b": LongInteger("9" * 31),
        "c": LongInteger("-" + "9" * 5_000),
    }
    assert not isinstance(LongInteger("1"), int)
    assert "999" in repr(LongInteger("999"))
    one, other = (read_object(b'{"a": 1%s}' % (digit * 40)) for digit in (b"0", b"1"))
    assert isinstance(one, dict)
    assert isinstance(other, dict)
    assert fingerprint((), one) != fingerprint((), other)


def test_floats_stay_floats() -> None:
    answer = read_object(b'{"a": 5.0, "b": 5e0, "c": 1e400}')
    assert answer == {"a": 5.0, "b": 5.0, "c": float("inf")}
    assert isinstance(answer, dict)
    assert all(type(value) is float for value in answer.values())


@pytest.mark.parametrize(
    "unit",
    some_of([b'{"a":', b"9", b"[", b"[],", b"1,", b'"', b"\\", b"\\ud800", b" ", b"\x00", b"\xff"]),
)
@pytest.mark.parametrize("start", some_of([b'{"a":[', b"", b'{"a":', b'{"a":"', b'{"a":0.'], 3))
def test_half_a_mebibyte_of_anything_is_quick(unit: bytes, start: bytes) -> None:
    body = (start + unit * (MAX_BODY // len(unit)))[:MAX_BODY]
    begun = time.process_time()
    for ending in (b"", b"}", b"]}", b"1]}", b'"}'):
        read_object(body + ending)
    assert time.process_time() - begun < 5  # milliseconds in fact; quadratic work takes minutes


MANY = {
    "items": lambda n: b'{"a": [' + b",".join([b"1"] * (n - 1)) + b"]}",
    "members": lambda n: json.dumps({str(i): 1 for i in range(n)}).encode(),
    "arrays": lambda n: b'{"a": [' + b",".join([b"[1]"] * ((n - 1) // 2)) + b"]}",
    "spread over levels": lambda n: (
        b'{"a": [' + b",".join([b"[[[[[[[1]]]]]]]"] * ((n - 1) // 8)) + b"]}"
    ),
}


@pytest.mark.parametrize("form", MANY)
def test_a_body_has_a_bounded_number_of_values(form: str) -> None:
    assert isinstance(read_object(MANY[form](MAX_VALUES)), dict)
    assert code(MANY[form](MAX_VALUES + 9)) == "invalid_request"


@pytest.mark.parametrize("unit", [",", "[", "{", "]}", '"', "\\", '\\"', '",', "\n", "😀", '"[,'])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_texts_may_be_full_of_marks(unit: str, ascii_only: bool) -> None:
    """The longest texts a payment can have, of whatever separates and ends things elsewhere."""
    metadata = {f"{n:02}" + (unit * 40)[:38]: (unit * 500)[:500] for n in range(50)}
    document = {"metadata": metadata, "description": (unit * 500)[:499], "amount": 1}
    body = json.dumps(document, ensure_ascii=ascii_only).encode()
    assert read_object(body) == document


@pytest.mark.parametrize("unit", [b'"', b'\\"', b'"",', b'"\\', b'\\\\"', b'"x":', b'["",'])
def test_texts_without_an_order_are_no_cover(unit: bytes) -> None:
    """However quotes and backslashes stand, no more values are parsed than are counted."""
    values = b"[" + b"{}," * 5_000 + b"1]"
    for body in (unit * 9_000 + values, values + unit * 9_000, b'{"a":' + unit * 999 + values):
        began = time.process_time()
        assert code(body) in ("invalid_request", "invalid_json")
        assert time.process_time() - began < 0.01


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, MAX_VALUES, MAX_VALUES + 1, 100_000])
@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_too_many_levels_are_told_from_too_many_values(opening: bytes, levels: int) -> None:
    assert code(opening * levels) == "invalid_json"
    assert code(b"[" + b"1," * levels + opening * levels) == (
        "invalid_json" if levels < MAX_VALUES - MAX_DEPTH else "invalid_request"
    )


@pytest.mark.parametrize("part", [b"1,", b"[],", b'"",', b"{},", b'{"a":1},', b"[[[[]]]],"])
def test_the_longest_bodies_are_refused_soon(part: bytes) -> None:
    """Some of them would keep all other requests waiting for a second."""
    body = b'{"a": [' + part * ((MAX_BODY - 10) // len(part)) + b"1]}"
    began = time.process_time()
    assert code(body) in ("invalid_request", "invalid_json")
    assert time.process_time() - began < 0.02


def test_the_most_values_have_their_fingerprint_soon() -> None:
    document = read_object(MANY["members"](MAX_VALUES))
    assert isinstance(document, dict)
    began = time.process_time()
    fingerprint((), document)
    assert time.process_time() - began < 0.005
