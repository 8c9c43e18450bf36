"""How fast one caller may go: token buckets shared by the interface processes of one machine.

The buckets live in memory that all of them map, so a limit holds for the machine and not once per
process. There is no lock. Two processes that update one bucket in the same instant may lose one of
the updates, and two callers that claim one slot in the same instant may lose a bucket: at worst a
few extra requests pass. Nothing read from a slot is trusted to be sensible, so that no race can
raise an error or shut a caller out.
"""

import mmap
from hashlib import blake2b
from math import inf
from typing import NamedTuple

SHARED_BYTES = 1 << 20  # the size of the shared file
_SLOT_BYTES = 16  # a 64-bit hash of the key, then the bucket's time as a double
_SLOTS = SHARED_BYTES // _SLOT_BYTES
_PROBES = 8
_64_BITS = (1 << 64) - 1
_ROUNDING = 0.01  # part of a request forgiven, so that sums of fractions deny nobody their last one


class RateBuckets:
    """Buckets by key, in the shared file `fd` or, without one, in memory of this process alone.

    Each bucket is one number (the generic cell rate algorithm): the time at which it is full again.
    A request moves it on by the time one request is worth, and it may lie a full bucket ahead.
    """

    def __init__(self, fd: int | None) -> None:
        # No fd (-1) means anonymous memory. Pages start as zeros: free slots, full long ago.
        memory = memoryview(mmap.mmap(-1 if fd is None else fd, SHARED_BYTES))
        # Aligned words: each is read and written whole.
        self._hashes = memory.cast("Q")
        self._full_at = memory.cast("d")

    def take(
        self, key: int, rate: float, now: float, over: float = 1.0, owing: float = 0.0
    ) -> float:
        """Takes one request: 0.0 where it may pass, else the seconds until one may.

        `rate` is requests per second, 0 means no limit. The bucket holds what the rate allows
        `over` so many seconds, and at least one request; where it is charged for what has passed
        already, it may be `owing` so many seconds more. `now` must come from a clock that all
        processes share and nobody sets: `time.monotonic`, which on Linux counts from the boot of
        the machine for everyone.
        """
        if rate <= 0:
            return 0.0
        slot, full_at, wait = self._look(key, rate, now, over, owing)
        if wait == 0.0:
            self._full_at[slot] = full_at + 1 / rate
        return wait

    def wait(
        self, key: int, rate: float, now: float, over: float = 1.0, owing: float = 0.0
    ) -> float:
        """What `take` would return, without taking."""
        return 0.0 if rate <= 0 else self._look(key, rate, now, over, owing)[2]

    def charge(
        self, key: int, rate: float, now: float, over: float, owing: float, requests: float = 1.0
    ) -> None:
        """Takes what has passed already, whether or not the bucket holds it."""
        if rate > 0:
            slot, full_at, _ = self._look(key, rate, now, over, owing)
            most = now + max(over, 1 / rate) + owing
            self._full_at[slot] = min(full_at + requests / rate, most)

    def used(self, key: int, rate: float, now: float, over: float = 1.0) -> float:
        """How many requests were taken that the rate has not given back yet."""
        return (self._look(key, rate, now, over, 0.0)[1] - now) * rate

    def _look(
        self, key: int, rate: float, now: float, over: float, owing: float
    ) -> tuple[int, float, float]:
        """The bucket's slot, when it is full again, and how long one request has to wait."""
        cost = 1 / rate
        full = max(over, cost)
        slot = self._slot(_hash(key))
        full_at = self._full_at[slot]
        if not full_at > now:  # also where it is no number
            full_at = now
        elif full_at > now + full + owing:  # emptier than it can be: another rate, or a lost race
            full_at = self._full_at[slot] = now + full + owing
        wait = full_at + cost - (now + full)
        return slot, full_at, wait if wait > cost * _ROUNDING else 0.0

    def _slot(self, hash: int) -> int:
        """The index of the key's time; a new key gets a free slot or else the longest unused."""
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


class Bucket(NamedTuple):
    """One bucket with its rate: so many requests a second, and what that allows `over` seconds."""

    key: int
    rate: float
    over: float
    owing: float = 0.0

    def wait(self, buckets: RateBuckets, now: float) -> float:
        return buckets.wait(self.key, self.rate, now, self.over, self.owing)

    def take(self, buckets: RateBuckets, now: float) -> float:
        return buckets.take(self.key, self.rate, now, self.over, self.owing)

    def charge(self, buckets: RateBuckets, now: float, requests: float = 1.0) -> None:
        buckets.charge(self.key, self.rate, now, self.over, self.owing, requests)


def named_bucket(*names: object) -> int:
    """The key of a bucket that is named rather than numbered."""
    digest = blake2b("\0".join(map(str, names)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def _hash(key: int) -> int:
    """Spreads keys over 64 bits, no two to the same place (the finisher of splitmix64)."""
    mixed = (key + 0x9E3779B97F4A7C15) & _64_BITS
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _64_BITS
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _64_BITS
    return (mixed ^ (mixed >> 31)) or 1  # 0 marks a free slot
