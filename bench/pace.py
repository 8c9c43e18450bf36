"""Latencies over time: what each second saw, windows of several seconds, and their verdict."""

from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

from bench.report import Verdict

WINDOW_SECONDS = 10
MOST_TIMES_MEDIAN = 4.0


class Second(NamedTuple):
    """The requests that were due in one second, and what arrived at the receiver in it."""

    at: int  # seconds since the beginning
    milliseconds: Sequence[float]  # of each request that was answered well, from when it was due
    errors: int = 0
    deliveries: int = 0

    def as_json(self) -> list[Any]:
        times = sorted(self.milliseconds)
        shown = [round(percentile(times, share), 2) if times else None for share in (0.5, 0.99)]
        return [self.at, len(times), *shown, self.errors, self.deliveries]


COLUMNS = ("at", "count", "p50_ms", "p99_ms", "errors", "deliveries")


class Window(NamedTuple):
    at: int  # its first second
    seconds: int
    requests: int
    p50_ms: float
    p99_ms: float
    errors: int
    deliveries: int


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that this share of them does not exceed."""
    if not ordered:
        raise ValueError("there is nothing to take a percentile of")
    return ordered[max(0, -(-len(ordered) * round(share * 1000) // 1000) - 1)]


def windows(seconds: Sequence[Second], width: int = WINDOW_SECONDS) -> list[Window]:
    """Whole windows, by when requests were due; a window without an answer is left out."""
    begun: dict[int, list[Second]] = {}
    for second in seconds:
        begun.setdefault(second.at // width * width, []).append(second)
    found = []
    for at, held in sorted(begun.items()):
        times = sorted(time for second in held for time in second.milliseconds)
        if len(held) == width and times:
            found.append(
                Window(
                    at,
                    width,
                    len(times),
                    percentile(times, 0.5),
                    percentile(times, 0.99),
                    sum(second.errors for second in held),
                    sum(second.deliveries for second in held),
                )
            )
    return found


def verdicts(seconds: Sequence[Second], undelivered: int) -> list[Verdict]:
    """The p99 stays near its median throughout, no request fails, every event arrives."""
    found = windows(seconds)
    usual = median(window.p99_ms for window in found)
    worst = max(found, key=lambda window: window.p99_ms)
    times = worst.p99_ms / usual
    count = sum(len(second.milliseconds) + second.errors for second in seconds)
    errors = sum(second.errors for second in seconds)
    wanted = f"below {MOST_TIMES_MEDIAN:g}"
    return [
        Verdict(
            f"steady load: highest p99 of {WINDOW_SECONDS} s ÷ the median p99 of {usual:.1f} ms "
            f"(at {worst.at // 60}:{worst.at % 60:02d} min)",
            round(times, 2),
            wanted,
            times < MOST_TIMES_MEDIAN,
        ),
        Verdict(f"requests of {count:,} that failed", errors, "0", errors == 0),
        Verdict("events that were not delivered", undelivered, "0", undelivered == 0),
    ]
