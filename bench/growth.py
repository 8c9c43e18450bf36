"""What growth costs: the same workloads on databases that differ only in how much they hold.

All databases and their services are up at once, and every workload goes round them in turn, so that
what else the machine does falls on all of them; the order is reversed in every second round. Events
are filled without their bodies. What payments leave on the disk and in the log is measured on real
traffic as well, made over HTTP: in a database that held next to nothing, and in the largest.
"""

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bench import footprint, hooked
from bench.fill import Size, Tell
from bench.load import Load, drive
from bench.measure import Figure, figure
from bench.report import Verdict
from bench.settle import catch_up, wait_until_quiet
from bench.stage import Stage, stage
from bench.watch import Watch
from bench.webhooks import receiver
from bench.workloads import WORKLOADS, Workload

DATA = Path(__file__).parent / ".data-growth"
NAMES = ("create", "charge", "get", "list", "list_filtered")
CLIENTS = 64
WANTED_RATIO = 0.9
WANTED_BYTES = 1100  # of a payment with its indexes, filled in bulk without the bodies of events
ALMOST_NOTHING = 1000  # payments: a database to which real traffic makes all the difference


class Plan(NamedTuple):
    payments: tuple[int, ...]
    rounds: int
    seconds: int  # of each run
    made: int  # payments of each kind of traffic whose bytes are counted, at least


FULL = Plan((100_000, 1_000_000, 10_000_000), 7, 4, 50_000)
QUICK = Plan((20_000, 100_000, 500_000), 3, 2, 4_000)


class Kind(NamedTuple):
    """Real traffic: a script of bench/wrk, and how many of its requests make one payment."""

    title: str
    script: str
    extra: str = ""
    requests: int = 1
    hooked: bool = False


KINDS = (
    Kind("create", "create"),
    Kind("create, idempotency key", "create_keyed"),
    Kind("charge", "charge"),
    Kind("charge, webhook delivered", "charge", hooked=True),
    Kind("payment request, paid", "pay", "{sandbox_key}", requests=2),
)


@dataclass
class Held:
    """What was found in one database."""

    payments: int
    fill_seconds: float
    relations: dict[str, int]
    memory_mib: dict[str, float] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)
    details: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def bytes_per_payment(self) -> float:
        return footprint.of_payments(self.relations) / self.payments

    def as_json(self) -> dict[str, Any]:
        return {
            "payments": self.payments,
            "fill_seconds": round(self.fill_seconds, 1),
            "bytes_per_payment": round(self.bytes_per_payment, 1),
            "bytes_by_relation": footprint.per_payment(self.relations, self.payments),
            "memory_mib": self.memory_mib,
            "workloads": {
                name: {**found.as_json(), **self.details[name]}
                for name, found in self.figures.items()
            },
        }


class Traffic(NamedTuple):
    """What one payment of real traffic left behind, in bytes, and how many commits it took."""

    into: int  # how many payments the database was filled with
    kind: str
    payments: int
    commits: float
    relations: dict[str, float]
    records: dict[str, float]  # of the log, by kind, without images
    images: float  # of the log, after a checkpoint

    @property
    def bytes_per_payment(self) -> float:
        return sum(self.relations.values())

    @property
    def log_records(self) -> float:
        return sum(self.records.values())


@dataclass
class Found:
    held: list[Held]
    ratios: dict[str, list[float]]  # of each workload's rates, largest ÷ smallest, by round
    traffic: list[Traffic] = field(default_factory=list)

    def verdicts(self) -> list[Verdict]:
        smallest, largest = self.held[0], self.held[-1]
        sizes = f"{largest.payments:,} payments ÷ {smallest.payments:,}"
        found = [
            _ratio_verdict(f"{name}, {CLIENTS} clients", sizes, ratios, self.processor_ratio(name))
            for name, ratios in self.ratios.items()
        ]
        room = round(largest.bytes_per_payment)
        text = f"bytes per payment with indexes, {largest.payments:,} filled without event bodies"
        return [*found, Verdict(text, room, f"at most {WANTED_BYTES}", room <= WANTED_BYTES)]

    def processor_ratio(self, name: str) -> float:
        """What a request took of the processors with fewest payments ÷ with most.

        It says the same as the rates, and says it on a machine that has other work too.
        """
        smallest, largest = (
            sum(held.details[name]["processor_us"].values())
            for held in (self.held[0], self.held[-1])
        )
        return float(smallest / largest)

    def as_json(self) -> dict[str, Any]:
        return {
            "held": [held.as_json() for held in self.held],
            "ratios": {
                name: {
                    "median": round(median(all_of_them), 3),
                    "rounds": all_of_them,
                    "by_processor_time": round(self.processor_ratio(name), 3),
                }
                for name, all_of_them in self.ratios.items()
            },
            "traffic": [
                {
                    **traffic._asdict(),
                    "bytes_per_payment": round(traffic.bytes_per_payment, 1),
                    "log_records": round(traffic.log_records, 1),
                }
                for traffic in self.traffic
            ],
        }


def _ratio_verdict(what: str, sizes: str, ratios: Sequence[float], processor: float) -> Verdict:
    ratio = median(ratios)
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}, by processor time {processor:.2f}"
    text = f"{what}: rate with {sizes} ({spread})"
    return Verdict(text, round(ratio, 3), f"at least {WANTED_RATIO:g}", ratio >= WANTED_RATIO)


