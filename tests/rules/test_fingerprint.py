"""Fingerprints: the same request has the same one, any other request another."""

import json
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laari.edge.input.strict_json import LongInteger
from laari.rules.idempotency import fingerprint, is_valid_key

texts = st.text(st.sampled_from('ab01:;{}[]s,"é') | st.characters(codec="utf-8"), max_size=6)
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
documents = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
bodies = st.dictionaries(texts, documents, max_size=4)


def written(value: Any) -> str:
    """An independent form of a document: sorted JSON tells types apart by its own syntax."""
    return json.dumps(value, sort_keys=True)


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return [reordered(item) for item in value] if isinstance(value, list) else value


@given(bodies)
def test_key_order_is_ignored_at_every_depth(body: dict[str, Any]) -> None:
    assert fingerprint(("charge", "1"), reordered(body)) == fingerprint(("charge", "1"), body)


@given(bodies, bodies)
def test_equal_exactly_where_the_documents_are(one: dict[str, Any], other: dict[str, Any]) -> None:
    same = fingerprint((), one) == fingerprint((), other)
    assert same == (written(one) == written(other))


@given(bodies, texts, documents, documents)
def test_one_changed_member_counts(body: dict[str, Any], key: str, one: Any, other: Any) -> None:
    same = fingerprint((), body | {key: one}) == fingerprint((), body | {key: other})
    assert same == (written(one) == written(other))


DIFFERENT: list[dict[str, Any]] = [
    {},
    {"a": 1},
    {"a": 1.0},
    {"a": "1"},
    {"a": True},
    {"a": False},
    {"a": 0},
    {"a": -1},
    {"a": None},
    {"a": "None"},
    {"a": ""},
    {"a": "int:1;"},
    {"a": []},
    {"a": {}},
    {"a": [1]},
    {"a": [[1]]},
    {"a": [1, 1]},
    {"a": [11]},
    {"a": ["1", "1"]},
    {"a": ["11"]},
    {"a": ["1s1:1"]},
    {"a": [[], []]},
    {"a": [[[]]]},
    {"a": [{}, []]},
    {"a": {"b": 1}},
    {"a": {"b": {}}},
    {"a": {}, "b": {}},
    {"a": {}, "b": 1},
    {"b": 1},
    {"A": 1},
    {"a ": 1},
    {"a": 1, "b": None},
    {"a": "é"},
    {"a": "e\u0301"},  # composed and decomposed are different values
    {"a": LongInteger("1" * 40)},
    {"a": LongInteger("1" * 41)},
    {"a": "1" * 40},
    {"a": 10**29},
    {"a": 1e29},
]


def test_values_types_presence_and_structure_count() -> None:
    for one, other in combinations(DIFFERENT, 2):
        assert fingerprint((), one) != fingerprint((), other), (one, other)


def test_order_in_arrays_counts() -> None:
    assert fingerprint((), {"a": [1, 2]}) != fingerprint((), {"a": [2, 1]})


def test_the_parts_count_each_for_itself() -> None:
    variants = [(), ("",), ("", ""), ("ab", "c"), ("a", "bc"), ("abc",), ("c", "ab"), ("1:a", "")]
    prints = {fingerprint(parts, {"a": 1}) for parts in variants}
    assert len(prints) == len(variants)


def test_parts_are_not_mistaken_for_the_body() -> None:
    assert fingerprint(("{}",), {}) != fingerprint(("{}", "{}"), {}) != fingerprint((), {"{}": {}})


@pytest.mark.parametrize("key", ["a", "~!@#$%^&*()", "A" * 255, "0", '"'])
def test_valid_keys(key: str) -> None:
    assert is_valid_key(key)


@pytest.mark.parametrize("key", ["", " ", "a b", "a ", "a\n", "\t", "é", "\x7f", "\0", "A" * 256])
def test_invalid_keys(key: str) -> None:
    assert not is_valid_key(key)
