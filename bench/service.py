"""The service under measurement: its own embedded engine with durable commits, two processes."""

from __future__ import annotations

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

START_SECONDS = 60


@dataclass(frozen=True)
class Service:
    origin: str
    env: dict[str, str]

    def laari(self, *arguments: str) -> Any:
        """What a command of the command line prints as JSON."""
        result = subprocess.run(
            [sys.executable, "-m", "laari", *arguments, "--json"],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return json.loads(result.stdout)


@contextmanager
def running(data_dir: Path, *, workers: int = 2, **settings: str) -> Iterator[Service]:
    """Runs `laari serve` on the engine of the data directory until the block ends."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {
        **os.environ,
        "LAARI_DATA_DIR": str(data_dir),
        "LAARI_MERCHANT_RATE_LIVE": "0",
        "LAARI_MERCHANT_RATE_SANDBOX": "0",
        **settings,
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "laari", "serve", f"--port={port}", f"--workers={workers}"],
        env=env,
        stdout=subprocess.DEVNULL,
    )
    origin = f"http://127.0.0.1:{port}"
    try:
        _await_ready(process, origin)
        yield Service(origin, env)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _await_ready(process: subprocess.Popen[bytes], origin: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{origin}/readyz", timeout=5):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.05)
    raise RuntimeError("laari serve did not become ready")
