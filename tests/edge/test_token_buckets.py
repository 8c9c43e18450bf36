"""Rate buckets: exact in one process, shared by several, and never stuck."""

import math
import os
import struct
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laari.edge.load.token_buckets import SHARED_BYTES, Bucket, RateBuckets, named_bucket

NOW = 1_234_567.891  # two weeks after boot


@pytest.fixture
def fd() -> Iterator[int]:
    fd = os.memfd_create("rate")
    os.ftruncate(fd, SHARED_BYTES)
    yield fd
    os.close(fd)


def passed(buckets: RateBuckets, key: int, rate: float, now: float, tries: int = 400) -> int:
    return sum(buckets.take(Bucket(key, rate), now) == 0.0 for _ in range(tries))


@pytest.mark.parametrize("rate", [1, 2, 3, 7, 25, 100, 333])
@pytest.mark.parametrize("now", [0.0, NOW, 1e8])
def test_a_bucket_holds_one_second_worth(rate: int, now: float) -> None:
    buckets = RateBuckets(None)
    assert passed(buckets, 1, rate, now) == rate
    assert passed(buckets, 1, rate, now + 0.5 + 1e-6) == rate // 2
    assert passed(buckets, 1, rate, now + 100) == rate  # it never holds more


def test_a_slow_rate_still_passes_one() -> None:
    buckets = RateBuckets(None)
    assert passed(buckets, 1, 0.1, NOW) == 1
    assert buckets.take(Bucket(1, 0.1), NOW) == pytest.approx(10)
    assert buckets.take(Bucket(1, 0.1), NOW + 9) == pytest.approx(1)
    assert passed(buckets, 1, 0.1, NOW + 10) == 1


def test_rate_zero_is_off() -> None:
    buckets = RateBuckets(None)
    assert passed(buckets, 1, 0, NOW) == 400
    assert passed(buckets, 1, 5, NOW) == 5


def test_waiting_as_told_is_enough_and_no_more_than_needed() -> None:
    buckets = RateBuckets(None)
    passed(buckets, 1, 25, NOW)
    wait = buckets.take(Bucket(1, 25), NOW)
    assert wait == pytest.approx(1 / 25)
    assert buckets.take(Bucket(1, 25), NOW + wait * 0.9) > 0
    assert buckets.take(Bucket(1, 25), NOW + wait) == 0.0
    assert buckets.take(Bucket(1, 25), NOW + wait) > 0


def test_refused_requests_cost_nothing() -> None:
    buckets = RateBuckets(None)
    passed(buckets, 1, 10, NOW, tries=1_000)
    assert passed(buckets, 1, 10, NOW + 0.1001) == 1


def test_a_steady_stream_at_the_rate_always_passes() -> None:
    buckets = RateBuckets(None)
    assert all(buckets.take(Bucket(1, 100), NOW + step * 0.01) == 0.0 for step in range(1_000))


def test_keys_do_not_touch() -> None:
    buckets = RateBuckets(None)
    keys = [0, 1, -1, 2**40, *range(1_000, 3_000)]
    assert passed(buckets, 5, 10, NOW) == 10
    assert all(passed(buckets, key, 2, NOW, tries=4) == 2 for key in keys)
    assert passed(buckets, 5, 10, NOW) == 0


def test_more_keys_than_slots_find_room_in_time() -> None:
    buckets = RateBuckets(None)
    for key in range(80_000):
        assert buckets.take(Bucket(key, 10), NOW + key / 1_000) == 0.0
    assert passed(buckets, 90_000, 10, NOW + 80) == 10


def test_a_crowded_neighbourhood_replaces_the_longest_unused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "laari.edge.load.token_buckets._hash", lambda key: (key << 16) + 7
    )  # all collide
    buckets = RateBuckets(None)
    for key in range(1, 9):
        assert passed(buckets, key, 10, NOW + key * 0.01) == 10
    assert passed(buckets, 9, 10, NOW + 0.1) == 10  # in the place of key 1
    assert passed(buckets, 2, 10, NOW + 0.1) == 0
    assert passed(buckets, 8, 10, NOW + 0.1) == 0
    assert passed(buckets, 1, 10, NOW + 0.1) == 10


@pytest.mark.parametrize("torn", [math.nan, math.inf, -math.inf, 1e300, -5.0, NOW + 3_600])
def test_nonsense_in_the_shared_memory_locks_nobody_out(fd: int, torn: float) -> None:
    buckets = RateBuckets(fd)
    buckets.take(Bucket(1, 10), NOW)
    memory = os.pread(fd, SHARED_BYTES, 0)
    os.pwrite(fd, memory.replace(struct.pack("d", NOW + 0.1), struct.pack("d", torn)), 0)
    assert os.pread(fd, SHARED_BYTES, 0) != memory
    assert buckets.take(Bucket(1, 10), NOW) <= 0.1 + 1e-9
    assert passed(buckets, 1, 10, NOW + 1.001) == 10


