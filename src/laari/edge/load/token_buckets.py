"""Token buckets that limit the rate of a caller, shared by the interface processes of a machine.

There is no lock: at worst a few extra requests pass. No value in a slot is trusted, so a race
cannot raise an error or shut a caller out.
"""

import mmap
from collections.abc import Sequence
from hashlib import blake2b
from math import inf
from typing import NamedTuple

from laari.rules.limits.throttle import Throttle

SHARED_BYTES = 1 << 20  # the size of the shared file
_SLOT_BYTES = 16  # a 64-bit hash of the key, then the bucket's time as a double
_SLOTS = SHARED_BYTES // _SLOT_BYTES
_PROBES = 8
_64_BITS = (1 << 64) - 1
_ROUNDING = 0.01  # part of a request: rounding errors must not deny the last one


class Bucket(NamedTuple):
    """A bucket for `rate` requests a second (0: no limit), which holds those of `over` seconds.

    If requests are charged after they have passed, it may owe up to `owing` seconds more.
    """

    key: int
    rate: float
    over: float = 1.0
    owing: float = 0.0


class RateBuckets:
    """Buckets in the shared file `fd`, or in memory: the time when each is full again (GCRA).

    `now` has to be `time.monotonic`: on Linux all processes share it, and nobody can set it.
    """

    def __init__(self, fd: int | None) -> None:
        # No fd (-1) means anonymous memory. Pages start as zeros: free slots, full long ago.
        memory = memoryview(mmap.mmap(-1 if fd is None else fd, SHARED_BYTES))
        # Aligned words: each is read and written whole.
        self._hashes = memory.cast("Q")
        self._full_at = memory.cast("d")

    def take(self, bucket: Bucket, now: float) -> float:
        """Takes one request: 0.0 if it may pass, else the seconds until one may."""
        if bucket.rate <= 0:
            return 0.0
        slot, full_at, wait = self._look(bucket, now)
        if wait == 0.0:
            self._full_at[slot] = full_at + 1 / bucket.rate
        return wait

    def take_all(self, buckets: Sequence[Bucket], now: float) -> float:
        """Takes one request from each bucket, or from none if one of them is empty."""
        wait = max(self.wait(bucket, now) for bucket in buckets)
        if wait == 0.0:
            for bucket in buckets:
                self.take(bucket, now)
        return wait

    def wait(self, bucket: Bucket, now: float) -> float:
        """The result of `take`, without taking."""
        return 0.0 if bucket.rate <= 0 else self._look(bucket, now)[2]

    def charge(self, bucket: Bucket, now: float, requests: float = 1.0) -> None:
        """Takes requests that have passed already, even if the bucket does not hold them."""
        rate = bucket.rate
        if rate > 0:
            slot, full_at, _ = self._look(bucket, now)
            most = now + max(bucket.over, 1 / rate) + bucket.owing
            self._full_at[slot] = min(full_at + requests / rate, most)

    def used(self, bucket: Bucket, now: float) -> float:
        """The number of requests taken that the rate has not given back yet."""
        return (self._look(bucket, now)[1] - now) * bucket.rate

    def _look(self, bucket: Bucket, now: float) -> tuple[int, float, float]:
        """The bucket's slot, when it is full again, and how long one request has to wait."""
        key, rate, over, owing = bucket
        cost = 1 / rate
        full = max(over, cost)
        slot = self._slot(_hash(key))
        full_at = self._full_at[slot]
        if not full_at > now:  # also if it is NaN
            full_at = now
        elif full_at > now + full + owing:  # emptier than it can be: another rate, or a lost race
            full_at = self._full_at[slot] = now + full + owing
        wait = full_at + cost - (now + full)
        return slot, full_at, wait if wait > cost * _ROUNDING else 0.0

    def _slot(self, hash: int) -> int:
        """The index of the key's time; a new key gets a free slot or the one unused for longest."""
        oldest, oldest_full_at = 0, inf
        for probe in range(_PROBES):
            slot = (hash + probe) % _SLOTS * 2
            held = self._hashes[slot]
            if held == hash:
                return slot + 1
            full_at = self._full_at[slot + 1]
            if probe == 0 or full_at < oldest_full_at:
                oldest, oldest_full_at = slot, full_at
            if held == 0:
                break  # slots are never freed, so the key cannot be further on
        self._hashes[oldest] = hash
        self._full_at[oldest + 1] = 0.0
        return oldest + 1


def named_bucket(*names: object) -> int:
    """The key of a bucket with a name instead of a number."""
    digest = blake2b("\0".join(map(str, names)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def throttle_bucket(throttle: Throttle, *names: object) -> Bucket:
    return Bucket(
        named_bucket(*names), 1 / throttle.seconds, over=throttle.burst * throttle.seconds
    )


def _hash(key: int) -> int:
    """Spreads keys over 64 bits, no two to the same place (the finisher of splitmix64)."""
    mixed = (key + 0x9E3779B97F4A7C15) & _64_BITS
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _64_BITS
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _64_BITS
    return (mixed ^ (mixed >> 31)) or 1  # 0 marks a free slot
