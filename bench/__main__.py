"""`make bench`: runs the workloads named (all of them by default) and shows what they found."""

import argparse
import shutil
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from rich.console import Console

from bench import (
    audit,
    checkout,
    compare,
    dashboard,
    depth,
    export,
    growth,
    growth_report,
    hooked,
    memory,
    peers,
    processes,
    report,
    sealing,
    steady,
    timeline,
    webhooks,
)
from bench.fill import Size
from bench.load import is_available
from bench.measure import Run, alternate
from bench.stage import Stage, stage
from bench.watch import Watch
from bench.workloads import WORKLOADS, Workload

DATA = Path(__file__).parent / ".data"
INTERRUPTED = "it was interrupted: the rest was not measured"
STEADY_PLOT = Path(__file__).parent.parent / "docs" / "img" / "steady.svg"


class Plan(NamedTuple):
    clients: tuple[int, ...]
    rounds: int
    seconds: int
    size: Size
    samples: int  # of each page, where depth is measured
    many: int  # requests, where memory is measured
    events: int  # delivered in each round


FULL = Plan((1, 8, 64, 256), 3, 4, Size(), 200, 1_000_000, 3000)
QUICK = Plan((1, 64), 2, 2, Size(100_000, 10_000, 10_000), 50, 50_000, 1000)


def _webhooks(ready: Stage, plan: Plan) -> list[report.Verdict]:
    ratio, wanted = webhooks.run(plan.events), webhooks.TARGET_RATIO
    text = "webhook delivery: rate ÷ a bare client's"
    return [report.Verdict(text, round(ratio, 3), f"at least {wanted:g}", ratio >= wanted)]


def _growth(arguments: argparse.Namespace, console: Console) -> None:
    plan = growth.QUICK if arguments.quick else growth.FULL
    found = growth.measure(plan, keep=arguments.keep, tell=partial(_tell, console))
    growth_report.show(console, found)
    report.write_part("growth", found.as_json(), found.verdicts(), whole=not arguments.quick)


def _steady(arguments: argparse.Namespace, console: Console) -> None:
    quick: bool = arguments.quick
    minutes = arguments.minutes or (steady.QUICK_MINUTES if quick else steady.MINUTES)
    size = steady.QUICK_SIZE if quick else steady.SIZE
    tell = partial(_tell, console)
    found = steady.measure(minutes, size, rate=arguments.rate, keep=arguments.keep, tell=tell)
    whole = not quick and minutes >= steady.MINUTES
    path = report.write_part("steady", found.as_json(), found.verdicts(), whole=whole, indent=None)
    plot = STEADY_PLOT if whole else path.with_suffix(".svg")
    title = f"{minutes:g} minutes at {found.load.rate:,.0f} creates and charges a second"
    plot.write_text(timeline.draw(title, found.seconds, found.spans))
    console.print(found.summary())
    report.show_verdicts(console, found.verdicts())
    console.print(f"plot: {plot}")


def _tell(console: Console, text: str) -> None:
    console.print(f"{datetime.now(UTC):%H:%M:%S} {text}", style="dim", highlight=False)


Part: TypeAlias = Callable[[Stage, Plan], list[report.Verdict]]

# What is no rate of requests beside another: before the workloads, and after them.
FIRST: dict[str, Part] = {
    "audit": lambda ready, plan: audit.measure(ready, plan.rounds),
    "overview": lambda ready, plan: dashboard.measure(ready),
}
PARTS: dict[str, Part] = {
    "checkout": lambda ready, plan: checkout.measure(ready.target),
    "depth": lambda ready, plan: depth.measure(ready.target, plan.samples),
    "export": lambda ready, plan: export.measure(ready),
    "hooked": lambda ready, plan: hooked.measure(ready, plan.rounds, plan.seconds),
    "memory": lambda ready, plan: memory.measure(ready, plan.many),
    "processes": lambda ready, plan: processes.measure(ready, plan.rounds, plan.seconds),
    "sealing": lambda ready, plan: sealing.measure(ready, plan.rounds),
    "webhooks": _webhooks,
}


# What has databases of its own and takes long: done where it is named, and not otherwise.
LONG: dict[str, Callable[[argparse.Namespace, Console], None]] = {
    "growth": _growth,
    "steady": _steady,
}


