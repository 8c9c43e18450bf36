"""Chunked bodies: joined whatever the pieces, refused where they are not what they say."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laari.http.chunks import Chunks
from laari.http.connection_limits import Limits
from laari.rules.refusals import Refusal

SMALL = Limits(body_bytes=64, chunks=20, chunk_line_bytes=16, trailer_bytes=48)


def feed(pieces: list[bytes], limits: Limits = SMALL) -> tuple[Chunks, bytearray, Refusal | None]:
    chunks, buffer = Chunks(limits), bytearray()
    for piece in pieces:
        buffer += piece
        refusal = chunks.read(buffer)
        if refusal is not None or chunks.is_complete:
            return chunks, buffer, refusal
    return chunks, buffer, None


def encoded(parts: list[bytes], tail: bytes = b"") -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in parts if p) + b"0\r\n" + tail + b"\r\n"


@given(
    st.lists(st.binary(max_size=20), max_size=8),
    st.sampled_from([b"", b"X-API-Key: sk\r\n", b"A: b\r\nC: d\r\n"]),
    st.lists(st.integers(1, 200), max_size=8),
    st.binary(max_size=10),
)
def test_chunks_are_joined_however_they_arrive(
    parts: list[bytes], trailer: bytes, cuts: list[int], rest: bytes
) -> None:
    whole = encoded(parts, trailer) + rest
    ends = [0, *sorted({min(cut, len(whole)) for cut in cuts}), len(whole)]
    pieces = [whole[a:b] for a, b in pairwise(ends)]
    chunks, _, refusal = feed(pieces, Limits())
    assert refusal is None
    assert chunks.is_complete
    assert bytes(chunks.body) == b"".join(parts)


def test_what_follows_stays_in_the_buffer() -> None:
    chunks, buffer, _ = feed([encoded([b"abc"]) + b"GET / HTTP/1.1"])
    assert chunks.is_complete
    assert bytes(buffer) == b"GET / HTTP/1.1"


def test_extensions_are_dropped() -> None:
    chunks, _, refusal = feed([b'3;a="b"\r\nabc\r\n0;x\r\n\r\n'])
    assert refusal is None
    assert bytes(chunks.body) == b"abc"


@pytest.mark.parametrize(
    "body",
    [
        b"\r\n",
        b"g\r\n",
        b"-1\r\n",
        b"+1\r\n",
        b"0x1\r\na\r\n",
        b" 1\r\na\r\n",
        b"1 \r\na\r\n",
        b"1\na\r\n",
        b"1\r\nab\r\n",
        b"1\r\na\n\n",
        b"3\r\nab\r\n0\r\n\r\n",
        b"123456789\r\n",
        b"1;\x00\r\na",
        b"1" + b";" * 20,
        b"1;" + b"a" * 20 + b"\r\n",
        b"1\rX",
        b"1\r\r\n",
        b"0\r\nContent-Length: 9\r\n\r\n",
        b"0\r\ntransfer-encoding:x\r\n\r\n",
        b"0\r\nX\r\n\r\n",
        b"0\r\n X: y\r\n\r\n",
        b"0\r\nX: y\n\n",
        b"0\r\nX: \x00\r\n\r\n",
        b"0\r\n" + b"X: yyyyyyy\r\n" * 5,
        b"0\r\nX: " + b"y" * 60,
        b"1\r\na\r\n" * 21,
    ],
)
@pytest.mark.parametrize("dribbled", [False, True])
def test_what_is_no_chunk_is_refused(body: bytes, dribbled: bool) -> None:
    pieces = [body[i : i + 1] for i in range(len(body))] if dribbled else [body]
    chunks, _, refusal = feed(pieces)
    assert not chunks.is_complete
    assert refusal is not None
    assert refusal.status in (400, 431)


def test_one_byte_too_many_is_noticed_and_no_more_is_kept() -> None:
    chunks, _, refusal = feed([b"ff\r\n" + b"a" * 255])
    assert refusal is None
    assert chunks.is_too_long
    assert len(chunks.body) == 65
    chunks, _, _ = feed([encoded([b"a" * 64])])
    assert chunks.is_complete
    assert not chunks.is_too_long


def test_chunks_are_bounded_by_what_they_hold() -> None:
    limits = Limits(chunks=20, chunk_bytes=100)
    small, large = [b"a"] * 19, [b"a" * 300]
    assert feed([encoded(small)], limits)[0].is_complete
    _, _, refusal = feed([encoded([*small, b"a"])], limits)
    assert refusal is not None
    assert "small chunks" in refusal.message
    assert feed([encoded([*large, *small, *[b"a"] * 2])], limits)[0].is_complete
    assert feed([encoded([*large, *small, *[b"a"] * 3])], limits)[2] is not None


def test_as_many_chunks_as_a_body_may_have_are_read_soon() -> None:
    """One response waits for another: half a megabyte in small chunks must not take long."""
    limits = Limits()
    size = limits.body_bytes // (limits.chunks + limits.body_bytes // limits.chunk_bytes) + 1
    whole = encoded([b"a" * size] * (limits.body_bytes // size))
    took = []
    for _ in range(3):
        began = time.process_time()
        chunks, _, refusal = feed([whole], limits)
        took.append(time.process_time() - began)
        assert refusal is None
        assert chunks.is_complete
    assert min(took) < 0.01


def test_trailer_fields_are_bounded() -> None:
    limits = Limits(fields=3)
    assert feed([b"0\r\n" + b"X: y\r\n" * 3 + b"\r\n"], limits)[0].is_complete
    _, _, refusal = feed([b"0\r\n" + b"X: y\r\n" * 4 + b"\r\n"], limits)
    assert refusal is not None
    assert refusal.status == 431
