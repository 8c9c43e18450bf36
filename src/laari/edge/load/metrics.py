"""Figures about the service for Prometheus, in memory that the interface processes share.

Each process writes only to its part, without a lock. A restarted one goes on counting there.
"""

import mmap
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from laari.http.messages import OTHER
from laari.rules.health import Noted
from laari.store.ledger.last_seal_file import ShownSeals

PROCESS_BYTES = 1 << 18  # the part of one process: about 600 pages fit

LATENCY_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
BATCH_BOUNDS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
GAUGES = {
    "requests_in_flight": "Requests being worked on.",
    "commands_waiting": "Write commands that wait for their batch.",
    "read_connections": "Database connections open for reads.",
    "read_connections_idle": "Those of them that nobody uses.",
    "page_connections": "Database connections open for pages.",
    "page_connections_idle": "Those of them that nobody uses.",
}

_ANSWERS = tuple((status, "") for status in (200, 201, 204, 303, 304, 404))
_UNKNOWN = (0, "unknown")


class Metrics:
    """The cells of every process in the shared file `fd`; without one, in memory."""

    def __init__(
        self,
        operations: Iterable[str],
        refusals: Iterable[tuple[int, str]],  # every status and code there is
        fd: int | None = None,
        process: int = 0,
        pages: Iterable[str] = (),  # operations for people, with a status and no code
    ) -> None:
        refusals = sorted(set(refusals))
        outcomes = _places((*_ANSWERS, *refusals, _UNKNOWN))
        shown = {status for status, _ in (*_ANSWERS, *refusals)}
        page_outcomes = _places((*((status, "") for status in sorted(shown)), _UNKNOWN))
        self._outcomes = dict.fromkeys((*operations, OTHER), outcomes)
        self._outcomes |= dict.fromkeys(pages, page_outcomes)
        memory = memoryview(
            mmap.mmap(-1, PROCESS_BYTES) if fd is None else mmap.mmap(fd, 0)  # 0: all of it
        )
        self._parts = [
            memory[start : start + PROCESS_BYTES] for start in range(0, len(memory), PROCESS_BYTES)
        ]
        mine = self._parts[process]
        self._counts, self._sums = mine.cast("q"), mine.cast("d")
        self._cells = 0
        self._requests = {name: self._reserve(len(held)) for name, held in self._outcomes.items()}
        self._latencies = {name: self._reserve(len(LATENCY_BOUNDS) + 2) for name in self._outcomes}
        self._batches = self._reserve(len(BATCH_BOUNDS) + 2)
        self._waits = self._reserve(len(LATENCY_BOUNDS) + 2)
        self._gauges = self._reserve(len(GAUGES))
        assert self._cells * 8 <= PROCESS_BYTES
        self.set_gauges(*(0 for _ in GAUGES))  # the process before this one may have set them

    def _reserve(self, cells: int) -> int:
        """The first of some cells."""
        first, self._cells = self._cells, self._cells + cells
        return first

    def count(self, operation: str, status: int, code: str, seconds: float) -> None:
        """One request that got its reply; `code` is that of its refusal, or empty."""
        places = self._outcomes[operation]
        place = places.get((status, code))
        if place is None:
            place = places[_UNKNOWN]
        self._counts[self._requests[operation] + place] += 1
        self._observe(self._latencies[operation], LATENCY_BOUNDS, seconds)

    def batch(self, commands: int, waited_seconds: float) -> None:
        """One batch that begins, and the longest wait of its commands."""
        self._observe(self._batches, BATCH_BOUNDS, commands)
        self._observe(self._waits, LATENCY_BOUNDS, waited_seconds)

    def set_gauges(self, *values: int) -> None:
        """In the order of `GAUGES`."""
        for number, value in enumerate(values):
            self._counts[self._gauges + number] = value

    def _observe(self, cell: int, bounds: Sequence[float], value: float) -> None:
        self._counts[cell + bisect_left(bounds, value)] += 1
        self._sums[cell + len(bounds) + 1] += value

    def text(
        self,
        database_up: bool,
        webhooks: tuple[int, float] | None,
        messages: tuple[int, float] | None = None,
        seals: tuple[ShownSeals | None, float | None] = (None, None),  # what waits for one, in s
        noted: Noted | None = None,
        *,
        second_person: bool = False,
        sms_per_hour: int | None = None,
    ) -> bytes:
        """The figures of all processes together; the backlogs and seals if they are known."""
        meaning = "Whether something can be committed to the database."
        lines = [*self._lines(), *_gauge("database_up", meaning, int(database_up))]
        meaning = "Whether a second person confirms what one person moves above the limit."
        lines += _gauge("second_person", meaning, int(second_person))
        lines += _backlog_lines("webhooks", "Events not delivered yet", webhooks)
        lines += _backlog_lines("messages", "Emails and SMS not sent yet", messages)
        last_seals, unsealed_seconds = seals
        if last_seals is not None:
            lines += _seal_lines(last_seals)
        if unsealed_seconds is not None:
            meaning = "Age of the oldest live event after the last seal of events; 0 without any."
            lines += _gauge("unsealed_oldest_seconds", meaning, f"{unsealed_seconds:.3f}")
        if noted is not None:
            lines += _noted_lines(noted, time.time())
        if sms_per_hour is not None:
            lines += _gauge("sms_per_hour", "SMS that may be sent in an hour.", sms_per_hour)
        return "".join(f"{line}\n" for line in lines).encode()

    def _lines(self) -> Iterator[str]:
        counts = [sum(cells) for cells in zip(*(p.cast("q") for p in self._parts), strict=True)]
        sums = [p.cast("d") for p in self._parts]

        def histogram(name: str, labels: str, cell: int, bounds: Sequence[float]) -> Iterator[str]:
            inner = f"{labels}," if labels else ""
            totals = list(accumulate(counts[cell : cell + len(bounds) + 1]))
            for bound, total in zip((*map(str, bounds), "+Inf"), totals, strict=True):
                yield f'{name}_bucket{{{inner}le="{bound}"}} {total}'
            shown = f"{{{labels}}}" if labels else ""
            yield f"{name}_sum{shown} {sum(part[cell + len(bounds) + 1] for part in sums):.6f}"
            yield f"{name}_count{shown} {totals[-1]}"

        yield from _head("laari_requests_total", "counter", "Requests that got a response.")
        for operation, first in self._requests.items():
            for (status, code), place in self._outcomes[operation].items():
                if counts[first + place]:
                    yield (
                        f'laari_requests_total{{operation="{operation}",status="{status}",'
                        f'code="{code}"}} {counts[first + place]}'
                    )
        name = "laari_request_seconds"
        yield from _head(name, "histogram", "Time from a request's arrival to its response.")
        for operation, first in self._latencies.items():
            if any(counts[first : first + len(LATENCY_BOUNDS) + 1]):
                yield from histogram(name, f'operation="{operation}"', first, LATENCY_BOUNDS)
        yield from _head("laari_batch_commands", "histogram", "Write commands in one transaction.")
        yield from histogram("laari_batch_commands", "", self._batches, BATCH_BOUNDS)
        name = "laari_batch_wait_seconds"
        yield from _head(name, "histogram", "The longest wait of a batch's commands for it.")
        yield from histogram(name, "", self._waits, LATENCY_BOUNDS)
        for number, (name, meaning) in enumerate(GAUGES.items()):
            yield from _gauge(name, meaning, counts[self._gauges + number])


