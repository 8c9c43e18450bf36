"""What sharing a transaction is worth: payments created with batches and with batches of one."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from bench.load import Load, drive
from bench.service import running

CLIENTS = 64
SECONDS = 4.0
ROUNDS = 3


def run(directory: Path) -> dict[str, Any]:
    """Two services on engines of their own, measured in turn."""
    measured: dict[str, list[Load]] = {"batched": [], "one by one": []}
    with ExitStack() as stack:
        services = {
            "batched": stack.enter_context(running(directory / "batched")),
            "one by one": stack.enter_context(running(directory / "single", LAARI_MAX_BATCH="1")),
        }
        keys = {
            name: service.laari("merchant", "create", "Bench")["secret_key"]
            for name, service in services.items()
        }
        for _ in range(ROUNDS):
            for name, service in services.items():
                url = f"{service.origin}/merchant/payments"
                load = drive(url, "create_payment", keys[name], clients=CLIENTS, seconds=SECONDS)
                measured[name].append(load)
    rates = {name: median(load.per_second for load in loads) for name, loads in measured.items()}
    return {
        "clients": CLIENTS,
        "failed": sum(load.failed for loads in measured.values() for load in loads),
        "per_second": {name: round(rate) for name, rate in rates.items()},
        "p99_ms": {name: median(x.p99_ms for x in loads) for name, loads in measured.items()},
        "ratio": round(rates["batched"] / rates["one by one"], 2),
        "wanted": "at least 3",
    }
