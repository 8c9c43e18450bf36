"""Machines on one machine: network namespaces on a bridge, whose cables can be pulled.

Every namespace knows the hardware addresses of all others by heart. A packet to a machine whose
cable is pulled is thus sent and lost, as behind a router; with ARP the kernel would tell the sender
after three seconds that there is no such host.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import psutil

_NOWHERE = "02:00:00:00:00:ff"  # a hardware address that no machine has
STOP_SECONDS = 5.0


def ip(*arguments: str) -> str:
    """Runs `ip`; what it complains about is the exception's text."""
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


class Machine:
    """A namespace with an address of its own, and the processes that run in it."""

    def __init__(self, network: Network, name: str, number: int) -> None:
        self.name = name
        self.address = f"{network.prefix}.{number}"
        self.hardware = f"02:00:00:00:00:{number:02x}"
        self.namespace = f"{network.name}-{name}"
        self._bridge = network.name
        self._cable = f"{network.name}.{number}"
        self._inode: int | None = None

    def build(self) -> None:
        ip("netns", "add", self.namespace)
        self._inode = os.stat(f"/run/netns/{self.namespace}").st_ino
        inner = ["name", "eth0", "address", self.hardware, "netns", self.namespace]
        ip("link", "add", self._cable, "type", "veth", "peer", *inner)
        ip("link", "set", self._cable, "master", self._bridge, "up")
        self._ip("addr", "add", f"{self.address}/24", "dev", "eth0")
        self._ip("link", "set", "eth0", "up")
        self._ip("link", "set", "lo", "up")

    def _ip(self, *arguments: str) -> None:
        ip("-n", self.namespace, *arguments)

    def know(self, address: str, hardware: str) -> None:
        known = ["to", address, "dev", "eth0", "lladdr", hardware, "nud", "permanent"]
        self._ip("neigh", "replace", *known)

    def pull_cable(self) -> None:
        """Nothing comes in or goes out any more; nobody is told."""
        ip("link", "set", self._cable, "nomaster")

    def plug_cable(self) -> None:
        ip("link", "set", self._cable, "master", self._bridge)

    def start(
        self, command: Sequence[str], log: IO[bytes], *, ordinary: bool, env: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        """Starts a program here; `ordinary` gives root an ordinary user's name, for PostgreSQL."""
        user = ["unshare", "--user", "--map-user=65534", "--map-group=65534"] if ordinary else []
        return subprocess.Popen(
            ["ip", "netns", "exec", self.namespace, *user, *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=env,
            start_new_session=True,
        )

    def processes(self) -> list[psutil.Process]:
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError, psutil.NoSuchProcess):
                    if (entry / "ns" / "net").stat().st_ino == self._inode:
                        found.append(psutil.Process(int(entry.name)))
        return found

    def freeze(self) -> None:
        """Stops every process, also those that are being started meanwhile."""
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline:
            running = [each for each in self.processes() if not _is_still(each)]
            if not running:
                return
            _send(running, signal.SIGSTOP)
        raise RuntimeError(f"{self.name} does not stand still")

    def thaw(self) -> None:
        _send(self.processes(), signal.SIGCONT)

    def kill(self) -> None:
        """Every process ends as in a power failure."""
        deadline = time.monotonic() + STOP_SECONDS
        while living := [each for each in self.processes() if not _is_dead(each)]:
            _send(living, signal.SIGKILL)
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.name}: {living} do not end")
            time.sleep(0.02)

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            self.thaw()
            self.kill()
        for command in (("link", "del", self._cable), ("netns", "del", self.namespace)):
            with contextlib.suppress(OSError):
                ip(*command)


def _send(processes: Sequence[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)


def _is_still(process: psutil.Process) -> bool:
    try:
        return process.status() in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def _is_dead(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


class Network:
    """A bridge; this process is on it too, at `address`."""

    def __init__(self) -> None:
        self.name = f"lf{secrets.token_hex(2)}"
        self.prefix = _free_prefix()
        self.address = f"{self.prefix}.254"
        self.hardware = "02:00:00:00:00:fe"
        self.machines: dict[str, Machine] = {}

    def build(self, names: Sequence[str]) -> None:
        ip("link", "add", self.name, "address", self.hardware, "type", "bridge")
        ip("addr", "add", f"{self.address}/24", "dev", self.name)
        ip("link", "set", self.name, "up")
        for number, name in enumerate(names, 1):
            self.machines[name] = Machine(self, name, number)
            self.machines[name].build()
        for machine in self.machines.values():
            known = ["to", machine.address, "dev", self.name, "lladdr", machine.hardware]
            ip("neigh", "replace", *known, "nud", "permanent")
            machine.know(self.address, self.hardware)
            for other in self.machines.values():
                if other is not machine:
                    machine.know(other.address, other.hardware)

    def silence(self, one: Machine, other: Machine) -> None:
        """Packets between the two are lost, in both directions; everybody else hears both."""
        one.know(other.address, _NOWHERE)
        other.know(one.address, _NOWHERE)

    def restore(self, one: Machine, other: Machine) -> None:
        one.know(other.address, other.hardware)
        other.know(one.address, one.hardware)

    def remove(self) -> None:
        for machine in self.machines.values():
            machine.remove()
        with contextlib.suppress(OSError):
            ip("link", "del", self.name)


def _free_prefix() -> str:
    routes = ip("route", "show", "table", "all")
    for number in range(64, 256):
        prefix = f"10.213.{number}"
        if f"{prefix}." not in routes:
            return prefix
    raise RuntimeError("no free network below 10.213.0.0/16")


@contextlib.contextmanager
def network_of(names: Sequence[str]) -> Iterator[Network]:
    network = Network()
    try:
        network.build(names)
        yield network
    finally:
        network.remove()
