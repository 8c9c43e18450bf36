"""What a run found: one table, `bench/results.json`, and a chart for the docs."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from bench import chart
from bench.measure import Figure
from bench.workloads import Wanted, Workload

RESULTS = Path(__file__).parent / "results.json"
CHART = Path(__file__).parent.parent / "docs" / "img" / "bench.svg"


_COLUMNS = (
    "clients",
    "laari",
    "p50 ms",
    "p99 ms",
    "commits/s",
    "batch",
    "CPU µs",
    "beside",
    "ratio",
)


class Row(NamedTuple):
    workload: str
    title: str
    clients: int
    figures: dict[str, Figure]  # "laari" and those it was measured in turn with
    details: dict[str, Any]


class Verdict(NamedTuple):
    """A ratio that was wanted, and what it came to."""

    text: str
    ratio: float
    wanted: str
    reached: bool


@dataclass
class Results:
    size: dict[str, int]
    fill_seconds: float
    rows: list[Row] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def add(self, row: Row) -> None:
        self.rows.append(row)

    def judge(self, workloads: Sequence[Workload]) -> None:
        for workload in workloads:
            for wanted in workload.wanted:
                self._judge(workload, wanted)

    def _judge(self, workload: Workload, wanted: Wanted) -> None:
        ours = self._figure(workload.name, wanted.clients, "laari")
        other, _, name = wanted.beside.partition(":")
        theirs = (
            self._figure(name, wanted.clients, "laari")
            if name
            else self._figure(workload.name, wanted.clients, other)
        )
        if ours is None or theirs is None:
            return
        ratio = float(getattr(ours, wanted.of) / getattr(theirs, wanted.of))
        beside = name or other
        what = "p50" if wanted.of == "p50_ms" else "rate"
        self.verdicts.append(
            Verdict(
                f"{workload.title}, {wanted.clients} clients: {what} ÷ {beside}",
                round(ratio, 3),
                f"at {'most' if wanted.at_most else 'least'} {wanted.value:g}",
                wanted.is_reached(ratio),
            )
        )

    def _figure(self, workload: str, clients: int, name: str) -> Figure | None:
        for row in self.rows:
            if (row.workload, row.clients) == (workload, clients):
                return row.figures.get(name)
        return None

    def as_json(self) -> dict[str, Any]:
        return {
            **circumstances(),
            "filled": {**self.size, "seconds": round(self.fill_seconds, 1)},
            "missing": self.missing,
            "verdicts": [verdict._asdict() for verdict in self.verdicts],
            "rows": [
                {
                    "workload": row.workload,
                    "title": row.title,
                    "clients": row.clients,
                    **row.details,
                    "figures": {name: f.as_json() for name, f in row.figures.items()},
                }
                for row in self.rows
            ],
        }


def circumstances() -> dict[str, Any]:
    """When and where it was measured."""
    return {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "processors": os.cpu_count(),
            "system": platform.platform(),
            "python": platform.python_version(),
        },
    }


def show(console: Console, results: Results) -> None:
    table = Table(title="Requests per second: median (lowest to highest)", title_justify="left")
    table.add_column("workload")
    for name in _COLUMNS:
        table.add_column(name, justify="right")
    for row in results.rows:
        ours = row.figures["laari"]
        table.add_row(
            row.title,
            str(row.clients),
            spread(ours) + (f" [red]{ours.failed} failed[/]" if ours.failed else ""),
            f"{ours.p50_ms:.2f}",
            f"{ours.p99_ms:.2f}",
            str(row.details.get("commits_per_second", "")),
            str(row.details.get("mean_batch", "")),
            " + ".join(map(str, row.details["processor_us"].values())),
            "\n".join(f"{n} {spread(f)}" for n, f in row.figures.items() if n != "laari"),
            "\n".join(
                f"{ours.per_second / f.per_second:.2f}"
                for n, f in row.figures.items()
                if n != "laari"
            ),
        )
    console.print(table)
    console.print("CPU: of the interface processes + of PostgreSQL, for one request")
    for line in results.missing:
        console.print(line, style="yellow")
    show_verdicts(console, results.verdicts)
    if results.rows:
        memory = results.rows[-1].details["memory_mib"]
        console.print("memory, MiB: " + ", ".join(f"{n} {mib:g}" for n, mib in memory.items()))


def show_verdicts(console: Console, verdicts: Sequence[Verdict]) -> None:
    for verdict in verdicts:
        mark = "[green]reached[/]" if verdict.reached else "[red]not reached[/]"
        console.print(f"{verdict.text}: {verdict.ratio:g}, wanted {verdict.wanted}: {mark}")


def spread(figure: Figure) -> str:
    return f"{figure.per_second:,.0f} ({figure.lowest:,.0f} to {figure.highest:,.0f})"


def write(results: Results, *, whole: bool) -> None:
    """A whole run is kept with the project; a part of one only on this machine."""
    path = RESULTS if whole else RESULTS.with_name("results.part.json")
    path.write_text(json.dumps(results.as_json(), indent=2) + "\n")
    if whole:
        CHART.write_text(chart.draw(results.as_json()))


def write_part(
    name: str,
    found: dict[str, Any],
    verdicts: Sequence[Verdict],
    *,
    whole: bool,
    indent: int | None = 2,
) -> Path:
    """What a part with databases of its own found: a file of its own too."""
    path = RESULTS.with_name(f"{name}.json" if whole else f"{name}.part.json")
    judged = [verdict._asdict() for verdict in verdicts]
    everything = {**circumstances(), "verdicts": judged, **found}
    path.write_text(json.dumps(everything, indent=indent) + "\n")
    return path
