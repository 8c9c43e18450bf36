"""Starts and stops the sandbox's process.

Imports little, so that the process starts at once. The rest is imported while it starts.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from laari.testing import SandboxError

if TYPE_CHECKING:
    from laari.testing.sandbox import Sandbox

STOP_SECONDS = 20.0
REQUEST_SECONDS = 30.0


@contextmanager
def running_sandbox(
    settings: Mapping[str, str] | None = None, cache: Path | None = None
) -> Iterator[Sandbox]:
    """Runs a sandbox until the block ends; `cache` holds template databases."""
    with _host(settings or {}, cache or cache_directory()) as address:
        import httpx  # noqa: PLC0415

        from laari.testing.receiver import Receiver  # noqa: PLC0415
        from laari.testing.sandbox import Sandbox  # noqa: PLC0415

        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        with (
            httpx.Client(timeout=REQUEST_SECONDS, limits=limits, trust_env=False) as http,
            Receiver() as receiver,
        ):
            yield Sandbox(address(), http, receiver)


def cache_directory() -> Path | None:
    named = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(named) if os.path.isabs(named) else Path.home() / ".cache"
    except RuntimeError:  # a user without a home
        return None
    return base / "laari" / "testing"


@contextmanager
def _host(settings: Mapping[str, str], cache: Path | None) -> Iterator[Callable[[], str]]:
    """Starts the process. The function waits until it is ready and returns its URL."""
    with tempfile.TemporaryFile() as log:
        # The settings of the developer's own service are not for this one.
        env = {name: v for name, v in os.environ.items() if not name.startswith("LAARI_")}
        process = subprocess.Popen(
            [sys.executable, "-m", "laari.testing.host"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=env,
            start_new_session=True,
        )
        assert process.stdin is not None
        directory: Path | None = None

        def address() -> str:
            nonlocal directory
            assert process.stdout is not None
            ready = process.stdout.readline()
            if not ready:
                process.wait(STOP_SECONDS)
                log.seek(0)
                said = log.read()[-4000:].decode(errors="replace").strip()
                raise SandboxError(f"the sandbox does not start: {said}")
            facts = json.loads(ready)
            directory = Path(facts["directory"])
            return str(facts["url"])

        try:
            given = {"settings": dict(settings), "cache": None if cache is None else str(cache)}
            with suppress(BrokenPipeError):  # it has ended; address() raises the error
                process.stdin.write(json.dumps(given).encode() + b"\n")
                process.stdin.flush()
            yield address
        finally:
            _end(process, directory)


def _end(process: subprocess.Popen[bytes], directory: Path | None) -> None:
    """Closes the process's input, which ends it. If it was killed, stops its database."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if directory is not None and directory.exists():
        from laari.engine.embedded import embedded_server  # noqa: PLC0415  # hardly ever
        from laari.engine.programs import EngineError  # noqa: PLC0415

        with suppress(EngineError), embedded_server(directory, durable=False, create=False):
            pass  # the last user to leave stops the server
        shutil.rmtree(directory, ignore_errors=True)
