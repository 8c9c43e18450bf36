"""What the service is held against: pgbench doing the same work one by one, and a bare route.

pgbench speaks to the same engine with prepared statements: no HTTP, no Python, no JSON.
"""

import os
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from bench.load import Load
from bench.service import PROCESSES, free_port, process_at
from laari.engine.programs import program

SCRIPTS = Path(__file__).parent / "sql"
CLIENTS = (1, 4, 8, 16, 32, 64)  # tried, to find the count at which pgbench is fastest


class PgBench:
    """One script, with the values of its variables."""

    def __init__(self, dsn: str, script: str, variables: dict[str, str]) -> None:
        place = urlsplit(dsn)
        query = parse_qs(place.query)
        self._command = [
            program("pgbench"),
            "-n",
            "-M",
            "prepared",
            "-f",
            str(SCRIPTS / f"{script}.sql"),
            "-h",
            query["host"][0],
            "-p",
            query["port"][0],
            "-U",
            place.username or "laari",
            *(f"-D{name}={value}" for name, value in variables.items()),
        ]
        self._database = place.path.lstrip("/")
        self._best: int | None = None

    def best_clients(self, seconds: int) -> int:
        """The count of clients at which it does most, looked for once."""
        if self._best is None:
            self._best = max(CLIENTS, key=lambda count: self.run(count, seconds).per_second)
        return self._best

    def run(self, clients: int, seconds: int) -> Load:
        threads = min(clients, os.cpu_count() or 1)
        with tempfile.TemporaryDirectory(prefix="pgbench-") as directory:
            result = subprocess.run(
                [
                    *self._command,
                    "-c",
                    str(clients),
                    "-j",
                    str(threads),
                    "-Dsent=0",
                    f"-Drun={secrets.token_hex(4)}",  # references of its own
                    "-T",
                    str(seconds),
                    "-l",
                    self._database,
                ],
                cwd=directory,
                capture_output=True,
                text=True,
                timeout=seconds + 60,
                check=False,
            )
            if result.returncode != 0:
                raise RuntimeError(result.stderr.strip()[-1000:])
            latencies = sorted(
                int(line.split()[2])  # client, transaction, microseconds, …
                for path in Path(directory).iterdir()
                for line in path.read_text().splitlines()
            )
        rate = float(re.search(r"^tps = ([\d.]+)", result.stdout, re.MULTILINE)[1])  # type: ignore[index]
        return Load(
            requests=len(latencies),
            seconds=len(latencies) / rate,  # without the time it took to connect
            failed=0,
            p50_ms=latencies[len(latencies) // 2] / 1000,
            p99_ms=latencies[len(latencies) * 99 // 100] / 1000,
        )


@contextmanager
def echo() -> Iterator[str]:
    """A bare Starlette route on the server settings of the service; gives its origin."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "bench.echo:app",
        f"--workers={PROCESSES}",
        f"--port={port}",
        "--loop=uvloop",
        "--http=httptools",
        "--ws=none",
        "--lifespan=off",
        "--no-access-log",
        "--log-level=warning",
        "--no-server-header",
        "--no-proxy-headers",
    ]
    origin = f"http://127.0.0.1:{port}"
    with process_at(command, f"{origin}/echo"):
        yield origin
