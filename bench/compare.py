"""`make bench ARGS="compare COMMIT"`: this tree and another commit, measured in turns.

Both services run all the time, with equally filled databases; only one at a time has work. Exit
status: 0 if nothing is slower, 1 if something is, 3 if the pairs could not decide.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from bench.fill import Size, Tell
from bench.load import drive, is_available
from bench.pairs import OTHER, THIS, Interval, Verdict, interval, ratios, turns, verdict, worst
from bench.sink import sink
from bench.versions import Side, other_version, sides, this_version
from bench.workloads import WORKLOADS, Workload

SIZE = Size(100_000, 10_000, 10_000)
WARM_UP_SECONDS = 1
QUIET_SECONDS = 0.3  # without an event: all of them were delivered
NAMES = {workload.name: workload for workload in WORKLOADS if "{" not in workload.extra}
USUAL = ("create", "charge", "get")


class Slice(NamedTuple):
    """What one version did in one turn; the processor's time is that of one request."""

    rate: float
    interface_us: float
    engine_us: float
    background_us: float

    @property
    def cpu_us(self) -> float:
        return self.interface_us + self.engine_us + self.background_us


FIGURES: dict[str, Callable[[Slice], float]] = {
    "rate": lambda slice: slice.rate,
    "cpu": lambda slice: slice.cpu_us,
    "interface": lambda slice: slice.interface_us,
    "postgres": lambda slice: slice.engine_us,
}


class Cost(NamedTuple):
    """Bytes of one request, over all slices of a version."""

    log: float
    disk: float


