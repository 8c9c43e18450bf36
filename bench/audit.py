"""How long `laari audit` takes: of everything, and since the last seal.

It comes before any workload, and only where the rows are new: what pgbench has written without the
service does not balance.
"""

import time
from statistics import median

from bench.report import Verdict
from bench.stage import Stage

WANTED_SECONDS_A_MILLION = 30
WANTED_SECONDS_SINCE_SEAL = 2


def measure(ready: Stage, rounds: int) -> list[Verdict]:
    if not ready.fill_seconds:
        return []
    payments = ready.target.filled.size.payments
    return [
        _verdict(
            f"audit of {payments:,} payments: seconds",
            [_seconds(ready) for _ in range(rounds)],
            WANTED_SECONDS_A_MILLION * payments / 1_000_000,
        ),
        _verdict(
            "audit since the last seal: seconds",
            [_seconds(ready, "--since-seal") for _ in range(rounds)],
            WANTED_SECONDS_SINCE_SEAL,
        ),
    ]


def _seconds(ready: Stage, *options: str) -> float:
    begun = time.perf_counter()
    ready.service.laari("audit", *options)  # fails where something does not balance
    return time.perf_counter() - begun


def _verdict(what: str, found: list[float], wanted: float) -> Verdict:
    seconds = median(found)
    text = f"{what} ({min(found):.1f} to {max(found):.1f})"
    return Verdict(text, round(seconds, 2), f"at most {wanted:g}", seconds <= wanted)
