"""Load from wrk: a bounded number of clients for a bounded time, on the loopback only."""

import itertools
import json
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.fill import Filled

SCRIPTS = Path(__file__).parent / "wrk"
_starts = itertools.count(1)


class Load(NamedTuple):
    """What one run found."""

    requests: int
    seconds: float
    failed: int
    p50_ms: float
    p99_ms: float

    @property
    def per_second(self) -> float:
        return self.requests / self.seconds


class Target(NamedTuple):
    """Who is driven, and the names of what it holds."""

    origin: str
    secret_key: str
    filled: Filled


def is_available() -> bool:
    return shutil.which("wrk") is not None


def drive(target: Target, script: str, *extra: str, clients: int, seconds: int) -> Load:
    """Lets so many clients call the service for so long, each as fast as it is answered."""
    size, filled = target.filled.size, target.filled
    numbers = (size.payments, size.authorizations, size.customers, filled.first_ms, filled.step_ms)
    start = next(_starts) * 10_000_000  # references of one run never meet those of another
    run = secrets.token_hex(4)
    arguments = (target.secret_key, run, str(start), *map(str, numbers), *extra)
    return wrk(target.origin, script, arguments, clients, seconds)


def wrk(origin: str, script: str, arguments: Sequence[str], clients: int, seconds: int) -> Load:
    assert origin.startswith("http://127.0.0.1:")
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as combined:
        for name in ("common.lua", f"{script}.lua"):
            combined.write((SCRIPTS / name).read_text())
        combined.flush()
        command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "--timeout=30s"]
        result = subprocess.run(
            [*command, "-s", combined.name, origin, "--", *arguments],
            capture_output=True,
            text=True,
            timeout=seconds + 60,
            check=True,
        )
    return Load(**json.loads(result.stdout.strip().splitlines()[-1]))