@dataclass(frozen=True)
class Comparison:
    """One workload with one number of clients."""

    workload: str
    clients: int
    slices: list[Slice]  # in the order of `turns`
    costs: tuple[Cost, Cost]  # of this version and the other

    def of(self, name: str) -> Interval:
        return interval(ratios([FIGURES[name](slice) for slice in self.slices]))

    def verdict(self, tolerance: float) -> Verdict:
        found = (self.of("rate"), self.of("cpu").inverse)
        return worst([verdict(speed, tolerance) for speed in found])

    def medians(self, name: str) -> tuple[float, float]:
        """The figure of this version and of the other, in the middle of their slices."""
        order = turns(len(self.slices) // 2)
        found: tuple[list[float], list[float]] = ([], [])
        for version, slice in zip(order, self.slices, strict=True):
            found[version].append(FIGURES[name](slice))
        return _middle(found[THIS]), _middle(found[OTHER])

    def as_json(self, tolerance: float) -> dict[str, Any]:
        return {
            "workload": self.workload,
            "clients": self.clients,
            "verdict": self.verdict(tolerance).value,
            "ratios": {name: self.of(name)._asdict() for name in FIGURES},
            "medians": {name: self.medians(name) for name in FIGURES},
            "log_bytes": [cost.log for cost in self.costs],
            "disk_bytes": [cost.disk for cost in self.costs],
            "slices": [slice._asdict() for slice in self.slices],
        }


def _middle(values: list[float]) -> float:
    return interval(values).median


class Deliveries:
    """Waits until all events of a slice have arrived; without webhooks there are none."""

    def __init__(self, received: Callable[[], int] | None) -> None:
        self._received = received

    def wait(self) -> None:
        if self._received is None:
            return
        before = -1
        while (now := self._received()) != before:
            before = now
            time.sleep(QUIET_SECONDS)


def measure(
    both: Sequence[Side],
    workload: Workload,
    clients: int,
    pairs: int,
    seconds: int,
    deliveries: Deliveries,
) -> Comparison:
    for side in both:
        _slice(side, workload, clients, WARM_UP_SECONDS, deliveries)
    before = [side.log_and_disk() for side in both]
    requests, slices = [0, 0], []
    for version in turns(pairs):
        taken, count = _slice(both[version], workload, clients, seconds, deliveries)
        slices.append(taken)
        requests[version] += count
    after = [side.log_and_disk() for side in both]
    ours, theirs = (
        Cost(
            (after[version][0] - before[version][0]) / requests[version],
            (after[version][1] - before[version][1]) / requests[version],
        )
        for version in (THIS, OTHER)
    )
    return Comparison(workload.name, clients, slices, (ours, theirs))


def _slice(
    side: Side, workload: Workload, clients: int, seconds: int, deliveries: Deliveries
) -> tuple[Slice, int]:
    before = side.service.processor_seconds()
    extra = (workload.extra,) if workload.extra else ()
    load = drive(side.target, workload.script, *extra, clients=clients, seconds=seconds)
    deliveries.wait()
    after = side.service.processor_seconds()
    if load.failed or not load.requests:
        raise SystemExit(
            f"{workload.name} at {side.version.name}: {load.failed} of {load.requests} failed"
        )
    used = {
        name: (after[name] - before[name]) / load.requests * 1_000_000
        for name in ("interface", "engine", "background")
    }
    taken = Slice(load.per_second, used["interface"], used["engine"], used["background"])
    return taken, load.requests


def show(console: Console, found: Sequence[Comparison], tolerance: float) -> None:
    table = Table(title="this tree ÷ the other, median of the pairs (95 % interval)")
    for name in ("workload", "a second", "rate", "CPU µs", "CPU"):
        table.add_column(name)
    for name in ("interface", "PostgreSQL", "log, disk bytes", "verdict"):
        table.add_column(name)
    for comparison in found:
        rates, used = comparison.medians("rate"), comparison.medians("cpu")
        ours, theirs = comparison.costs
        table.add_row(
            f"{comparison.workload}, {comparison.clients}",
            f"{rates[THIS]:,.0f}, {rates[OTHER]:,.0f}",
            _shown(comparison.of("rate")),
            f"{used[THIS]:,.0f}, {used[OTHER]:,.0f}",
            _shown(comparison.of("cpu")),
            _shown(comparison.of("interface")),
            _shown(comparison.of("postgres")),
            f"{ours.log:,.0f}, {theirs.log:,.0f}; {ours.disk:,.0f}, {theirs.disk:,.0f}",
            comparison.verdict(tolerance).value,
        )
    console.print(table)


def _shown(found: Interval) -> str:
    return f"{found.median:.3f} ({found.low:.3f} to {found.high:.3f})"


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    if not is_available():
        raise SystemExit("the service is driven with wrk, which is not here: apt-get install wrk")
    console = Console(width=170, stderr=options.json)

    def tell(text: str) -> None:
        console.print(f"{datetime.now(UTC):%H:%M:%S} {text}", style="dim", highlight=False)

    found = _compare(options, tell)
    tolerance = options.within / 100
    show(console, found, tolerance)
    if options.json:
        print(json.dumps([comparison.as_json(tolerance) for comparison in found]))
    return worst([comparison.verdict(tolerance) for comparison in found]).exit_status


def _compare(options: argparse.Namespace, tell: Tell) -> list[Comparison]:
    versions = [this_version(), other_version(options.commit, options.patch, tell)]
    found = []
    with ExitStack() as stack:
        both = stack.enter_context(sides(versions, options.payments, tell))
        deliveries = Deliveries(None)
        if options.webhooks:
            url, received = stack.enter_context(sink())
            deliveries = Deliveries(received)
            for side in both:
                side.service.laari("merchant", "update", side.merchant_id, "--webhook-url", url)
        for name in options.workloads:
            for clients in options.clients:
                comparison = measure(
                    both, NAMES[name], clients, options.pairs, options.seconds, deliveries
                )
                rate, used = comparison.of("rate"), comparison.of("cpu")
                tell(f"{name}, {clients} clients: rate {_shown(rate)}, CPU {_shown(used)}")
                found.append(comparison)
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='make bench ARGS="compare …"', description=__doc__.partition(": ")[2]
    )
    parser.add_argument("commit", help="a commit, or a directory with a .venv; `.` is this tree")
    parser.add_argument(
        "--workloads",
        type=_names,
        default=USUAL,
        help=f"of {', '.join(NAMES)}; {','.join(USUAL)} by default",
    )
    parser.add_argument("--clients", type=_numbers, default=(64, 1), help="64,1 by default")
    parser.add_argument("--pairs", type=_number, default=40, help="slices of each version")
    parser.add_argument("--seconds", type=_number, default=1, help="of a slice")
    parser.add_argument("--webhooks", action="store_true", help="deliver events to a receiver")
    parser.add_argument("--within", type=float, default=3.0, help="the tolerance in per cent")
    parser.add_argument("--patch", type=Path, help="a diff to apply to the commit first")
    parser.add_argument("--json", action="store_true", help="print JSON with all slices")
    parser.add_argument("--payments", type=_size, default=SIZE, help="in each database at first")
    return parser


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if unknown := set(names) - set(NAMES):
        raise argparse.ArgumentTypeError(f"no such workload: {', '.join(sorted(unknown))}")
    return names


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(_number, text.split(",")))


def _number(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number above zero")
    return value


def _size(text: str) -> Size:
    payments = _number(text)
    return Size(payments, min(payments, SIZE.customers), min(payments, SIZE.authorizations))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
