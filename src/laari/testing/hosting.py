"""Starts and ends the sandbox's process.

Imports little, so that the process starts at once; what the tests use is imported meanwhile.
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
from typing import IO, TYPE_CHECKING

from laari.testing.errors import SandboxError
from laari.testing.places import cache_directory

if TYPE_CHECKING:
    from laari.testing.sandbox import Sandbox

STOP_SECONDS = 20.0
REQUEST_SECONDS = 30.0


@contextmanager
def running_sandbox(
    settings: Mapping[str, str] | None = None, cache: Path | None = None
) -> Iterator[Sandbox]:
    """A sandbox until the block ends; `cache` is where databases are kept to start from."""
    with _host(settings or {}, cache or cache_directory()) as address:
        import httpx  # noqa: PLC0415  # while the service starts

        from laari.testing.receiver import Receiver  # noqa: PLC0415
        from laari.testing.sandbox import Sandbox  # noqa: PLC0415

        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        with (
            httpx.Client(timeout=REQUEST_SECONDS, limits=limits, trust_env=False) as http,
            Receiver() as receiver,
        ):
            yield Sandbox(address(), http, receiver)


@contextmanager
def _host(settings: Mapping[str, str], cache: Path | None) -> Iterator[Callable[[], str]]:
    """Starts the process; the function waits until it is ready, and returns its address."""
    with tempfile.TemporaryFile() as log:
        # Nothing of the developer's own service: its settings are not for this one.
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
                raise SandboxError(f"the sandbox does not start: {_last_words(process, log)}")
            facts = json.loads(ready)
            directory = Path(facts["directory"])
            return str(facts["url"])

        try:
            given = {"settings": dict(settings), "cache": None if cache is None else str(cache)}
            with suppress(BrokenPipeError):  # it has ended, which is told below
                process.stdin.write(json.dumps(given).encode() + b"\n")
                process.stdin.flush()
            yield address
        finally:
            _end(process, directory)


def _last_words(process: subprocess.Popen[bytes], log: IO[bytes]) -> str:
    process.wait(STOP_SECONDS)
    log.seek(0)
    return log.read()[-4000:].decode(errors="replace").strip()


def _end(process: subprocess.Popen[bytes], directory: Path | None) -> None:
    """The end of its input ends it; where it was killed, its database is still to be stopped."""
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
            pass  # the last one to leave stops the server
        shutil.rmtree(directory, ignore_errors=True)
