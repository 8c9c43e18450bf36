"""What the service's runs did to the database and the processors, between the runs of others."""

from collections import Counter
from typing import Any

from bench.load import Load
from bench.measure import Run
from bench.service import Service
from bench.stage import Stage


class Watch:
    def __init__(self, ready: Stage) -> None:
        self._ready = ready
        self._commits = self._batches = self._commands = self._seconds = 0.0
        self._requests = self._log_bytes = 0
        self._used: Counter[str] = Counter()

    def run(self, drive: Run) -> Load:
        service = self._ready.service
        commits, before, used = self._ready.commits(), service.metrics(), _processors(service)
        log = self._ready.log_position()
        load = drive()
        self._log_bytes += self._ready.log_position() - log
        self._used += _processors(service) - used
        after = service.metrics()
        self._seconds += load.seconds
        self._requests += load.requests
        self._commits += self._ready.commits() - commits
        self._batches += _grown(before, after, "laari_batch_commands_count")
        self._commands += _grown(before, after, "laari_batch_commands_sum")
        return load

    def details(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "commits_per_second": round(self._commits / self._seconds),
            "commits_per_request": round(self._commits / self._requests, 3),
            "wal_bytes_per_request": round(self._log_bytes / self._requests),
            "processor_us": {
                name: round(seconds / self._requests * 1_000_000)
                for name, seconds in self._used.items()
            },
        }
        if self._batches:
            found["mean_batch"] = round(self._commands / self._batches, 1)
        return found


def _processors(service: Service) -> Counter[str]:
    return Counter(service.processor_seconds())


def _grown(before: dict[str, float], after: dict[str, float], name: str) -> float:
    return after.get(name, 0) - before.get(name, 0)
