"""What one cycle of a fault meant for the clients, measured from the journal and the watch."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from campaigns.cluster.checker import EVENT
from campaigns.cluster.faults import Done, Fault, Installation
from campaigns.cluster.service import ServiceNode
from campaigns.journal import Attempt, Journal, Operation
from campaigns.receiver import Receiver
from laari.workers.webhooks.windows import WindowLimits

# What is promised.
WRITES_SECONDS = 3.0
READS_SECONDS = 3.0
WEBHOOKS_SECONDS = 5.0
# What a process had taken up when it was killed or cut off waits for its lease to run out.
SLOWEST_WEBHOOK_SECONDS = WindowLimits().lease_seconds + 10.0
LONGEST_SECONDS = 10.0

JUST_BEFORE_SECONDS = 3.0  # what was acknowledged so shortly before a fault may not be sent yet


@dataclass
class NodeMeasures:
    style: str
    writes_back: float | None  # seconds, from when on they must work, to the first that did
    writes_failed: float  # the same, to the beginning of the last one that failed; 0: none did
    reads_back: float | None
    reads_failed: float


@dataclass
class Measures:
    fault: str
    cycle: int
    began: float
    ended: float
    elected: float | None  # seconds from the fault to the election
    committed: float | None  # and to the first commit beside the service
    nodes: dict[str, NodeMeasures]
    webhooks_back: float | None
    longest: float
    statuses: dict[str, int]  # of the attempts; `none` where no answer came
    in_doubt: int  # requests that failed, by the services' logs, because a commit is in doubt
    back_at: float = 0.0  # when the first node must work again, on the same clock as `began`
    # The longest from an acknowledgement, or from when it could be sent again, to its webhook.
    slowest_webhook: float | None = None
    broken: list[str] = field(default_factory=list)  # promises that were not kept

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def requests_in_doubt(log: str) -> int:
    """How many requests failed, by a service's log, because the outcome of a commit is unknown."""
    found = 0
    for line in log.splitlines():
        if "OutcomeUnknown" in line and line.startswith("{"):
            entry = json.loads(line)
            is_request = entry["logger"].startswith("laari.edge.")
            found += is_request and entry["error"][0].startswith("OutcomeUnknown")
    return found


class InDoubt:
    """Counts the requests that failed for a commit in doubt since it was last asked."""

    def __init__(self, services: list[ServiceNode]) -> None:
        self._services = services
        self._seen: Counter[str] = Counter()

    def new(self) -> int:
        found = 0
        for service in self._services:
            with service.log.open("rb") as log:
                log.seek(self._seen[service.name])
                text = log.read()
            text = text[: text.rfind(b"\n") + 1]
            self._seen[service.name] += len(text)
            found += requests_in_doubt(text.decode(errors="replace"))
        return found


def available(fault: Fault, done: Done, installation: Installation) -> float | None:
    """When the cluster could be written again, where it could not for a while."""
    moment = max(done.began, done.since)
    if fault.writes_since == "restart":
        return installation.watch.recovered_after(moment)
    return installation.watch.elected_after(moment)


def write_base(fault: Fault, done: Done, installation: Installation, node: str) -> float:
    """From when on the node's writes must work again."""
    if fault.writes_since in ("election", "restart"):
        return available(fault, done, installation) or done.healed
    if fault.writes_since == "standby":
        return installation.watch.committed_after(done.healed) or done.healed
    return done.cut_off.get(node, done.began)


def read_base(fault: Fault, done: Done, installation: Installation, node: str) -> float:
    """Reads wait for no standby."""
    if fault.writes_since == "standby":
        return done.began
    return write_base(fault, done, installation, node)


def _back(attempts: Iterable[Attempt], base: float) -> float | None:
    ends = [each.ended for each in attempts if each.outcome == "ok" and each.ended > base]
    return round(min(ends) - base, 2) if ends else None


