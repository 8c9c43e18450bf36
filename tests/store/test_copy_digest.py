"""Rows that are copied out in binary, digested in whatever pieces they come."""

import hashlib
import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laari.store.ledger.copy_digest import CopyDigest, divider

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
END = b"\xff\xff"

values = st.lists(st.none() | st.binary(max_size=60), min_size=3, max_size=3).filter(
    lambda row: row[0] is not None
)
groups = st.lists(st.lists(values, max_size=4), min_size=1, max_size=4)


def copied_row(row: list[bytes | None]) -> bytes:
    columns = [
        b"\xff" * 4 if value is None else struct.pack(">i", len(value)) + value for value in row
    ]
    return struct.pack(">h", len(row)) + b"".join(columns)


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def digests_of(stream: bytes, cuts: list[int], dividing: bytes = b"") -> list[bytes]:
    """Of a stream that comes in pieces, cut at these places."""
    copied = CopyDigest(dividing)
    places = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    for begin, end in pairwise(places):
        copied.take(stream[begin:end])
    return copied.end()


@given(rows=st.lists(values, max_size=6), cuts=st.lists(st.integers(0, 10_000), max_size=20))
def test_the_rows_alone_are_digested(rows: list[list[bytes | None]], cuts: list[int]) -> None:
    data = b"".join(map(copied_row, rows))
    assert digests_of(HEADER + data + END, cuts) == [sha256(data)]


@given(groups=groups, cuts=st.lists(st.integers(0, 10_000), max_size=20))
def test_a_row_of_nulls_ends_a_group(
    groups: list[list[list[bytes | None]]], cuts: list[int]
) -> None:
    parts = [b"".join(map(copied_row, rows)) for rows in groups]
    assert divider(3) == copied_row([None, None, None])
    found = digests_of(HEADER + divider(3).join(parts) + END, cuts, divider(3))
    assert found == [*map(sha256, parts)]


def test_bytes_that_look_like_an_end_make_one_group_more() -> None:
    hostile = copied_row([b"id", b"x" + divider(3) + b"y", None])
    found = digests_of(HEADER + hostile + divider(3) + END, [], divider(3))
    assert len(found) == 3
    assert sha256(hostile) not in found


def test_what_the_header_adds_is_left_out() -> None:
    header = HEADER[:-4] + struct.pack(">i", 5) + b"added"
    assert digests_of(header + copied_row([b"a"]) + END, [3, 12, 20, 21]) == [
        sha256(copied_row([b"a"]))
    ]


@pytest.mark.parametrize(
    "stream",
    [
        b"",
        HEADER[:10],
        HEADER,
        HEADER + copied_row([b"a", b"b"]),
        b"PGCOPX\n\xff\r\n\0" + bytes(8) + END,
        HEADER[:11] + b"\0\1\0\0" + bytes(4) + END,
    ],
)
def test_what_is_no_whole_copy_has_no_digest(stream: bytes) -> None:
    with pytest.raises(ValueError, match=r"copy|copied"):
        digests_of(stream, [])
