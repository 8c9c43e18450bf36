"""Load from wrk: a bounded number of clients for a bounded time, on the loopback only."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

SCRIPTS = Path(__file__).parent / "wrk"


class Load(NamedTuple):
    requests: int
    seconds: float
    failed: int
    p50_ms: float
    p99_ms: float

    @property
    def per_second(self) -> float:
        return self.requests / self.seconds


def is_available() -> bool:
    return shutil.which("wrk") is not None


def drive(url: str, script: str, *arguments: str, clients: int, seconds: float) -> Load:
    """Lets so many clients call the address for so long, each as fast as it is answered."""
    assert url.startswith("http://127.0.0.1:")
    text = "".join((SCRIPTS / name).read_text() for name in (f"{script}.lua", "done.lua"))
    combined = SCRIPTS / f".{script}.combined.lua"
    combined.write_text(text)
    command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds:g}s"]
    try:
        result = subprocess.run(
            [*command, "-s", combined, url, "--", *arguments],
            capture_output=True,
            text=True,
            timeout=seconds + 30,
            check=True,
        )
    finally:
        combined.unlink(missing_ok=True)
    return Load(**json.loads(result.stdout.strip().splitlines()[-1]))
