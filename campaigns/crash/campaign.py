"""The crash campaign: faults under load, one after the other, then the journal is held against the
database.

`python -m campaigns.crash.campaign` runs it outside pytest. From the environment:

LAARI_CRASH_INTERFACE    SIGKILLs of interface processes (200)
LAARI_CRASH_POSTMASTER   SIGKILLs of the postmaster (50)
LAARI_CRASH_OTHERS       of each other fault (10)
LAARI_CRASH_RESULTS      where the journal and the results go (build/crash)
"""

import asyncio
import json
import os
import random
import shutil
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from campaigns.crash.calls import Caller
from campaigns.crash.checker import Problem, check, period_start
from campaigns.crash.clients import CLIENTS, Load, replay_every_key, use_up_limits
from campaigns.crash.faults import (
    BACKEND,
    BACKGROUND,
    INTERFACE,
    POSTMASTER,
    STOP,
    TERMINATE,
    Done,
    Fault,
)
from campaigns.crash.found import Found, number, read_everything
from campaigns.crash.place import Place, installed
from campaigns.journal import Journal, Operation

OTHERS = (BACKGROUND, BACKEND, TERMINATE, STOP)
WARM_UP_SECONDS = 1.0
CALM_SECONDS = (0.2, 1.0)  # of undisturbed load after each fault
WATCHED_SECONDS = 60.0  # for payments to be made again
DELIVERED_SECONDS = 75.0  # what a killed process had taken up is sent when its lease has run out


@dataclass(frozen=True)
class Plan:
    faults: list[Fault]  # in this order
    results: Path
    clients: int = CLIENTS
    waits_for_webhooks: bool = True
    says: bool = True
    home: Path | None = None  # where the service keeps its data; None: a temporary directory


def plan_from(environment: Mapping[str, str]) -> Plan:
    def size(name: str, default: int) -> int:
        return int(environment.get(f"LAARI_CRASH_{name}", default))

    others = [fault for fault in OTHERS for _ in range(size("OTHERS", 10))]
    random.shuffle(others)
    faults = [INTERFACE] * size("INTERFACE", 200) + [POSTMASTER] * size("POSTMASTER", 50) + others
    return Plan(faults, Path(environment.get("LAARI_CRASH_RESULTS", "build/crash")))


@dataclass
class Outcome:
    measured: list[tuple[Fault, float | None, float | None]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    audit: dict[str, Any] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)

    def complaints(self) -> list[str]:
        told = [f"{each.what}: {each.detail}" for each in self.problems]
        for turn, (fault, back, replaced) in enumerate(self.measured, 1):
            if back is None or back > fault.back_seconds:
                told.append(f"{turn}. {fault.name}: payments back after {back} s")
            if replaced is not None and replaced > fault.replaced_seconds:
                told.append(f"{turn}. {fault.name}: its successor after {replaced} s")
        return told if self.audit.get("ok") else [*told, f"audit: {self.audit}"]


async def campaign(plan: Plan) -> Outcome:
    plan.results.mkdir(parents=True, exist_ok=True)
    outcome, journal = Outcome(), Journal(plan.results / "journal.jsonl")
    try:
        with tempfile.TemporaryDirectory(prefix="laari-crash-", dir=plan.home or "/tmp") as home:
            try:
                async with installed(Path(home, "data")) as place:
                    caller = Caller(place.service.origin, journal)
                    try:
                        await _run(plan, place, caller, outcome)
                    finally:
                        await caller.close()
            finally:
                _keep_logs(Path(home), plan.results)
    finally:
        journal.close()
    outcome.operations = journal.operations
    (plan.results / "results.json").write_text(json.dumps(_figures(outcome), indent=1) + "\n")
    return outcome


def _keep_logs(home: Path, results: Path) -> None:
    for log in (home / "data.log", home / "data" / "postgres.log"):
        if log.exists():
            shutil.copy(log, results / log.name)


async def _run(plan: Plan, place: Place, caller: Caller, outcome: Outcome) -> None:
    load = Load(caller, place.shops, plan.clients)
    try:
        await asyncio.sleep(WARM_UP_SECONDS)
        for turn, fault in enumerate(plan.faults, 1):
            done = await fault.run(place)
            back = await _back(load, done)
            outcome.measured.append((fault, back, done.replaced_seconds))
            if plan.says:
                print(_line(turn, len(plan.faults), fault, back, done), flush=True)
            await asyncio.sleep(random.uniform(*CALM_SECONDS))
            load.check()
        await load.stop()
    finally:
        await load.abort()
    outcome.problems = await judge(plan, place, caller)
    audit = await asyncio.to_thread(place.service.laari, "audit", "--json")
    outcome.audit = json.loads(audit.stdout or "{}")


