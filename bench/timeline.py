"""A plot of latencies over time, with what PostgreSQL did meanwhile marked in it."""

import math
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple
from xml.sax.saxutils import escape

from bench.marks import Span
from bench.pace import MOST_TIMES_MEDIAN, WINDOW_SECONDS, Second, windows

WIDTH, LEFT, RIGHT = 760, 130, 40
TOP, PLOT, RATES, LANE, GAP = 44, 220, 60, 14, 26
TICKS = 6  # at most, along the time
LANES = 8  # tables whose vacuums are shown: those with most of them
LONG_SECONDS = 600  # below, windows are shorter than those that are judged
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1e293b}.quiet{fill:#64748b}"
    ".title{font-size:14px;font-weight:600}.grid{stroke:#e2e8f0}path{fill:none;stroke-width:1.5}"
    ".p99{stroke:#b45309}.p50{stroke:#0f766e}.limit{stroke:#b45309;stroke-dasharray:4 4}"
    ".made{stroke:#0f766e}.sent{stroke:#7c3aed}.checkpoint{fill:#94a3b8;opacity:.25}"
    ".vacuum{fill:#7c3aed}.analyze{fill:#0ea5e9}.failed{fill:#dc2626}"
    "text.p99{fill:#b45309;stroke:none}text.p50,text.made{fill:#0f766e;stroke:none}"
    "text.sent{fill:#7c3aed;stroke:none}"
    "@media(prefers-color-scheme:dark){text{fill:#e2e8f0}.quiet{fill:#94a3b8}.grid{stroke:#334155}"
    ".p99,.limit{stroke:#f59e0b}.p50,.made{stroke:#2dd4bf}.sent{stroke:#a78bfa}"
    ".vacuum{fill:#a78bfa}.analyze{fill:#38bdf8}text.p99{fill:#f59e0b}"
    "text.p50,text.made{fill:#2dd4bf}text.sent{fill:#a78bfa}}"
)


class Scale(NamedTuple):
    """From values to places: logarithmic for milliseconds, linear for everything else."""

    low: float
    high: float
    begin: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.logarithmic:
            low, high, at = math.log(low), math.log(high), math.log(at)
        return round(self.begin + (at - low) / (high - low) * (self.end - self.begin), 1)


def draw(title: str, seconds: Sequence[Second], spans: Sequence[Span]) -> str:
    total = seconds[-1].at + 1
    across = Scale(0, total, LEFT, WIDTH - RIGHT)
    tables = _tables(spans)
    lanes = TOP + PLOT + 10
    rates = lanes + LANE * len(tables) + GAP
    bottom = rates + RATES
    parts = [
        *_checkpoints(spans, across),
        *_latencies(seconds, across),
        *_lanes(spans, tables, across, lanes),
        *_rates(seconds, across, rates),
        *_times(total, across, bottom),
    ]
    about = "p50 and p99 of requests over time, with checkpoints, vacuums and the rates below."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + GAP}" role="img">'
        f"<title>{escape(title)}</title><desc>{about}</desc><style>{STYLE}</style>"
        f'<text x="0" y="18" class="title">{escape(title)}</text>{"".join(parts)}</svg>\n'
    )


def _tables(spans: Sequence[Span]) -> list[str]:
    """The tables that were vacuumed or analyzed most often."""
    named = [span.what for span in spans if span.kind != "checkpoint"]
    return sorted(set(named), key=lambda name: (-named.count(name), name))[:LANES]


