"""Looks at the cluster from outside, beside the service: who leads, and whether commits go through.

What the service is measured against has to be seen without it.
"""

import asyncio
import time
from typing import NamedTuple

import asyncpg

from campaigns.cluster.cluster import Cluster

LOOK_SECONDS = 0.2
COMMIT_SECONDS = 1.0


class Seen(NamedTuple):
    at: float
    leader: str | None  # None where there is none, or two that both say so


class Tried(NamedTuple):
    at: float
    committed: bool


class Watch:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.leaders: list[Seen] = []
        self.commits: list[Tried] = []  # commits of our own, on the node that leads

    async def run(self) -> None:
        await asyncio.gather(self._look(), self._commit())

    async def _look(self) -> None:
        while True:
            leader = await self._cluster.find_leader()
            name = leader.name if leader else None
            if not self.leaders or self.leaders[-1].leader != name:
                self.leaders.append(Seen(time.monotonic(), name))
            await asyncio.sleep(LOOK_SECONDS)

    async def _commit(self) -> None:
        while True:
            leader = self.leaders[-1].leader if self.leaders else None
            for node in self._cluster.nodes:
                if node.name == leader:
                    committed = await _one_commit(node.dsn("probe"))
                    self.commits.append(Tried(time.monotonic(), committed))
            await asyncio.sleep(LOOK_SECONDS)

    def elected_after(self, moment: float) -> float | None:
        """When the cluster next had a leader again after having had none."""
        return election(self.leaders, moment)

    def recovered_after(self, moment: float) -> float | None:
        """When commits went through again after one that failed.

        While PostgreSQL is started again in its place, Patroni goes on calling it the leader.
        """
        return recovery(self.commits, moment)

    def committed_after(self, moment: float) -> float | None:
        return next((each.at for each in self.commits if each.at > moment and each.committed), None)


def election(seen: list[Seen], moment: float) -> float | None:
    """The first time after the moment at which somebody leads who did not lead just before."""
    before: str | None = None
    for each in seen:
        if each.at <= moment:
            before = each.leader
        elif each.leader is not None and each.leader != before:
            return each.at
        else:
            before = each.leader
    return None


def recovery(tried: list[Tried], moment: float) -> float | None:
    """The first commit after the first one that failed after the moment."""
    failed = False
    for each in tried:
        if each.at > moment:
            if each.committed and failed:
                return each.at
            failed = failed or not each.committed
    return None


async def _one_commit(dsn: str) -> bool:
    connection: asyncpg.Connection | None = None
    try:
        async with asyncio.timeout(COMMIT_SECONDS):
            connection = await asyncpg.connect(dsn)
            await connection.execute("INSERT INTO probe VALUES (now())")
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return False
    else:
        return True
    finally:
        if connection is not None:
            connection.terminate()
