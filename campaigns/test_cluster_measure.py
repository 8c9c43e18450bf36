"""What the cluster campaign measures, and the promises it finds broken."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from campaigns.cluster.campaign import plan_from
from campaigns.cluster.faults import FAULTS
from campaigns.cluster.measure import (
    Measures,
    NodeMeasures,
    broken_promises,
    measure_node,
    measure_webhooks,
    requests_in_doubt,
)
from campaigns.cluster.report import read, table, write
from campaigns.journal import Attempt, Operation
from campaigns.receiver import Receiver

NODE: Any = SimpleNamespace(name="svc1", style="haproxy")
WELL = NodeMeasures("haproxy", 0.5, 0.2, 0.4, 0.0)
GOOD = Measures(
    fault="leader lost",
    cycle=0,
    began=100.0,
    ended=160.0,
    elected=20.0,
    committed=20.5,
    nodes={"svc1": WELL},
    webhooks_back=1.0,
    longest=9.9,
    statuses={"201": 50, "503": 20, "500": 3},
    in_doubt=3,
    back_at=120.0,
)


def tried(
    kind: str, began: float, ended: float, status: int | None, node: str = "svc1"
) -> tuple[Operation, Attempt]:
    attempt = Attempt(node, began, ended, status, payment_id="pay_1")
    return Operation(kind, "mer_1", "c1", attempts=[attempt]), attempt


def test_a_node_is_back_with_its_first_answer_and_fails_until_its_last_refusal() -> None:
    attempts = [
        tried("create", 9.0, 9.5, 201),
        tried("create", 10.5, 10.6, 503),
        tried("create", 9.5, 12.0, 201),
        tried("charge", 12.5, 12.6, None),
        tried("create", 13.0, 13.1, 409),
        tried("read", 10.1, 10.25, 200),
        tried("create", 10.0, 10.1, 201, node="svc2"),
    ]
    measured = measure_node(attempts, NODE, (10.0, 10.0))
    assert measured == NodeMeasures("haproxy", 2.0, 2.5, 0.25, 0.0)


def test_a_node_that_never_answers_is_not_back() -> None:
    measured = measure_node([tried("create", 11.0, 11.1, 500)], NODE, (10.0, 10.0))
    assert (measured.writes_back, measured.reads_back) == (None, None)


def test_only_requests_with_a_commit_in_doubt_are_counted_as_such() -> None:
    batch = {
        "logger": "laari.spine.batches",
        "message": "batch of 3: …",
        "error": ["OutcomeUnknown"],
    }
    request = {
        "logger": "laari.edge.load.admission",
        "message": "…",
        "error": ["OutcomeUnknown", "at"],
    }
    defect = {
        "logger": "laari.edge.load.admission",
        "message": "OutcomeUnknown",
        "error": ["KeyError"],
    }
    text = "\n".join(["Laari is ready", *map(json.dumps, (batch, request, request, defect))])
    assert requests_in_doubt(text) == 2


def test_kept_promises_are_not_broken() -> None:
    assert broken_promises(GOOD) == []


@pytest.mark.parametrize(
    "change",
    [
        {"nodes": {"svc1": replace(WELL, writes_back=3.1)}},
        {"nodes": {"svc1": replace(WELL, writes_failed=3.1)}},
        {"nodes": {"svc1": replace(WELL, writes_back=None)}},
        {"nodes": {"svc1": replace(WELL, reads_back=3.1)}},
        {"nodes": {"svc1": WELL, "svc2": replace(WELL, reads_back=None)}},
        {"webhooks_back": 5.1},
        {"webhooks_back": None},
        {"longest": 10.1},
        {"in_doubt": 2},
    ],
)
def test_each_promise_can_be_broken(change: dict[str, Any]) -> None:
    assert len(broken_promises(replace(GOOD, **change))) == 1


@pytest.mark.parametrize(("received", "slowest", "broken"), [(122.0, 2.0, 0), (195.0, 75.0, 1)])
def test_a_webhook_is_late_from_when_it_could_be_sent_again(
    received: float, slowest: float, broken: int
) -> None:
    receiver = Receiver("127.0.0.1")
    receiver.first["payment.created", "pay_1"] = received
    measures = replace(GOOD, broken=[])
    measure_webhooks(measures, [tried("create", 98.5, 99.0, 201)[0]], receiver)
    assert (measures.slowest_webhook, len(measures.broken)) == (slowest, broken)


def test_the_table_has_a_row_for_each_fault_with_its_worst() -> None:
    other = replace(GOOD, cycle=1, nodes={"svc1": replace(WELL, writes_back=2.5)})
    rows = table([GOOD, other, replace(GOOD, fault="switchover")]).splitlines()
    assert len(rows) == 4
    assert "| leader lost | 2 | 20.0 s, at most 20.0 s | 1.5 s, at most 2.5 s |" in rows[2]


def test_results_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    write(tmp_path, [GOOD], {"totals": {}})
    assert read(tmp_path) == [GOOD]


def test_faults_are_chosen_by_name() -> None:
    chosen = plan_from({"LAARI_FAULTS_ONLY": "switchover, etcd away", "LAARI_FAULTS_CYCLES": "3"})
    assert [fault.name for fault in chosen.faults] == ["switchover", "etcd away"]
    assert chosen.cycles == 3
    assert plan_from({}).faults == FAULTS
    with pytest.raises(ValueError, match="there is no fault flood"):
        plan_from({"LAARI_FAULTS_ONLY": "flood"})