def _backlog_lines(name: str, what: str, backlog: tuple[int, float] | None) -> Iterator[str]:
    if backlog is not None:
        waiting, oldest = backlog
        yield from _gauge(f"{name}_waiting", f"{what}.", waiting)
        yield from _gauge(f"{name}_oldest_seconds", f"{what}: age of the oldest.", f"{oldest:.3f}")


def _seal_lines(seals: ShownSeals) -> Iterator[str]:
    meaning = "Number of the ledger's last seal; it never falls."
    yield from _gauge("last_seal_number", meaning, seals.last_number)
    if seals.to_keep is not None:
        name = "laari_kept_seal_info"
        yield from _head(name, "gauge", "The last seal before this hour: laari audit --kept-seal.")
        yield f'{name}{{seal="{seals.to_keep}"}} 1'


def _noted_lines(noted: Noted, now: float) -> Iterator[str]:
    failed = "Events whose delivery was given up."
    yield from _gauge("webhooks_failed", failed, noted.deliveries_failed)
    failed = "Emails and SMS that were given up."
    yield from _gauge("messages_failed", failed, noted.messages_failed)
    yield from _gauge("sms_last_hour", "SMS sent in the last hour.", noted.sms_of_last_hour)
    for name, moment in (
        ("last_seal", noted.last_seal_at),
        # A rule finds the installation whose books nobody has ever audited or saved, too.
        ("last_audit", noted.last_audit_at or noted.installed_at),
        ("last_backup", noted.last_backup_at or noted.installed_at),
    ):
        if moment is not None:
            age = max(0.0, now - moment.timestamp())
            words = name.removeprefix("last_")
            yield from _gauge(f"{name}_age_seconds", f"Time since the last {words}.", f"{age:.3f}")
    if noted.last_audit_ok is not None:
        meaning = "Whether the last audit found the books in order."
        yield from _gauge("last_audit_ok", meaning, int(noted.last_audit_ok))


def _gauge(name: str, meaning: str, value: int | str) -> Iterator[str]:
    yield from _head(f"laari_{name}", "gauge", meaning)
    yield f"laari_{name} {value}"


def _places(outcomes: Iterable[tuple[int, str]]) -> dict[tuple[int, str], int]:
    return {outcome: place for place, outcome in enumerate(outcomes)}


def _head(name: str, kind: str, meaning: str) -> Iterator[str]:
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"
