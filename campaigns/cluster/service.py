"""A service node: `laari serve`, and haproxy beside it where it does not find the leader itself."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import aiohttp

from campaigns.cluster import proxy
from campaigns.cluster.cluster import Cluster
from campaigns.cluster.network import Machine

PORT = 8000
WORKERS = 2
STYLES = ("haproxy", "multi-host")
READY_SECONDS = 60.0
RESTART_SECONDS = 1.0
MAX_STARTS = 5
COMMAND_SECONDS = 120


class ServiceNode:
    def __init__(
        self, machine: Machine, cluster: Cluster, style: str, home: Path, master_key: str
    ) -> None:
        self.machine = machine
        self.name = machine.name
        self.style = style
        self.origin = f"http://{machine.address}:{PORT}"
        self._home = home / machine.name
        self._home.mkdir(parents=True)
        self.log = self._home / "log"
        self._output = self.log.open("ab")
        self._cluster = cluster
        self.in_rotation = True  # whether a load balancer sends requests here
        self._serving: subprocess.Popen[bytes] | None = None
        self._proxying: subprocess.Popen[bytes] | None = None
        self._env = {
            **os.environ,
            "LAARI_DATABASE_URL": proxy.url() if style == "haproxy" else cluster.multi_host_url,
            "LAARI_DATA_DIR": str(self._home),
            "LAARI_MASTER_KEY": master_key,
            "LAARI_PUBLIC_URL": self.origin,
            "LAARI_MERCHANT_RATE_SANDBOX": "0",
            "LAARI_WEBHOOK_ALLOW_PRIVATE": "on",
        }

    def start(self) -> None:
        if self.style == "haproxy":
            self._start_proxy()
        self._start_service()

    def _start_service(self) -> None:
        command = [sys.executable, "-m", "laari", "serve", "--host", self.machine.address]
        command += ["--port", str(PORT), "--workers", str(WORKERS)]
        self._serving = self.machine.start(command, self._output, ordinary=False, env=self._env)

    def _start_proxy(self) -> None:
        file = self._home / "haproxy.cfg"
        nodes = self._cluster.nodes
        servers = [proxy.Server(node.name, node.machine.address) for node in nodes]
        file.write_text(proxy.configuration(servers))
        self._proxying = self.machine.start(
            ["haproxy", "-db", "-f", str(file)], self._output, ordinary=False, env=self._env
        )

    def has_ended(self) -> bool:
        return self._serving is None or self._serving.poll() is not None

    async def until_ready(self) -> float:
        """The moment at which the service first said that it is ready.

        One that ends is started again, as by systemd: haproxy takes every server for a leader until
        its first check, and a service that is led to a standby ends.
        """
        starts = 1
        deadline = time.monotonic() + READY_SECONDS
        timeout = aiohttp.ClientTimeout(total=5)
        async with aiohttp.ClientSession(timeout=timeout) as http:
            while time.monotonic() < deadline:
                if self.has_ended() and starts < MAX_STARTS:
                    starts += 1
                    await asyncio.sleep(RESTART_SECONDS)
                    self._start_service()
                elif self.has_ended():
                    raise RuntimeError(f"{self.name} ended:\n{self.log.read_text()[-2000:]}")
                try:
                    async with http.get(f"{self.origin}/readyz") as response:
                        if response.status == 200:
                            return time.monotonic()
                except (aiohttp.ClientError, TimeoutError, OSError):
                    pass
                await asyncio.sleep(0.1)
        raise RuntimeError(f"{self.name} is not ready:\n{self.log.read_text()[-2000:]}")

    def kill_tree(self) -> None:
        """Supervisor, interfaces and background process end at once, haproxy with them."""
        self.machine.kill()
        for process in (self._serving, self._proxying):
            if process is not None:
                process.wait(10)

    async def stop(self) -> int:
        """Stops the service as an operator would; its exit status."""
        assert self._serving is not None
        self._serving.terminate()
        return await asyncio.to_thread(self._serving.wait, 60)

    async def laari(self, *arguments: str) -> Any:
        """What a command of the command line prints as JSON, run on this machine."""
        namespace = ["ip", "netns", "exec", self.machine.namespace]
        done = await asyncio.to_thread(
            subprocess.run,
            [*namespace, sys.executable, "-m", "laari", *arguments, "--json"],
            env=self._env,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        if not done.stdout.strip():
            raise RuntimeError(f"laari {' '.join(arguments)}: {done.stderr.strip()[-1000:]}")
        return json.loads(done.stdout)

    def close(self) -> None:
        self._output.close()