@given(st.binary(min_size=64, max_size=64), st.integers(), st.floats(0.001, 1e6))
def test_random_memory_never_raises(junk: bytes, key: int, rate: float) -> None:
    fd = os.memfd_create("rate")
    os.pwrite(fd, junk * (SHARED_BYTES // len(junk)), 0)
    wait = RateBuckets(fd).take(Bucket(key, rate), NOW)
    os.close(fd)
    assert 0 <= wait <= max(1, 1 / rate) * 1.01


def test_a_file_too_small_is_an_error_at_the_start() -> None:
    fd = os.memfd_create("rate")
    with pytest.raises(ValueError, match="size"):
        RateBuckets(fd)
    os.close(fd)


OTHER_PROCESS = """
import sys, time
from laari.edge.load.token_buckets import Bucket, RateBuckets
buckets = RateBuckets(int(sys.argv[1]))
rate, until = float(sys.argv[2]), float(sys.argv[3])
passed = 0
while (now := time.monotonic()) < until:
    passed += buckets.take(Bucket(7, rate), now) == 0.0
    time.sleep(0.0002)
print(passed)
"""


def test_a_bucket_over_a_minute_holds_a_minutes_worth() -> None:
    buckets, per_second = RateBuckets(None), 10 / 60
    taken = [buckets.take(Bucket(1, per_second, over=60), NOW) for _ in range(12)]
    assert taken[:10] == [0.0] * 10
    assert taken[10:] == [pytest.approx(6), pytest.approx(6)]
    assert buckets.take(Bucket(1, per_second, over=60), NOW + 6) == 0.0


def test_looking_takes_nothing() -> None:
    buckets = RateBuckets(None)
    assert [buckets.wait(Bucket(1, 1), NOW) for _ in range(5)] == [0.0] * 5
    assert buckets.take(Bucket(1, 1), NOW) == 0.0
    assert buckets.wait(Bucket(1, 1), NOW) == pytest.approx(1)
    assert buckets.wait(Bucket(1, 0), NOW) == 0.0


def test_names_make_keys_of_their_own() -> None:
    names = [("a",), ("b",), ("a", "b"), ("a", 1), ("a", 2), ("ab",), ("a\0b", "c")]
    assert len({named_bucket(*each) for each in names}) == len(names)


def test_two_mappings_of_one_file_are_one_set_of_buckets(fd: int) -> None:
    one, other = RateBuckets(fd), RateBuckets(fd)
    assert passed(one, 1, 100, NOW, tries=60) == 60
    assert passed(other, 1, 100, NOW) == 40
    assert passed(one, 1, 100, NOW) == 0
    assert passed(RateBuckets(None), 1, 100, NOW) == 100


def test_two_processes_together_get_about_the_rate(fd: int) -> None:
    rate = 200
    until = time.monotonic() + 1.2
    arguments = [sys.executable, "-c", OTHER_PROCESS, str(fd), str(rate), str(until)]
    children = [
        subprocess.Popen(arguments, pass_fds=[fd], stdout=subprocess.PIPE) for _ in range(2)
    ]
    counts = [int(child.communicate(timeout=20)[0]) for child in children]
    # A full bucket, then the rate for as long as they ran, which start-up shortens.
    assert rate <= sum(counts) <= rate * 2.2 * 1.1


def test_what_has_passed_already_is_owed() -> None:
    bucket, buckets = Bucket(1, rate=1, over=10, owing=100), RateBuckets(None)
    for _ in range(25):  # all of them had passed before the first was counted
        buckets.charge(bucket, NOW)
    assert buckets.wait(bucket, NOW) == pytest.approx(16)
    assert buckets.take(bucket, NOW + 15.9) > 0
    assert buckets.take(bucket, NOW + 16.01) == 0.0
    buckets.charge(bucket, NOW + 16.01, requests=1_000_000)
    assert buckets.wait(bucket, NOW + 16.01) == pytest.approx(101)  # and no more than that
    assert buckets.wait(Bucket(1, rate=1, over=10), NOW + 16.01) == pytest.approx(1)


def test_nothing_is_charged_where_there_is_no_limit() -> None:
    bucket, buckets = Bucket(1, rate=0, over=1, owing=60), RateBuckets(None)
    buckets.charge(bucket, NOW)
    assert buckets.wait(bucket, NOW) == 0.0
