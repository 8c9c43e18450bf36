"""How two versions are compared: turns, ratios of neighbours, intervals and verdicts."""

import math
import random

import pytest

from bench.pairs import OTHER, THIS, Interval, Verdict, interval, ratios, turns, verdict, worst


def test_each_version_is_first_equally_often() -> None:
    assert turns(4) == [THIS, OTHER, OTHER, THIS, THIS, OTHER, OTHER, THIS]


def test_a_machine_that_slows_down_changes_no_ratio() -> None:
    speed = [1000 * 0.9**slot for slot in range(40)]
    found = [
        speed[slot] * (0.97 if version == THIS else 1) for slot, version in enumerate(turns(20))
    ]
    assert interval(ratios(found)).median == pytest.approx(0.97, rel=0.01)


def test_an_interval_has_its_probability() -> None:
    """The sign test: 6th to 15th of twenty, 22nd to 39th of sixty."""
    assert interval(range(1, 21)) == (6, 10.5, 15)
    assert interval(range(1, 61)) == (22, 30.5, 39)
    chance = random.Random(1)
    inside = 0
    for _ in range(500):
        low, _, high = interval([chance.lognormvariate(0, 0.1) for _ in range(20)])
        inside += low <= 1 <= high
    assert 0.93 < inside / 500 < 0.98


def test_few_pairs_decide_nothing() -> None:
    few = interval([0.5] * 5)
    assert few == (0, 0.5, math.inf)
    assert few.inverse == (0, 2, math.inf)
    assert verdict(few, 0.03) is Verdict.UNDECIDED
    assert verdict(interval([0.5] * 6), 0.03) is Verdict.SLOWER


@pytest.mark.parametrize(
    ("low", "high", "expected", "status"),
    [
        (1.01, 1.05, Verdict.FASTER, 0),
        (0.98, 1.05, Verdict.SAME, 0),
        (0.97, 0.99, Verdict.SLIGHTLY_SLOWER, 0),
        (0.96, 1.01, Verdict.UNDECIDED, 3),
        (0.96, 0.99, Verdict.SLOWER, 1),
        (0.90, 0.95, Verdict.SLOWER, 1),
    ],
)
def test_verdicts(low: float, high: float, expected: Verdict, status: int) -> None:
    found = verdict(Interval(low, (low + high) / 2, high), 0.03)
    assert found is expected
    assert found.exit_status == status


def test_the_worst_verdict_counts() -> None:
    assert worst([Verdict.FASTER, Verdict.UNDECIDED, Verdict.SAME]) is Verdict.UNDECIDED
    assert worst([Verdict.SLOWER, Verdict.UNDECIDED]) is Verdict.SLOWER
