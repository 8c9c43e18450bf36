"""Runs in turn, and what their repetitions say."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, TypeAlias

from bench.load import Load

Run: TypeAlias = Callable[[], Load]


@dataclass(frozen=True)
class Figure:
    """Several runs of the same: their median, and how far they lie apart."""

    per_second: float
    lowest: float
    highest: float
    p50_ms: float
    p99_ms: float
    failed: int

    def as_json(self) -> dict[str, Any]:
        return {name: round(value, 3) for name, value in asdict(self).items()}


def figure(loads: Sequence[Load]) -> Figure:
    rates = [load.per_second for load in loads]
    return Figure(
        per_second=median(rates),
        lowest=min(rates),
        highest=max(rates),
        p50_ms=median(load.p50_ms for load in loads),
        p99_ms=median(load.p99_ms for load in loads),
        failed=sum(load.failed for load in loads),
    )


def alternate(runs: dict[str, Run], rounds: int) -> dict[str, Figure]:
    """Everyone once in each round, so that what changes on the machine changes for all of them."""
    found: dict[str, list[Load]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            found[name].append(run())
    return {name: figure(loads) for name, loads in found.items()}