def _latencies(seconds: Sequence[Second], across: Scale) -> list[str]:
    short = max(1, WINDOW_SECONDS // 5)
    shown = windows(seconds, WINDOW_SECONDS if len(seconds) >= LONG_SECONDS else short)
    judged = [window.p99_ms for window in windows(seconds)]
    limit = median(judged) * MOST_TIMES_MEDIAN if judged else 0
    values = [limit or 1, *(value for window in shown for value in (window.p50_ms, window.p99_ms))]
    low, high = 10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(max(values)))
    up = Scale(low, max(high, low * 10), TOP + PLOT, TOP, logarithmic=True)
    parts = []
    for power in range(round(math.log10(up.low)), round(math.log10(up.high)) + 1):
        y = up(10.0**power)
        parts.append(
            f'<path class="grid" d="M{LEFT} {y}H{WIDTH - RIGHT}"/>'
            f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end" class="quiet">{10.0**power:g} ms'
            "</text>"
        )
    if limit:
        text = f"{MOST_TIMES_MEDIAN:g} times the median p99"
        parts.append(
            f'<path class="limit" d="M{LEFT} {up(limit)}H{WIDTH - RIGHT}"/>'
            f'<text x="{LEFT + 4}" y="{up(limit) - 4}" class="quiet">{text}</text>'
        )
    for name in ("p50", "p99"):
        points = [
            (across(window.at + window.seconds / 2), up(getattr(window, f"{name}_ms")))
            for window in shown
        ]
        parts.append(_line(name, points))
        parts.append(
            f'<text x="{WIDTH - RIGHT + 6}" y="{points[-1][1] + 4}" class="{name}">{name}</text>'
        )
    failed = [second.at for second in seconds if second.errors]
    parts += [f'<circle class="failed" cx="{across(at)}" cy="{TOP + 3}" r="2.5"/>' for at in failed]
    return parts


def _line(name: str, points: Sequence[tuple[float, float]]) -> str:
    way = "L".join(f"{x:g} {y:g}" for x, y in points)
    return f'<path class="{name}" d="M{way}"/>'


def _checkpoints(spans: Sequence[Span], across: Scale) -> list[str]:
    parts: list[str] = []
    for span in spans:
        if span.kind == "checkpoint":
            begin, end = across(span.begin), across(span.end)
            if not parts:  # one name for all of them: in an hour they follow each other closely
                parts.append(f'<text x="{begin + 2}" y="{TOP - 4}" class="quiet">checkpoint</text>')
            width = max(1.0, round(end - begin, 1))
            parts.append(
                f'<rect class="checkpoint" x="{begin}" y="{TOP}" width="{width}" height="{PLOT}"/>'
            )
    return parts


def _lanes(spans: Sequence[Span], tables: Sequence[str], across: Scale, top: int) -> list[str]:
    parts = [
        f'<text x="{LEFT - 8}" y="{top + number * LANE + 10}" text-anchor="end" class="quiet">'
        f"{escape(name)}</text>"
        for number, name in enumerate(tables)
    ]
    for span in spans:
        if span.what in tables:
            y = top + tables.index(span.what) * LANE + 3
            begin, end = across(span.begin), across(span.end)
            parts.append(
                f'<rect class="{span.kind}" x="{begin}" y="{y}" height="{LANE - 6}" '
                f'width="{max(2.0, round(end - begin, 1))}"><title>{span.kind}</title></rect>'
            )
    if tables:
        y = top + len(tables) * LANE + 10
        parts.append(
            f'<text x="{LEFT}" y="{y}" class="quiet">autovacuum; light blue: analyze</text>'
        )
    return parts


def _rates(seconds: Sequence[Second], across: Scale, top: int) -> list[str]:
    found = windows(seconds, WINDOW_SECONDS if len(seconds) >= LONG_SECONDS else 2)
    series = {
        "made": [window.requests / window.seconds for window in found],
        "sent": [window.deliveries / window.seconds for window in found],
    }
    most = max(1.0, *(value for values in series.values() for value in values))
    up = Scale(0, most * 1.1, top + RATES, top + 8)
    parts = [
        f'<path class="grid" d="M{LEFT} {top + RATES}H{WIDTH - RIGHT}"/>'
        f'<text x="{LEFT - 8}" y="{up(most) + 4}" text-anchor="end" class="quiet">{most:,.0f}/s'
        "</text>"
        f'<text x="0" y="{top + 28}" class="made">payments</text>'
        f'<text x="0" y="{top + 44}" class="sent">events delivered</text>'
    ]
    for name, values in series.items():
        points = [
            (across(window.at + window.seconds / 2), up(value))
            for window, value in zip(found, values, strict=True)
        ]
        parts.append(_line(name, points))
    return parts


def _times(total: int, across: Scale, y: int) -> list[str]:
    """Marks of whole minutes where there are several, otherwise of seconds."""
    unit, name = (60, "min") if total >= 300 else (1, "s")
    step = max(1, math.ceil(total / unit / TICKS / 5) * 5) * unit
    return [
        f'<text x="{across(at)}" y="{y + 16}" text-anchor="middle" class="quiet">'
        f"{at // unit} {name}</text>"
        for at in range(0, total + 1, step)
    ]
