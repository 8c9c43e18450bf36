"""The faults: each is done to the running installation, and undone where it does not pass."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

import psutil

from campaigns.cluster.cluster import Cluster
from campaigns.cluster.network import Network
from campaigns.cluster.nodes import DatabaseNode
from campaigns.cluster.service import ServiceNode
from campaigns.cluster.watch import Watch

FREEZE_SECONDS = 40.0
DARK_SECONDS = 5.0  # between an election and the return of the node that was lost
ETCD_SECONDS = 10.0
STANDBY_SECONDS = 20.0
RESTART_SECONDS = 2.0  # until a service that was killed is started again
SILENCE_SECONDS = 20.0
ELECTION_SECONDS = 90.0


@dataclass(frozen=True)
class Installation:
    """Everything that a fault can be done to."""

    network: Network
    cluster: Cluster
    services: list[ServiceNode]
    watch: Watch


@dataclass
class Done:
    """What was done when."""

    began: float
    healed: float = 0.0
    since: float = 0.0  # no election can be earlier
    # The service nodes that cannot work before the fault is healed; the others have no excuse.
    cut_off: dict[str, float] = field(default_factory=dict)  # and since when they can again


# From when on writes must work again: an election, PostgreSQL's or a standby's return, or at once
# for all nodes that are not cut off.
Since = Literal["election", "restart", "standby", "fault"]


@dataclass(frozen=True)
class Fault:
    name: str
    run: Callable[[Installation, int], Awaitable[Done]]
    writes_since: Since


async def _until(seen: Callable[[float], float | None], moment: float) -> float:
    deadline = time.monotonic() + ELECTION_SECONDS
    while time.monotonic() < deadline:
        found = seen(moment)
        if found is not None:
            return found
        await asyncio.sleep(0.1)
    raise RuntimeError(f"the database is not back within {ELECTION_SECONDS} s")


async def _elected(installation: Installation, moment: float) -> float:
    return await _until(installation.watch.elected_after, moment)


async def frozen(installation: Installation, cycle: int) -> Done:
    """The leader's machine stands still with its network: nothing answers, nothing is reset."""
    leader = await installation.cluster.leader()
    done = Done(time.monotonic())
    leader.machine.pull_cable()
    try:
        leader.machine.freeze()
        await asyncio.sleep(FREEZE_SECONDS)
    finally:
        leader.machine.plug_cable()
        leader.machine.thaw()
    done.healed = time.monotonic()
    return done


async def lost(installation: Installation, cycle: int) -> Done:
    """Every process of the leader's machine ends; the machine comes back after the election."""
    leader = await installation.cluster.leader()
    done = Done(time.monotonic())
    leader.machine.kill()
    await _elected(installation, done.began)
    await asyncio.sleep(DARK_SECONDS)
    leader.start()
    done.healed = time.monotonic()
    return done


async def postmaster_killed(installation: Installation, cycle: int) -> Done:
    """PostgreSQL's first process ends; Patroni starts it again, or another node takes over."""
    leader = await installation.cluster.leader()
    done = Done(time.monotonic())
    leader.postmaster().kill()
    done.healed = await _until(installation.watch.recovered_after, done.began)
    return done


async def switchover(installation: Installation, cycle: int) -> Done:
    done = Done(time.monotonic())
    await installation.cluster.switch_over()
    done.healed = await _elected(installation, done.began)
    return done


async def etcd_away(installation: Installation, cycle: int) -> Done:
    """No node reaches etcd: a leader that cannot renew its lease steps back."""
    done = Done(time.monotonic())
    _signal_all(installation.cluster.nodes, signal.SIGSTOP)
    try:
        await asyncio.sleep(ETCD_SECONDS)
    finally:
        _signal_all(installation.cluster.nodes, signal.SIGCONT)
    done.healed = done.since = time.monotonic()
    return done


def _signal_all(nodes: list[DatabaseNode], number: signal.Signals) -> None:
    for node in nodes:
        for process in node.etcd():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)


async def standbys_away(installation: Installation, cycle: int) -> Done:
    """Both standbys are gone: the leader waits for one of them with every commit."""
    standbys = await installation.cluster.standbys()
    done = Done(time.monotonic())
    for node in standbys:
        node.kill_database()
    await asyncio.sleep(STANDBY_SECONDS)
    done.healed = time.monotonic()
    for node in standbys:
        node.start_patroni()
    return done


async def standbys_then_leader(installation: Installation, cycle: int) -> Done:
    """The leader has commits that no standby has, and is lost with them; then all come back.

    No standby takes over meanwhile: Patroni knows that the leader may have more than they have.
    """
    leader = await installation.cluster.leader()
    standbys = await installation.cluster.standbys()
    done = Done(time.monotonic())
    for node in standbys:
        node.kill_database()
    await asyncio.sleep(STANDBY_SECONDS)
    leader.machine.kill()
    for node in standbys:
        node.start_patroni()
    await asyncio.sleep(DARK_SECONDS)
    done.since = done.healed = time.monotonic()
    leader.start()
    await _until(installation.watch.committed_after, done.since)
    return done


async def service_killed(installation: Installation, cycle: int) -> Done:
    """A whole service tree ends at once, and is started again as systemd would."""
    service = installation.services[cycle % len(installation.services)]
    done = Done(time.monotonic())
    service.kill_tree()
    await asyncio.sleep(RESTART_SECONDS)
    service.in_rotation = False  # a load balancer has noticed
    service.start()
    done.healed = await service.until_ready()
    service.in_rotation = True
    done.cut_off[service.name] = done.healed
    return done


async def network_silent(installation: Installation, cycle: int) -> Done:
    """Packets between one service node and the leader are lost; everybody else hears both."""
    service = installation.services[cycle % len(installation.services)]
    leader = await installation.cluster.leader()
    done = Done(time.monotonic())
    installation.network.silence(service.machine, leader.machine)
    try:
        await asyncio.sleep(SILENCE_SECONDS)
    finally:
        installation.network.restore(service.machine, leader.machine)
    done.healed = time.monotonic()
    done.cut_off[service.name] = done.healed
    return done


FAULTS = [
    Fault("leader frozen", frozen, "election"),
    Fault("leader lost", lost, "election"),
    Fault("postmaster killed", postmaster_killed, "restart"),
    Fault("switchover", switchover, "election"),
    Fault("etcd away", etcd_away, "election"),
    Fault("standbys away", standbys_away, "standby"),
    Fault("standbys then leader lost", standbys_then_leader, "restart"),
    Fault("service killed", service_killed, "fault"),
    Fault("network silent", network_silent, "fault"),
]
