"""Many processes on one database: four trees of two interface processes beside one such tree.

    python -m bench processes

The same number of clients, spread over the trees, on the same two processors: whatever the others
cost shows in the total. What the database's sessions wait for is sampled meanwhile, so that a
convoy has a name; and the mean batch is told, since clients that are spread over more processes
make smaller ones, of which each has its fixed cost.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from statistics import median

from bench.load import Load, drive
from bench.report import Verdict
from bench.service import Service, running
from bench.stage import Stage
from laari.store.postgres.pool import connection_to

TREES = 4
# With 64 each of the eight processes has eight of them: its batches cannot be those of one service.
CLIENTS = (64, 256)
KINDS = ("create", "charge")
TARGET_RATIO = 0.9
SAMPLE_SECONDS = 0.05
_WAITS = """
SELECT coalesce(wait_event_type || ' ' || wait_event, 'working') FROM pg_stat_activity
WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


@dataclass
class Trees:
    ready: Stage
    services: list[Service]
    batches: dict[int, Counter[str]] = field(default_factory=dict)  # by how many were driven

    def drive(self, number: int, kind: str, clients: int, seconds: int) -> Load:
        """The clients spread over so many services; the p99 is the worst of theirs."""
        driven = self.services[:number]
        targets = [self.ready.target._replace(origin=service.origin) for service in driven]
        before = _batches(driven)
        with ThreadPoolExecutor(number) as together:
            loads = list(
                together.map(
                    lambda target: drive(target, kind, clients=clients // number, seconds=seconds),
                    targets,
                )
            )
        self.batches[number] = self.batches.get(number, Counter()) + _batches(driven) - before
        return Load(
            requests=sum(load.requests for load in loads),
            seconds=max(load.seconds for load in loads),
            failed=sum(load.failed for load in loads),
            p50_ms=median(load.p50_ms for load in loads),
            p99_ms=max(load.p99_ms for load in loads),
        )

    def mean_batch(self, number: int) -> float:
        counted = self.batches[number]
        return counted["sum"] / max(1, counted["count"])


def _batches(services: list[Service]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for service in services:
        found = service.metrics()
        for part in ("sum", "count"):
            counted[part] += int(found[f"laari_batch_commands_{part}"])
    return counted


def measure(ready: Stage, rounds: int, seconds: int) -> list[Verdict]:
    with ExitStack() as stack:
        others = [stack.enter_context(running(ready.data_dir)) for _ in range(TREES - 1)]
        trees = Trees(ready, [ready.service, *others])
        trees.drive(TREES, KINDS[0], CLIENTS[0], 1)  # warms them up
        return [
            _verdict(trees, kind, clients, rounds, seconds) for clients in CLIENTS for kind in KINDS
        ]


def _verdict(trees: Trees, kind: str, clients: int, rounds: int, seconds: int) -> Verdict:
    ratios: list[float] = []
    slower: list[float] = []
    waits: Counter[str] = Counter()
    trees.batches.clear()
    for _ in range(rounds):
        one = trees.drive(1, kind, clients, seconds)
        with sampled(trees.ready.dsn, waits):
            all_of_them = trees.drive(TREES, kind, clients, seconds)
        if one.failed or all_of_them.failed:
            raise RuntimeError(f"{kind}: some requests failed")
        ratios.append(all_of_them.per_second / one.per_second)
        slower.append(all_of_them.p99_ms / one.p99_ms)
    ratio = median(ratios)
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}; p99 by {median(slower):.1f}; "
    spread += f"batches of {trees.mean_batch(TREES):.1f} and {trees.mean_batch(1):.1f}"
    return Verdict(
        f"{kind}, {clients} clients: rate of {TREES} services ÷ one ({spread}; {_told(waits)})",
        round(ratio, 3),
        f"at least {TARGET_RATIO:g}",
        ratio >= TARGET_RATIO,
    )


@contextmanager
def sampled(dsn: str, waits: Counter[str]) -> Iterator[None]:
    """Counts what sessions that work on something wait for, until the block ends."""
    ended = threading.Event()

    async def sample() -> None:
        async with connection_to(dsn) as connection:
            while not ended.is_set():
                waits.update(row[0] for row in await connection.fetch(_WAITS))
                await asyncio.sleep(SAMPLE_SECONDS)

    thread = threading.Thread(target=lambda: asyncio.run(sample()))
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _told(waits: Counter[str]) -> str:
    total = waits.total() or 1
    most = [(name, count) for name, count in waits.most_common(4) if name != "working"]
    return "sessions wait for " + ", ".join(f"{name} {count / total:.0%}" for name, count in most)
