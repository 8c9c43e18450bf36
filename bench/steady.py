"""An hour of steady load: creates and charges at a fixed rate, webhooks on and delivered.

The rate is a share of the best that was measured just before. Latencies count from when a request
was due; p99 is taken over windows of ten seconds and has to stay near its median throughout:
through checkpoints, through autovacuum, and while a few million rows more come to lie there.
"""

import asyncio
import math
import shutil
import time
from array import array
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from secrets import token_hex
from statistics import median
from typing import Any, NamedTuple

import asyncpg

from bench import hooked, marks, pace
from bench.fill import Size, Tell
from bench.host import Host, HostSecond
from bench.openloop import Ended, Plan, Report, open_loop
from bench.pace import Second
from bench.report import Verdict
from bench.settle import wait_until_quiet
from bench.sink import sink
from bench.stage import Stage, stage

DATA = Path(__file__).parent / ".data-steady"
# Of the best rate. Batches are smaller then and a request costs more: 0.4 leaves nothing idle.
SHARE = 0.2
CLIENTS = 64
TRIALS, TRIAL_SECONDS = 3, 5  # of the best rate
TELL_SECONDS = 10
MINUTES, QUICK_MINUTES = 60.0, 2.0
SIZE, QUICK_SIZE = Size(), Size(20_000, 20_000, 10_000)


class Load(NamedTuple):
    best: float  # requests a second, as fast as they are answered
    rate: float


@dataclass
class Found:
    load: Load
    seconds: list[Second] = field(default_factory=list)
    spans: list[marks.Span] = field(default_factory=list)
    host: list[HostSecond] = field(default_factory=list)  # by second
    late_p99_ms: dict[int, float] = field(default_factory=dict)  # of the load itself, by second
    processor_seconds: float = 0.0  # that the load took
    reasons: dict[str, int] = field(default_factory=dict)
    undelivered: int = 0
    drain_seconds: float = 0.0

    def verdicts(self) -> list[Verdict]:
        return pace.verdicts(self.seconds, self.undelivered)

    def as_json(self) -> dict[str, Any]:
        return {
            "best_per_second": round(self.load.best, 1),
            "rate_per_second": round(self.load.rate, 1),
            "failed_with": self.reasons,
            "last_event_delivered_after_seconds": round(self.drain_seconds, 1),
            "processors_idle": round(self.idle, 3),
            "load": {
                "processor_seconds": round(self.processor_seconds, 1),
                "sent_late_p99_ms": round(self.late, 2),
            },
            "host": {
                "columns": HostSecond._fields,
                "seconds": [[round(each, 3) for each in second] for second in self.host],
            },
            "sent_late_p99_ms": {at: round(late, 1) for at, late in self.late_p99_ms.items()},
            "windows": [window._asdict() for window in pace.windows(self.seconds)],
            "marks": [span._asdict() for span in self.spans],
            "columns": pace.COLUMNS,
            "seconds": [second.as_json() for second in self.seconds],
        }

    @property
    def idle(self) -> float:
        return median(second.idle for second in self.host)

    @property
    def late(self) -> float:
        return median(self.late_p99_ms.values())

    def slowest(self) -> str:
        """What the machine did in the slowest second: that may not be the service's doing."""
        slowest = max(self.seconds, key=lambda second: max(second.milliseconds, default=0.0))
        most_ms = max(slowest.milliseconds, default=0.0)
        late_ms = self.late_p99_ms.get(slowest.at, 0.0)
        around = self.host[max(slowest.at - 1, 0) : slowest.at + 2]
        stolen = max((second.stolen for second in around), default=0.0)
        disk_ms = max((second.disk_ms for second in around), default=0.0)
        return (
            f"the slowest request took {most_ms:.0f} ms (at {slowest.at} s): the load was "
            f"{late_ms:.0f} ms late, the host took {stolen:.0%} of the processors, everything "
            f"waited {disk_ms:.0f} ms for disk"
        )

    def summary(self) -> str:
        per_request = self.processor_seconds / max(
            1, sum(len(s.milliseconds) for s in self.seconds)
        )
        kinds = {span.kind: 0 for span in self.spans}
        for span in self.spans:
            kinds[span.kind] += 1
        seen = ", ".join(f"{count} {kind}s" for kind, count in kinds.items()) or "none"
        return (
            f"{self.load.rate:,.0f} a second of a best of {self.load.best:,.0f}; processors "
            f"{self.idle:.0%} idle; seen meanwhile: {seen}; the load sends "
            f"{self.late:.1f} ms late at its p99, {per_request * 1e6:.0f} µs each; "
            f"last event delivered {self.drain_seconds:.1f} s after the last request; "
            f"{self.slowest()}"
        )


