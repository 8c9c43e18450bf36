"""What the part `growth` found, as tables."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from bench.growth import Found, Held, Traffic
from bench.report import show_verdicts, spread

SHOWN = 12  # tables and indexes; the file has them all


def show(console: Console, found: Found) -> None:
    console.print(_rates(found.held))
    console.print(_memory(found.held))
    console.print(_room(found.held[-1]))
    console.print(_traffic(found.traffic))
    into = max(traffic.into for traffic in found.traffic)
    console.print(_grown([traffic for traffic in found.traffic if traffic.into != into]))
    show_verdicts(console, found.verdicts())


def _table(title: str, first: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first)
    for name in columns:
        table.add_column(name, justify="right")
    return table


def _rates(held: Sequence[Held]) -> Table:
    table = _table(
        "Requests per second: median (lowest to highest). Of one request: processor time of the "
        "interface + PostgreSQL, bytes of log, commits",
        "workload",
        [f"{one.payments:,} payments" for one in held],
    )
    for name in held[0].figures:
        cells = []
        for one in held:
            details = one.details[name]
            log, commits = details["wal_bytes_per_request"], details["commits_per_request"]
            used = " + ".join(map(str, details["processor_us"].values()))
            cells.append(f"{spread(one.figures[name])}\n{used} µs, {log:,} B, {commits:.3f}")
        table.add_row(name, *cells)
    return table


def _memory(held: Sequence[Held]) -> Table:
    table = _table("Memory of its own, MiB", "process", [f"{one.payments:,}" for one in held])
    for name in held[0].memory_mib:
        table.add_row(name, *(f"{one.memory_mib.get(name, 0):.1f}" for one in held))
    return table


def _room(largest: Held) -> Table:
    per_payment = largest.bytes_per_payment
    title = f"Bytes per payment, {largest.payments:,} filled in bulk: {per_payment:,.0f}"
    table = _table(title, "table or index", ["bytes"])
    for name, size in _largest(largest.relations):
        table.add_row(name, f"{size / largest.payments:,.1f}")
    return table


def _traffic(all_traffic: Sequence[Traffic]) -> Table:
    columns = ("payments", "bytes", "log: records", "log: images", "commits")
    table = _table("What one payment made over HTTP leaves behind", "traffic", columns)
    for traffic in all_traffic:
        table.add_row(
            f"{traffic.kind}, into {traffic.into:,}",
            f"{traffic.payments:,}",
            f"{traffic.bytes_per_payment:,.0f}",
            f"{traffic.log_records:,.0f}",
            f"{traffic.images:,.0f}",
            f"{traffic.commits:.3f}",
        )
    return table


def _grown(all_traffic: Sequence[Traffic]) -> Table:
    columns = [traffic.kind for traffic in all_traffic]
    table = _table("Where those bytes are, in a new database", "table or index", columns)
    names = {name: 0.0 for traffic in all_traffic for name in traffic.relations}
    for traffic in all_traffic:
        for name, size in traffic.relations.items():
            names[name] += size
    for name, _ in _largest(names):
        sizes = (traffic.relations.get(name, 0.0) for traffic in all_traffic)
        table.add_row(name, *(f"{size:,.1f}" for size in sizes))
    return table


def _largest(sizes: dict[str, int] | dict[str, float]) -> list[tuple[str, float]]:
    return sorted(sizes.items(), key=lambda item: -item[1])[:SHOWN]
