"""The three database nodes together, as Patroni's own interface shows them."""

import asyncio
import time
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg

from campaigns.cluster.network import Machine, Network
from campaigns.cluster.nodes import POSTGRES_PORT, DatabaseNode

ASK_SECONDS = 0.5
HEALTHY_SECONDS = 120.0


class Cluster:
    def __init__(self, network: Network, names: list[str], home: Path) -> None:
        machines: list[Machine] = [network.machines[name] for name in names]
        self.nodes = [DatabaseNode(machine, machines, home) for machine in machines]
        self._http = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=ASK_SECONDS),
            connector=aiohttp.TCPConnector(force_close=True),
        )

    @property
    def multi_host_url(self) -> str:
        hosts = ",".join(f"{node.machine.address}:{POSTGRES_PORT}" for node in self.nodes)
        return f"postgresql://laari@{hosts}/laari?target_session_attrs=read-write"

    async def start(self) -> None:
        for node in self.nodes:
            node.start()
        await self.until_healthy()
        leader = await self.leader()
        for statement in (
            "CREATE ROLE laari LOGIN",
            "CREATE DATABASE laari OWNER laari",
            "CREATE DATABASE probe",
        ):
            await _execute(leader.dsn("postgres"), statement)
        await _execute(leader.dsn("probe"), "CREATE TABLE probe (at timestamptz)")

    async def close(self) -> None:
        await self._http.close()

    async def is_primary(self, node: DatabaseNode) -> bool:
        """Whether the node says of itself that it leads: what a proxy's health check sees."""
        try:
            async with self._http.get(f"{node.rest}/primary") as response:
                return response.status == 200
        except (aiohttp.ClientError, TimeoutError, OSError):
            return False

    async def find_leader(self) -> DatabaseNode | None:
        answers = await asyncio.gather(*map(self.is_primary, self.nodes))
        leading = [node for node, leads in zip(self.nodes, answers, strict=True) if leads]
        return leading[0] if len(leading) == 1 else None

    async def leader(self) -> DatabaseNode:
        leader = await self.find_leader()
        if leader is None:
            raise RuntimeError("the cluster has no leader")
        return leader

    async def standbys(self) -> list[DatabaseNode]:
        leader = await self.leader()
        return [node for node in self.nodes if node is not leader]

    async def members(self) -> list[dict[str, Any]]:
        for node in self.nodes:
            try:
                async with self._http.get(f"{node.rest}/cluster") as response:
                    return list((await response.json())["members"])
            except (aiohttp.ClientError, TimeoutError, OSError):
                continue
        return []

    async def is_healthy(self) -> bool:
        """One leader, and two standbys that follow it, at least one of them synchronously."""
        members = await self.members()
        roles = sorted(member["role"] for member in members)
        states = [member["state"] for member in members]
        return (
            len(members) == len(self.nodes)
            and roles.count("leader") == 1
            and "sync_standby" in roles
            and all(state in ("running", "streaming") for state in states)
            and states.count("streaming") == len(self.nodes) - 1
            and await self.find_leader() is not None
        )

    async def until_healthy(self, seconds: float = HEALTHY_SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while not await self.is_healthy():
            if time.monotonic() > deadline:
                raise RuntimeError(f"the cluster is not whole: {await self.members()}")
            await asyncio.sleep(0.5)

    async def switch_over(self) -> None:
        """The leader hands over to its synchronous standby."""
        leader = await self.leader()
        async with self._http.post(
            f"{leader.rest}/switchover",
            json={"leader": leader.name},
            timeout=aiohttp.ClientTimeout(total=60),
        ) as response:
            if response.status != 200:
                raise RuntimeError(f"switchover: {response.status} {await response.text()}")


async def _execute(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn, timeout=5)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
