"""The campaign: builds the installation, does every fault to it under load, and holds the journal
against the database.

`python -m campaigns.cluster.campaign` runs it outside pytest. From the environment:

LAARI_FAULTS_CYCLES    cycles of each fault (1)
LAARI_FAULTS_ONLY      faults to do, separated by commas (all)
LAARI_FAULTS_RESULTS   where journal, logs and results go (build/faults)
LAARI_FAULTS_POSTGRES  directory of PostgreSQL's programs (those of the wheel)
"""

import asyncio
import os
import secrets
import shutil
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from campaigns.cluster import report
from campaigns.cluster.checker import Found, Problem, Row, check
from campaigns.cluster.clients import Load
from campaigns.cluster.cluster import Cluster
from campaigns.cluster.faults import FAULTS, Fault, Installation
from campaigns.cluster.measure import (
    InDoubt,
    Measures,
    measure,
    measure_webhooks,
    read_base,
    write_base,
)
from campaigns.cluster.merchants import BALANCE, Merchant, make_merchant
from campaigns.cluster.network import network_of
from campaigns.cluster.service import STYLES, ServiceNode
from campaigns.cluster.watch import Watch
from campaigns.journal import Journal
from campaigns.receiver import Receiver
from laari.workers.webhooks.windows import WindowLimits

DATABASES = ["db1", "db2", "db3"]
MERCHANTS = 4
SETTLE_SECONDS = 4.0  # of undisturbed load before and after each fault
BACK_SECONDS = 60.0  # for the service to come back after the cluster has
DELIVERY_SECONDS = (
    WindowLimits().lease_seconds + 15.0
)  # for the last webhooks: a lease, and a moment


@dataclass(frozen=True)
class Plan:
    cycles: int
    faults: list[Fault]
    results: Path


def plan_from(environment: Mapping[str, str]) -> Plan:
    only = [name.strip() for name in environment.get("LAARI_FAULTS_ONLY", "").split(",") if name]
    unknown = set(only) - {fault.name for fault in FAULTS}
    if unknown:
        raise ValueError(f"LAARI_FAULTS_ONLY: there is no fault {', '.join(sorted(unknown))}")
    faults = [fault for fault in FAULTS if not only or fault.name in only]
    results = Path(environment.get("LAARI_FAULTS_RESULTS", "build/faults"))
    return Plan(int(environment.get("LAARI_FAULTS_CYCLES", "1")), faults, results)


@dataclass
class Running:
    installation: Installation
    journal: Journal
    receiver: Receiver
    merchants: list[Merchant]
    load: Load


@asynccontextmanager
async def running(home: Path, results: Path) -> AsyncIterator[Running]:
    """Cluster, services and load, from nothing to nothing."""
    async with AsyncExitStack() as stack:
        machines = [*DATABASES, *(f"svc{number}" for number in range(1, len(STYLES) + 1))]
        network = stack.enter_context(network_of(machines))
        cluster = Cluster(network, DATABASES, home)
        stack.push_async_callback(cluster.close)
        print("Starting etcd, Patroni and PostgreSQL on three machines.", flush=True)
        await cluster.start()
        key = secrets.token_hex(32)
        services = []
        for number, style in enumerate(STYLES, 1):
            machine = network.machines[f"svc{number}"]
            services.append(ServiceNode(machine, cluster, style, home, key))
            stack.callback(services[-1].close)
            services[-1].start()
            await services[-1].until_ready()
        receiver = Receiver(network.address)
        await receiver.start()
        stack.push_async_callback(receiver.close)
        merchants = [
            await make_merchant(services[0], receiver.url, f"Shop {number}")
            for number in range(MERCHANTS)
        ]
        watch = Watch(cluster)
        watching = asyncio.create_task(watch.run())
        stack.callback(watching.cancel)
        journal = Journal(results / "journal.jsonl")
        stack.callback(journal.close)
        load = Load(journal, services, merchants)
        stack.push_async_callback(load.abort)
        print("Clients are at work.", flush=True)
        yield Running(
            Installation(network, cluster, services, watch), journal, receiver, merchants, load
        )


async def one_cycle(run: Running, fault: Fault, number: int, in_doubt: InDoubt) -> Measures:
    installation = run.installation
    await installation.cluster.until_healthy()
    await asyncio.sleep(SETTLE_SECONDS)
    run.load.check()
    in_doubt.new()
    done = await fault.run(installation, number)
    await installation.cluster.until_healthy()
    whole = time.monotonic()
    deadline = whole + BACK_SECONDS
    while not installation.watch.committed_after(whole) and time.monotonic() < deadline:
        await asyncio.sleep(0.2)
    while not _is_back(run, fault, done) and time.monotonic() < deadline:
        await asyncio.sleep(0.5)
    await asyncio.sleep(SETTLE_SECONDS)
    ended = time.monotonic()
    return measure(
        fault, number, done, ended, installation, run.journal, run.receiver, in_doubt.new()
    )


