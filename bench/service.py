"""The service under measurement: its own embedded engine with durable commits, two processes."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

START_SECONDS = 60
STOP_SECONDS = 40
PROCESSES = 2


@dataclass(frozen=True)
class Service:
    origin: str
    env: dict[str, str]
    pid: int
    python: str = sys.executable

    def laari(self, *arguments: str) -> Any:
        """What a command of the command line prints as JSON."""
        return laari(self.env, *arguments, python=self.python)

    def memory(self) -> dict[str, float]:
        """What each process of the tree keeps to itself, in MiB."""
        found: dict[str, float] = {"supervisor": _private_mib(psutil.Process(self.pid))}
        for child in psutil.Process(self.pid).children():
            role = child.cmdline()[-1]
            number = sum(name.startswith(role) for name in found) + 1
            found[f"{role} {number}"] = _private_mib(child)
        return found

    def engine_memory(self) -> float:
        """What all processes of the engine keep to themselves, without what they share, in MiB."""
        postmaster = self._postmaster()
        return round(sum(map(_private_mib, [postmaster, *postmaster.children()])), 1)

    def processor_seconds(self) -> dict[str, float]:
        """What the processes of the service and the embedded engine have used of the processors."""
        children = psutil.Process(self.pid).children()
        return {
            "interface": sum(_used(p) for p in children if p.cmdline()[-1] == "interface"),
            "background": sum(_used(p) for p in children if p.cmdline()[-1] == "background"),
            "engine": processor_seconds_of(self._postmaster()),
        }

    def all_processor_seconds(self) -> float:
        """The same, and the other processes of the service."""
        return sum(map(processor_seconds_of, [psutil.Process(self.pid), self._postmaster()]))

    def _postmaster(self) -> psutil.Process:
        return psutil.Process(int(self.postmaster_file().read_text().split()[0]))

    def postmaster_file(self) -> Path:
        return Path(self.env["LAARI_DATA_DIR"]) / "postgres" / "postmaster.pid"

    def metrics(self) -> dict[str, float]:
        """The samples of /metrics by their name with labels; none where it is not served."""
        url = f"http://{self.env['LAARI_METRICS_ADDRESS']}/metrics"
        try:
            with urllib.request.urlopen(url, timeout=10) as response:
                lines = response.read().decode().splitlines()
        except urllib.error.URLError:
            return {}
        samples = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, value in samples}


def laari(env: dict[str, str], *arguments: str, python: str = sys.executable) -> Any:
    """What a command of the command line prints as JSON, with or without a service."""
    result = subprocess.run(
        [python, "-m", "laari", *arguments, "--json"],
        env=env,
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    return json.loads(result.stdout)


def environment(data_dir: Path, **settings: str) -> dict[str, str]:
    return {
        **os.environ,
        "LAARI_DATA_DIR": str(data_dir),
        "LAARI_MERCHANT_RATE_LIVE": "0",
        "LAARI_MERCHANT_RATE_SANDBOX": "0",
        "LAARI_TOKENS_PER_MINUTE": "0",
        **settings,
    }


def _private_mib(process: psutil.Process) -> float:
    try:
        return round(float(process.memory_full_info().uss) / 2**20, 1)
    except psutil.NoSuchProcess:  # one of the engine's, that has just ended
        return 0.0


def processor_seconds_of(parent: psutil.Process) -> float:
    """What a process and its children have used, those that have ended included.

    Connections close while something is measured. Without what their backends had used the sum
    would fall, and a share of it would rise.
    """
    ended = parent.cpu_times()
    living = [parent, *parent.children()]
    return sum(map(_used, living)) + float(ended.children_user + ended.children_system)


def _used(process: psutil.Process) -> float:
    """In nanoseconds if the kernel counts them: the usual counter goes in steps of 10 ms."""
    try:
        if threads := list(Path(f"/proc/{process.pid}/task").glob("*/schedstat")):
            return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9
        times = process.cpu_times()
    except (psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
        return 0.0
    return float(times.user + times.system)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(
    data_dir: Path, *, workers: int = PROCESSES, python: str = sys.executable, **settings: str
) -> Iterator[Service]:
    """Runs `laari serve` on the engine of the data directory until the block ends."""
    port = free_port()
    env = environment(data_dir, **{"LAARI_METRICS_ADDRESS": f"127.0.0.1:{free_port()}", **settings})
    command = [python, "-m", "laari", "serve", f"--port={port}", f"--workers={workers}"]
    with process_at(command, f"http://127.0.0.1:{port}/readyz", env) as process:
        yield Service(f"http://127.0.0.1:{port}", env, process.pid, python)


@contextmanager
def process_at(
    command: list[str],
    address: str,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
    *,
    quiet: bool = False,
) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a server, ready when the address answers, until the block ends."""
    process = subprocess.Popen(
        command,
        env=env,
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL if quiet else None,
    )
    try:
        _await_ready(process, address)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await_ready(process: subprocess.Popen[bytes], address: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except urllib.error.HTTPError as error:
            if error.code != 503:  # it speaks, if only to refuse
                return
            time.sleep(0.05)
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"{process.args!r} did not become ready")