def _failed(attempts: Iterable[Attempt], base: float) -> float:
    begins = [
        each.began
        for each in attempts
        if each.began > base and (each.outcome == "unknown" or each.status == 503)
    ]
    return round(max(begins) - base, 2) if begins else 0.0


def measure_node(
    attempts: list[tuple[Operation, Attempt]],
    node: ServiceNode,
    bases: tuple[float, float],
) -> NodeMeasures:
    own = [(operation, each) for operation, each in attempts if each.node == node.name]
    writes = [each for operation, each in own if operation.kind != "read"]
    reads = [each for operation, each in own if operation.kind == "read"]
    return NodeMeasures(
        node.style,
        _back(writes, bases[0]),
        _failed(writes, bases[0]),
        _back(reads, bases[1]),
        _failed(reads, bases[1]),
    )


def measure(
    fault: Fault,
    cycle: int,
    done: Done,
    ended: float,
    installation: Installation,
    journal: Journal,
    receiver: Receiver,
    in_doubt: int,
) -> Measures:
    attempts = list(journal.attempts(done.began, ended))
    nodes = {}
    for node in installation.services:
        bases = (
            write_base(fault, done, installation, node.name),
            read_base(fault, done, installation, node.name),
        )
        nodes[node.name] = measure_node(attempts, node, bases)
    elected = available(fault, done, installation)
    committed = installation.watch.committed_after(elected or done.healed)
    hooks_base = min(
        write_base(fault, done, installation, node.name) for node in installation.services
    )
    hook = receiver.after(hooks_base)
    statuses = Counter(str(each.status or "none") for _, each in attempts)
    measures = Measures(
        fault=fault.name,
        cycle=cycle,
        began=done.began,
        ended=ended,
        elected=None if elected is None else round(elected - done.began, 2),
        committed=None if committed is None else round(committed - done.began, 2),
        nodes=nodes,
        webhooks_back=None if hook is None else round(hook - hooks_base, 2),
        longest=round(max((each.seconds for _, each in attempts), default=0.0), 2),
        statuses=dict(statuses),
        in_doubt=in_doubt,
        back_at=hooks_base,
    )
    measures.broken = broken_promises(measures)
    return measures


def broken_promises(measures: Measures) -> list[str]:
    broken = []
    for name, node in measures.nodes.items():
        where = f"{name} ({node.style})"
        for what, back, failed, most in (
            ("writes", node.writes_back, node.writes_failed, WRITES_SECONDS),
            ("reads", node.reads_back, node.reads_failed, READS_SECONDS),
        ):
            if back is None:
                broken.append(f"{where}: {what} did not come back")
            elif max(back, failed) > most:
                broken.append(f"{where}: {what} back after {back} s, last failure {failed} s")
    if measures.webhooks_back is None or measures.webhooks_back > WEBHOOKS_SECONDS:
        broken.append(f"webhooks back after {measures.webhooks_back} s")
    if measures.longest > LONGEST_SECONDS:
        broken.append(f"a request took {measures.longest} s")
    errors = measures.statuses.get("500", 0)
    if errors > measures.in_doubt:
        broken.append(f"500 was answered {errors} times, with {measures.in_doubt} commits in doubt")
    return broken


def measure_webhooks(
    measures: Measures, operations: Iterable[Operation], receiver: Receiver
) -> None:
    """How late the slowest webhook of the cycle was; to be asked when all have arrived."""
    late = []
    for operation in operations:
        told = operation.acknowledged
        if operation.kind == "read" or told is None:
            continue
        if measures.began - JUST_BEFORE_SECONDS <= told.ended <= measures.ended:
            payment = operation.payment_id or told.payment_id or ""
            received = receiver.first.get((EVENT[operation.kind], payment))
            if received is not None:  # otherwise the checker says so
                late.append(received - max(told.ended, measures.back_at))
    measures.slowest_webhook = round(max(late, default=0.0), 2)
    if measures.slowest_webhook > SLOWEST_WEBHOOK_SECONDS:
        measures.broken.append(f"a webhook came after {measures.slowest_webhook} s")