def in_turn(keys: Sequence[int], rounds: int) -> list[list[int]]:
    """The order of each round: forwards and backwards in turn, so that a drift hits all alike."""
    return [list(keys) if number % 2 == 0 else list(reversed(keys)) for number in range(rounds)]


def measure(plan: Plan, *, keep: bool, tell: Tell) -> Found:
    with ExitStack() as stack:
        stages = {
            payments: _open(stack, payments, keep=keep, tell=tell) for payments in plan.payments
        }
        held = {
            payments: Held(payments, ready.fill_seconds, footprint.relations(ready))
            for payments, ready in stages.items()
        }
        ratios = {
            workload.name: _compare(stages, held, workload, plan, tell)
            for workload in WORKLOADS
            if workload.name in NAMES
        }
        for payments, ready in stages.items():
            memory = ready.service.memory()
            held[payments].memory_mib = {**memory, "engine": ready.service.engine_memory()}
        traffic = _traffic(stack, stages, plan, tell)
    return Found(list(held.values()), ratios, traffic)


def _open(stack: ExitStack, payments: int, *, keep: bool, tell: Tell) -> Stage:
    size = Size(payments, bodies=False)
    if not keep:
        stack.callback(shutil.rmtree, DATA / str(payments), ignore_errors=True)
    ready = stack.enter_context(
        stage(
            DATA / str(payments),
            size,
            keep=keep,
            tell=lambda text: tell(f"filling {payments:,} payments: {text}"),
        )
    )
    wait_until_quiet(ready.service, tell)
    return ready


def _compare(
    stages: dict[int, Stage], held: dict[int, Held], workload: Workload, plan: Plan, tell: Tell
) -> list[float]:
    """The ratio of each round; fills in the figures of each database."""
    loads: dict[int, list[Load]] = {payments: [] for payments in stages}
    watches = {payments: Watch(ready) for payments, ready in stages.items()}
    for ready in stages.values():  # fetches what it needs from the disk
        ready.drive(workload.script, workload.extra, CLIENTS, 1)
    for number, order in enumerate(in_turn(plan.payments, plan.rounds), 1):
        for payments in order:
            what = (workload.script, workload.extra, CLIENTS, plan.seconds)
            run = partial(stages[payments].drive, *what)
            loads[payments].append(watches[payments].run(run))
        rates = ", ".join(f"{loads[payments][-1].per_second:,.0f}" for payments in stages)
        tell(f"{workload.title}, round {number} of {plan.rounds}: {rates} a second")
    for payments, found in loads.items():
        held[payments].figures[workload.name] = figure(found)
        held[payments].details[workload.name] = watches[payments].details()
    smallest, largest = loads[plan.payments[0]], loads[plan.payments[-1]]
    return [
        round(large.per_second / small.per_second, 3)
        for small, large in zip(smallest, largest, strict=True)
    ]


def _traffic(stack: ExitStack, stages: dict[int, Stage], plan: Plan, tell: Tell) -> list[Traffic]:
    """Into a new database and into the largest one."""
    # Filled with traffic it is of no use to another run, whether or not the others are kept.
    stack.callback(shutil.rmtree, DATA / "new", ignore_errors=True)
    small = stack.enter_context(
        stage(DATA / "new", Size(ALMOST_NOTHING, 20_000, bodies=False), keep=False)
    )
    wait_until_quiet(small.service, tell)
    found = []
    for ready in (small, stages[plan.payments[-1]]):
        for kind in KINDS:
            traffic = _left_behind(ready, kind, plan)
            tell(
                f"{kind.title}, {traffic.payments:,} payments into {traffic.into:,}: "
                f"{traffic.bytes_per_payment:,.0f} bytes, "
                f"{traffic.log_records:,.0f} + {traffic.images:,.0f} of log each"
            )
            found.append(traffic)
    return found


def _left_behind(ready: Stage, kind: Kind, plan: Plan) -> Traffic:
    with ExitStack() as stack:
        if kind.hooked:
            _switch_webhooks_on(stack, ready)
        extra = ready.fill_in(kind.extra)
        wait_until_quiet(ready.service, lambda text: None)
        log = stack.enter_context(footprint.log_reader(ready))
        before, commits = footprint.relations(ready), ready.commits()
        log.begin()
        payments = 0
        while payments < plan.made:
            run = drive(ready.target, kind.script, extra, clients=CLIENTS, seconds=plan.seconds)
            if run.failed:
                raise RuntimeError(f"{kind.title}: {run.failed} of {run.requests} requests failed")
            payments += run.requests // kind.requests
        if kind.hooked:
            hooked.wait_until_delivered(ready)
        commits = ready.commits() - commits
        catch_up(ready.dsn, ready.data_dir, lambda text: None)
        log.end()
        logged = log.read()
        grown = footprint.growth(before, footprint.relations(ready))
    return Traffic(
        ready.target.filled.size.payments,
        kind.title,
        payments,
        round(commits / payments, 3),
        footprint.per_payment(grown, payments),
        footprint.per_payment({name: part.records for name, part in logged.items()}, payments),
        round(footprint.total(logged).images / payments, 1),
    )


def _switch_webhooks_on(stack: ExitStack, ready: Stage) -> None:
    """For as long as the stack lasts, to a receiver that acknowledges everything."""
    update = partial(ready.service.laari, "merchant", "update", ready.merchant_id)
    url = stack.enter_context(receiver())
    update("--webhook-url", url, "--webhooks", "on")
    stack.callback(update, "--webhooks", "off")
