"""Embedded servers for tests, and the processes that use them."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg

USER = """
import sys
from pathlib import Path
from laari.engine.embedded import embedded_server
with embedded_server(Path(sys.argv[1]), durable=False) as dsn:
    print(dsn, flush=True)
    sys.stdin.read()
"""


def ask(dsn: str, query: str) -> object:
    async def asked() -> object:
        connection = await asyncpg.connect(dsn)
        try:
            return await connection.fetchval(query)
        finally:
            await connection.close()

    return asyncio.run(asked())


def postmaster(home: Path) -> int:
    return int((home / "postgres" / "postmaster.pid").read_text().splitlines()[0])


def is_running(home: Path) -> bool:
    return (home / "postgres" / "postmaster.pid").exists()


def kill_and_wait(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}/cwd").is_symlink() and os.path.exists(f"/proc/{pid}/cwd"):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def another_process(home: Path, *within: str) -> Iterator[subprocess.Popen[str]]:
    """A process that uses the server until its input is closed; `within` is put before it."""
    process = subprocess.Popen(
        [*within, sys.executable, "-c", USER, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("postgresql://")
        yield process
    finally:
        process.communicate(timeout=20)