def _is_back(run: Running, fault: Fault, done: Any) -> bool:
    """Whether every node has answered a write and a read since it must."""
    recent = list(run.journal.attempts(done.began, time.monotonic()))
    for node in run.installation.services:
        writes_since = write_base(fault, done, run.installation, node.name)
        reads_since = read_base(fault, done, run.installation, node.name)
        good = [
            (op.kind, each)
            for op, each in recent
            if each.node == node.name and each.outcome == "ok"
        ]
        if not any(kind != "read" and each.ended > writes_since for kind, each in good):
            return False
        if not any(kind == "read" and each.ended > reads_since for kind, each in good):
            return False
    return True


async def read_everything(run: Running) -> Found:
    """What the database and the receiver have at the end, read beside the service."""
    leader = await run.installation.cluster.leader()
    connection = await asyncpg.connect(leader.dsn("laari"), timeout=10)
    try:
        payments = await connection.fetch(
            "SELECT p.*, t.merchant_id FROM payments p JOIN tenants t ON t.id = p.tenant_id"
        )
        transfers = await connection.fetch(
            "SELECT payment_id, amount FROM transfers WHERE kind = 'payment'"
        )
        events = await connection.fetch("SELECT type, object_id FROM events")
        balances = await connection.fetch(
            "SELECT m.id, balance FROM merchants m JOIN wallets ON account = m.sandbox_account"
        )
    finally:
        await connection.close()
    taken: defaultdict[str, list[int]] = defaultdict(list)
    for transfer in transfers:
        taken[f"pay_{transfer['payment_id'].hex}"].append(transfer["amount"])
    return Found(
        [
            Row(
                f"pay_{row['id'].hex}",
                row["merchant_id"],
                row["reference"],
                row["amount"],
                row["status"],
                row["kind"],
            )
            for row in payments
        ],
        dict(taken),
        Counter(
            (row["type"], f"pay_{row['object_id'].hex}")
            for row in events
            if row["type"].startswith("payment.")
        ),
        set(run.receiver.first),
        {row["id"]: (BALANCE, row["balance"]) for row in balances},
    )


async def judge(run: Running) -> tuple[list[Problem], dict[str, Any]]:
    """Stops the load, waits for the last webhooks, and compares."""
    print("Settling what is in doubt.", flush=True)
    await run.load.stop()
    await run.installation.cluster.until_healthy()
    deadline = time.monotonic() + DELIVERY_SECONDS
    while True:
        problems = check(run.journal.operations, await read_everything(run))
        if time.monotonic() > deadline or all(each.what != "undelivered" for each in problems):
            break
        await asyncio.sleep(1)
    return problems, dict(await run.installation.services[0].laari("audit"))


async def campaign(plan: Plan) -> list[str]:
    """Runs it all; returns what was not as promised."""
    plan.results.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="laari-faults-"))
    cycles: list[Measures] = []
    try:
        async with running(home, plan.results) as run:
            in_doubt = InDoubt(run.installation.services)
            for number in range(plan.cycles):
                for fault in plan.faults:
                    cycles.append(await one_cycle(run, fault, number, in_doubt))
                    print(report.progress(cycles[-1]), flush=True)
            problems, audit = await judge(run)
            for each in cycles:
                measure_webhooks(each, run.journal.operations, run.receiver)
            totals = report.totals(run.journal.operations, problems)
    finally:
        _keep_logs(home, plan.results)
    complaints = [
        f"{each.fault} {each.cycle + 1}: {what}" for each in cycles for what in each.broken
    ]
    complaints += [f"{problem.what}: {problem.detail}" for problem in problems]
    if not audit["ok"]:
        complaints.append(f"audit: {audit}")
    print(report.table(cycles), totals, f"audit {audit}", sep="\n", flush=True)
    report.write(plan.results, cycles, {"totals": totals, "audit": audit, "complaints": complaints})
    return complaints


def _keep_logs(home: Path, results: Path) -> None:
    for log in home.glob("*/log"):
        shutil.copy(log, results / f"{log.parent.name}.log")
    shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    for complaint in asyncio.run(campaign(plan_from(os.environ)))[:50]:
        print(complaint)
