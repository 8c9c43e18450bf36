"""Two versions measured in turns: the ratios of neighbours, their interval, and a verdict.

The speed of a machine changes by tens of per cent within minutes. Neighbouring slices share it, so
their ratio does not. The order A B B A gives each version the first place equally often.
"""

import math
from collections.abc import Sequence
from enum import Enum
from statistics import median
from typing import NamedTuple

CONFIDENCE = 0.95
THIS, OTHER = 0, 1


def turns(pairs: int) -> list[int]:
    """Which version has each slice: this one or the other."""
    return [
        version for pair in range(pairs) for version in ((THIS, OTHER), (OTHER, THIS))[pair % 2]
    ]


def ratios(values: Sequence[float]) -> list[float]:
    """This version's figure ÷ the other's in each pair; the values are in the order of `turns`."""
    pairs = len(values) // 2
    order = turns(pairs)
    found = []
    for start in range(0, 2 * pairs, 2):
        ours = values[start + order[start : start + 2].index(THIS)]
        theirs = values[start + order[start : start + 2].index(OTHER)]
        found.append(ours / theirs)
    return found


class Interval(NamedTuple):
    """A median, and the range that has the true one with a probability of 95 %."""

    low: float
    median: float
    high: float

    @property
    def inverse(self) -> "Interval":
        return Interval(1 / self.high, 1 / self.median, 1 / self.low if self.low else math.inf)


def interval(found: Sequence[float]) -> Interval:
    """By the sign test: it assumes nothing about how the values are spread.

    Fewer than six values cannot exclude anything.
    """
    ordered, count = sorted(found), len(found)
    outside = 0.0  # the probability that the median is below the lowest `left_out` values
    left_out = 0
    while True:
        outside += math.comb(count, left_out) / 2**count
        if outside > (1 - CONFIDENCE) / 2:
            break
        left_out += 1
    if left_out == 0:
        return Interval(0.0, median(ordered), math.inf)
    return Interval(ordered[left_out - 1], median(ordered), ordered[-left_out])


class Verdict(Enum):
    FASTER = "faster"
    SAME = "the same"
    SLIGHTLY_SLOWER = "slightly slower"
    UNDECIDED = "not decided"
    SLOWER = "slower"

    @property
    def exit_status(self) -> int:
        """For scripts. 2 is the status of a wrong command line."""
        return {Verdict.SLOWER: 1, Verdict.UNDECIDED: 3}.get(self, 0)


def verdict(speed: Interval, tolerance: float) -> Verdict:
    """About a ratio that is above one if this version is faster."""
    if speed.low > 1:
        return Verdict.FASTER
    if speed.low >= 1 - tolerance:
        return Verdict.SLIGHTLY_SLOWER if speed.high < 1 else Verdict.SAME
    return Verdict.SLOWER if speed.high < 1 else Verdict.UNDECIDED


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    return max(verdicts, key=list(Verdict).index)