def measure(minutes: float, size: Size, *, rate: float | None, keep: bool, tell: Tell) -> Found:
    with ExitStack() as stack:
        if not keep:
            stack.callback(shutil.rmtree, DATA, ignore_errors=True)
        url, delivered = stack.enter_context(sink())
        ready = stack.enter_context(stage(DATA, size, keep=keep, tell=tell))
        update = ("merchant", "update", ready.merchant_id)
        ready.service.laari(*update, "--webhook-url", url, "--webhooks", "on")
        best = _best(ready, tell)
        found = Found(Load(best, best * SHARE if rate is None else rate))
        ready.query("CHECKPOINT")
        wait_until_quiet(ready.service, tell)
        plan = Plan(ready.target, found.load.rate, round(minutes * 60), token_hex(4))
        tell(f"{plan.rate:,.0f} a second for {plan.seconds:,} s")
        with open_loop(plan) as pipe:
            asyncio.run(_watch(ready, pipe, delivered, found, tell))
        ended = time.monotonic()
        found.undelivered = _drain(ready)
        found.drain_seconds = time.monotonic() - ended
    return found


def _best(ready: Stage, tell: Tell) -> float:
    """Requests a second from clients that call as fast as they are answered."""
    loads = [ready.drive("writes", "", CLIENTS, TRIAL_SECONDS) for _ in range(TRIALS)]
    hooked.wait_until_delivered(ready)
    best = median(load.per_second for load in loads)
    tell(f"best rate: {best:,.0f} a second")
    return best


def _drain(ready: Stage) -> int:
    """Waits for the last deliveries; how many events did not get there."""
    try:
        hooked.wait_until_delivered(ready)
    except RuntimeError:
        return int(ready.query("SELECT count(*) FROM deliveries WHERE status <> 'delivered'"))
    return 0


async def _watch(
    ready: Stage, pipe: Connection, delivered: Callable[[], int], found: Found, tell: Tell
) -> None:
    """Until the load ends: takes its reports, and a sample of everything else each second."""
    seen, arrived = marks.Marks(), {0: 0}
    begun = await asyncio.to_thread(pipe.recv)
    counted, second = delivered(), 0
    host = Host()
    connection = await asyncpg.connect(ready.dsn, timeout=60)
    try:
        while not _receive(pipe, found):
            seen.see(time.time() - begun, await marks.take(connection))
            second = max(second + 1, math.ceil(time.time() - begun))
            await asyncio.sleep(begun + second - time.time())
            count = delivered()
            arrived[second - 1], counted = count - counted, count
            found.host.append(host.sample())
            if second % TELL_SECONDS == 0:
                _tell_progress(found, sum(arrived.values()), tell)
    finally:
        await connection.close()
    found.spans = seen.end(time.time() - begun)
    found.seconds = [
        one._replace(deliveries=arrived.get(one.at, 0)) for one in sorted(found.seconds)
    ]


def _receive(pipe: Connection, found: Found) -> bool:
    """Takes what the load has reported so far; whether it has ended."""
    while pipe.poll():
        try:
            told: Report | Ended = pipe.recv()
        except EOFError:
            raise RuntimeError("the load ended before its time") from None
        if isinstance(told, Ended):
            found.processor_seconds, found.reasons = told
            return True
        times = array("f", told.milliseconds)
        found.seconds.append(Second(told.at, times, told.errors))
        found.late_p99_ms[told.at] = told.late_p99_ms
    return False


def _tell_progress(found: Found, deliveries: int, tell: Tell) -> None:
    known = pace.windows(sorted(found.seconds))
    if not known:
        return
    last, errors = known[-1], sum(second.errors for second in found.seconds)
    count = sum(len(second.milliseconds) for second in found.seconds)
    tell(
        f"{last.at // 60}:{last.at % 60:02d} p50 {last.p50_ms:.1f} ms, p99 {last.p99_ms:.1f} ms, "
        f"{last.requests / last.seconds:,.0f} a second; so far {count:,} requests, "
        f"{errors} failed, {deliveries:,} events delivered"
    )