def main() -> None:
    if sys.argv[1:2] == ["compare"]:
        sys.exit(compare.main(sys.argv[2:]))
    names = [*FIRST, *(workload.name for workload in WORKLOADS), *PARTS]
    parser = argparse.ArgumentParser(
        prog="make bench",
        description=__doc__,
        epilog='`make bench ARGS="compare --help"` is about two versions.',
    )
    parser.add_argument(
        "workloads",
        nargs="*",
        metavar="WORKLOAD",
        help=f"{', '.join(names)} (all of these by default); {', '.join(LONG)}",
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, few short runs")
    parser.add_argument("--keep", action="store_true", help="use the rows of the last run again")
    parser.add_argument(
        "--clients",
        type=_counts,
        help="with how many clients the workloads are driven, such as 1,64",
    )
    parser.add_argument(
        "--payments",
        type=_number,
        help="how many to fill the database with, a million by default; not of growth and steady",
    )
    parser.add_argument(
        "--minutes", type=_positive, help="how long `steady` goes on; 60 by default"
    )
    parser.add_argument(
        "--rate",
        type=_positive,
        help="requests a second of `steady`; 0.2 of the best if not given",
    )
    arguments = parser.parse_args()
    wanted = set(arguments.workloads)
    unknown = wanted - {*names, *LONG}
    if unknown:
        parser.error(f"no such workload: {', '.join(sorted(unknown))}")
    if not is_available():
        sys.exit("make bench drives the service with wrk, which is not here: apt-get install wrk")
    console = Console(width=max(150, shutil.get_terminal_size().columns))
    if not wanted or wanted & set(names):
        _run(wanted & set(names), arguments, console)
    for name, part in LONG.items():
        if name in wanted:
            part(arguments, console)


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < 1_000_000:
        raise argparse.ArgumentTypeError(f"{text} is not a number above zero")
    return value


def _number(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number above zero")
    return value


def _counts(text: str) -> tuple[int, ...]:
    return tuple(map(_number, text.split(",")))


def _run(wanted: set[str], arguments: argparse.Namespace, console: Console) -> None:
    """The workloads and parts that are wanted, or all of them, on one database."""
    plan = _plan(arguments)
    chosen = [w for w in WORKLOADS if not wanted or w.name in wanted]
    with stage(DATA, plan.size, keep=arguments.keep, tell=partial(_tell, console)) as ready:
        if ready.fill_seconds:
            console.print(f"filled {plan.size} in {ready.fill_seconds:.0f} s")
        results = report.Results(plan.size._asdict(), ready.fill_seconds)
        results.missing = [
            f"{peer} is not installed: make bench-peers"
            for peer in sorted({peer for workload in chosen for peer in workload.peers})
            if not peers.is_installed(peer)
        ]
        is_whole = _measure_all(ready, plan, wanted, chosen, results, arguments.clients, console)
    report.show(console, results)
    chosen_all = not (wanted or arguments.clients) and plan == FULL
    report.write(results, whole=chosen_all and is_whole)
    if INTERRUPTED in results.missing:
        sys.exit(130)  # what shells call a command ended by Ctrl-C


def _plan(arguments: argparse.Namespace) -> Plan:
    plan = QUICK if arguments.quick else FULL
    if arguments.payments is None:
        return plan
    return plan._replace(size=plan.size._replace(payments=arguments.payments))


def _measure_all(
    ready: Stage,
    plan: Plan,
    wanted: set[str],
    chosen: Sequence[Workload],
    results: report.Results,
    clients: tuple[int, ...] | None,
    console: Console,
) -> bool:
    """Adds what there is to find, until it is interrupted; whether all of it was measured."""
    run = partial(run_parts, ready, plan, wanted, results, console)
    try:
        is_whole = run(FIRST)
        try:
            for workload in chosen:
                for count in clients or plan.clients:
                    console.print(f"{workload.title}, {count} clients …", style="dim")
                    results.add(measure(ready, workload, count, plan))
        finally:
            results.judge(chosen)
        return run(PARTS) and is_whole
    except KeyboardInterrupt:  # what was found in many minutes before is shown
        results.missing.append(INTERRUPTED)
        return False


def run_parts(
    ready: Stage,
    plan: Plan,
    wanted: set[str],
    results: report.Results,
    console: Console,
    parts: dict[str, Part],
) -> bool:
    """Adds what the parts find; whether all of them could be measured."""
    failed = False
    for name, part in parts.items():
        if not wanted or name in wanted:
            console.print(f"{name} …", style="dim")
            try:
                results.verdicts += part(ready, plan)
            except Exception as error:  # the others are measured all the same
                failed = True
                results.missing.append(f"{name} was not measured: {error!r}")
    return not failed


def measure(ready: Stage, workload: Workload, clients: int, plan: Plan) -> report.Row:
    """The workload with so many clients, in turn with what it stands beside."""
    seconds = plan.seconds
    watch = Watch(ready)
    drive = partial(ready.drive, workload.script, workload.extra, clients, seconds)
    runs: dict[str, Run] = {"laari": partial(watch.run, drive)}
    details: dict[str, Any] = {}
    if workload.echo:
        runs["echo"] = partial(ready.echo, clients, seconds)
    for name, script in (("pgbench", workload.ceiling), ("function", workload.function)):
        if script is not None and clients in (1, 64):
            ceiling = ready.ceiling(script)
            count = 1 if clients == 1 else ceiling.best_clients(min(2, seconds))
            runs[name] = partial(ceiling.run, count, seconds)
            details[f"{name}_clients"] = count
    if workload.bearer:
        runs["bearer"] = partial(ready.drive, "get_bearer", "{bearer}", clients, seconds)
    if clients == 64:
        runs |= {
            name: partial(ready.peer, name, clients, seconds)
            for name in workload.peers
            if peers.is_installed(name)
        }
    if workload.unbatched and clients == 64:
        runs["one by one"] = partial(ready.unbatched, workload.script, clients, seconds)
    figures = alternate(runs, plan.rounds)
    details |= watch.details() | {"memory_mib": ready.service.memory()}
    return report.Row(workload.name, workload.title, clients, figures, details)


if __name__ == "__main__":
    main()