async def _back(load: Load, done: Done) -> float | None:
    deadline = done.at + WATCHED_SECONDS
    since = max(done.at, done.at + (done.replaced_seconds or 0.0))
    while time.monotonic() < deadline:
        await asyncio.sleep(0.05)
        load.check()
        back = load.probe.back(done.at)
        # One that was begun after everything was there again is among those that were made.
        if back is not None and load.probe.back(since) is not None:
            return back
    return None


async def judge(plan: Plan, place: Place, caller: Caller) -> list[Problem]:
    operations = caller.journal.operations
    found = await read_everything(place.service.dsn, place.receiver.ids)
    problems = await replay_every_key(caller, place.shops, operations)
    problems += await use_up_limits(caller, place.shops, remaining(place, found))
    deadline = time.monotonic() + (DELIVERED_SECONDS if plan.waits_for_webhooks else 0.0)
    while True:
        delivered = plan.waits_for_webhooks
        found = await read_everything(place.service.dsn, place.receiver.ids)
        last = check(operations, found, delivered=delivered)
        if time.monotonic() > deadline or all(each.what != "undelivered" for each in last):
            return [*problems, *last]
        await asyncio.sleep(1)


def remaining(place: Place, found: Found, now: datetime | None = None) -> dict[str, int]:
    """What can still be charged with each limited authorization in the period that runs now."""
    now = now or datetime.now(UTC)
    accounts = {
        row.authorization: spend.account
        for spend in found.spends
        for row in found.payments
        if row.id == spend.payment and row.authorization
    }
    wallets = {wallet.account: wallet for wallet in found.wallets}
    left = {}
    for shop in place.shops:
        (own,) = (each for each in found.authorizations if each.id == number(shop.limited_id))
        counters = [own.counted] if own.counted else []
        if own.id in accounts:
            counters += wallets[accounts[own.id]].counted
        left[shop.limited_id] = min(
            each.allowed - (each.spent if each.start == period_start(now, each.unit) else 0)
            for each in counters
            if each.allowed is not None
        )
    return left


def _line(turn: int, turns: int, fault: Fault, back: float | None, done: Done) -> str:
    shown = "never" if back is None else f"{back:.2f} s"
    replaced = done.replaced_seconds
    successor = "" if replaced is None else f", its successor after {replaced:.2f} s"
    return f"[{turn}/{turns}] {fault.name}: payments back after {shown}{successor}"


def summary(outcome: Outcome) -> str:
    lines = ["| Fault | Times | Payments back | Successor |", "| --- | --- | --- | --- |"]
    for fault in dict.fromkeys(each[0] for each in outcome.measured):
        own = [each for each in outcome.measured if each[0] is fault]
        spread = [_spread([each[place] for each in own]) for place in (1, 2)]
        lines.append(f"| {fault.name} | {len(own)} | {spread[0]} | {spread[1]} |")
    return "\n".join([*lines, json.dumps(_totals(outcome))])


def _spread(values: Sequence[float | None]) -> str:
    known = [each for each in values if each is not None]
    if not known:
        return "-"
    return f"{statistics.median(known):.2f} s, at most {max(known):.2f} s"


def _totals(outcome: Outcome) -> dict[str, Any]:
    operations = outcome.operations
    return {
        "operations": len(operations),
        "attempts": sum(len(each.attempts) for each in operations),
        "acknowledged": sum(1 for each in operations if each.acknowledged),
        "refused": sum(1 for each in operations if each.was_refused),
        "in doubt": sum(1 for each in operations if each.was_in_doubt),
        "problems": dict(Counter(each.what for each in outcome.problems)),
        "audit": outcome.audit.get("ok"),
    }


def _figures(outcome: Outcome) -> dict[str, Any]:
    return {
        "totals": _totals(outcome),
        "complaints": outcome.complaints(),
        "measured": [(fault.name, back, replaced) for fault, back, replaced in outcome.measured],
    }


if __name__ == "__main__":
    ended = asyncio.run(campaign(plan_from(os.environ)))
    print(summary(ended), *ended.complaints()[:50], sep="\n")
