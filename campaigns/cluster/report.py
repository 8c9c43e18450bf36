"""The results: a line per cycle as it goes, a table at the end, and a file with everything.

`python -m campaigns.cluster.report FOLDER…` makes one table of the results of several campaigns.
"""

import json
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from campaigns.cluster.checker import Problem
from campaigns.cluster.measure import Measures, NodeMeasures
from campaigns.journal import Operation

_HEAD = (
    "Fault",
    "Cycles",
    "Elected after",
    "Writes back, haproxy",
    "Writes back, multi-host",
    "Reads back",
    "Webhooks back",
    "Slowest webhook",
    "Longest request",
    "503",
    "500 (in doubt)",
)


def progress(measures: Measures) -> str:
    nodes = "; ".join(
        f"{name} writes {node.writes_back}/{node.writes_failed} reads "
        f"{node.reads_back}/{node.reads_failed}"
        for name, node in measures.nodes.items()
    )
    statuses = ", ".join(
        f"{count} x {status}" for status, count in sorted(measures.statuses.items())
    )
    line = (
        f"[{measures.cycle + 1}] {measures.fault}: elected {measures.elected}, commits "
        f"{measures.committed}; {nodes}; webhooks {measures.webhooks_back}; longest "
        f"{measures.longest}; {statuses}; in doubt {measures.in_doubt}"
    )
    return "\n".join([line, *(f"      BROKEN: {each}" for each in measures.broken)])


def _spread(values: Iterable[float | None]) -> str:
    """The median and the worst."""
    known = [each for each in values if each is not None]
    if not known:
        return "-"
    return f"{statistics.median(known):.1f} s, at most {max(known):.1f} s"


def table(cycles: Sequence[Measures]) -> str:
    rows = [_HEAD, tuple("---" for _ in _HEAD)]
    for name in dict.fromkeys(each.fault for each in cycles):
        rows.append(_row(name, [each for each in cycles if each.fault == name]))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(name: str, cycles: Sequence[Measures]) -> tuple[str, ...]:
    nodes = [node for each in cycles for node in each.nodes.values()]

    def writes(style: str) -> str:
        return _spread(
            None if node.writes_back is None else max(node.writes_back, node.writes_failed)
            for node in nodes
            if node.style == style
        )

    statuses: Counter[str] = Counter()
    for each in cycles:
        statuses.update(each.statuses)
    return (
        name,
        str(len(cycles)),
        _spread(each.elected for each in cycles),
        writes("haproxy"),
        writes("multi-host"),
        _spread(
            None if node.reads_back is None else max(node.reads_back, node.reads_failed)
            for node in nodes
        ),
        _spread(each.webhooks_back for each in cycles),
        f"{max(each.slowest_webhook or 0.0 for each in cycles):.1f} s",
        f"{max(each.longest for each in cycles):.1f} s",
        str(statuses["503"]),
        f"{statuses['500']} ({sum(each.in_doubt for each in cycles)})",
    )


def totals(operations: Sequence[Operation], problems: Sequence[Problem]) -> dict[str, int]:
    kinds = Counter(problem.what for problem in problems)
    return {
        "operations": len(operations),
        "attempts": sum(len(each.attempts) for each in operations),
        "acknowledged": sum(1 for each in operations if each.acknowledged),
        "refused": sum(1 for each in operations if each.was_refused),
        "in doubt and settled": sum(
            1 for each in operations if each.was_in_doubt and each.acknowledged
        ),
        **{what: kinds[what] for what in ("lost", "doubled", "ghost", "stale", "undelivered")},
        "other problems": sum(
            count
            for what, count in kinds.items()
            if what not in ("lost", "doubled", "ghost", "stale", "undelivered")
        ),
    }


def write(folder: Path, cycles: Sequence[Measures], found: dict[str, Any]) -> None:
    result = {**found, "cycles": [each.as_json() for each in cycles]}
    (folder / "results.json").write_text(json.dumps(result, indent=1) + "\n")
    (folder / "results.md").write_text(table(cycles) + "\n")


def read(folder: Path) -> list[Measures]:
    """The cycles of a campaign that is over."""
    cycles = []
    for each in json.loads((folder / "results.json").read_text())["cycles"]:
        nodes = {name: NodeMeasures(**node) for name, node in each.pop("nodes").items()}
        cycles.append(Measures(nodes=nodes, **each))
    return cycles


if __name__ == "__main__":
    print(table([cycle for folder in sys.argv[1:] for cycle in read(Path(folder))]))
