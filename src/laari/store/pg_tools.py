"""PostgreSQL's client programs that fit a server: the wheel's own, or those of the system.

The wheel's programs know no TLS, so the system's come first for a server that is not ours.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from laari.errors import LaariError
from laari.store.postgres import MAJOR_VERSION, clean_environment, last_line, program

STOP_SECONDS = 10
CONNECT_SECONDS = 5  # for one host: libpq would wait for ever for one that is silent

# Packages for several versions put them here, beside what is in PATH.
_FOLDERS = ("/usr/lib/postgresql/{}/bin", "/usr/pgsql-{}/bin")
# asyncpg hands every other parameter of a URL to the server as a setting; libpq refuses those.
_LIBPQ = {
    *("host", "hostaddr", "port", "user", "passfile", "connect_timeout", "target_session_attrs"),
    *("sslmode", "sslcert", "sslkey", "sslrootcert", "sslcrl", "sslpassword", "sslnegotiation"),
    *("ssl_min_protocol_version", "ssl_max_protocol_version", "gssencmode", "krbsrvname"),
    *("keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count"),
    *("tcp_user_timeout", "load_balance_hosts", "channel_binding", "require_auth"),
}
_NEEDS_TLS = {"require", "verify-ca", "verify-full"}


class ToolError(LaariError):
    """A program of PostgreSQL is missing or has failed."""


class Tools(NamedTuple):
    folder: Path
    major: int

    def path(self, name: str) -> str:
        return str(self.folder / name)


class Target(NamedTuple):
    """Where a program connects to; a password is in the environment, where `ps` does not see it."""

    url: str
    environment: dict[str, str]
    needs_tls: bool


def own_tools() -> Tools:
    return Tools(Path(program("pg_basebackup")).parent, int(MAJOR_VERSION))


def tools_for(server: int, target: Target) -> Tools:
    """The programs nearest in version to the server; older ones than it cannot copy it."""
    fitting = [tools for tools in _installed() if tools.major >= server]
    if not target.needs_tls and int(MAJOR_VERSION) >= server:
        fitting.append(own_tools())
    if not fitting:
        raise ToolError(
            f"a backup of this server needs pg_basebackup of PostgreSQL {server} in PATH: install "
            f"PostgreSQL's client programs (on Debian: postgresql-client-{server})"
        )
    return min(fitting, key=lambda tools: tools.major)


def waldump_for(server: int) -> str | None:
    """The program that reads the log of this version, where it is installed."""
    own = [own_tools()] if int(MAJOR_VERSION) == server else []
    for tools in [*own, *_installed()]:
        path = tools.path("pg_waldump")
        if tools.major == server and os.access(path, os.X_OK):
            return path
    return None


def _installed() -> Iterator[Tools]:
    folders = [pattern.format(major) for pattern in _FOLDERS for major in range(15, 31)]
    in_path = shutil.which("pg_basebackup")
    for folder in [*folders, *([os.path.dirname(in_path)] if in_path else [])]:
        path = Path(folder, "pg_basebackup")
        if os.access(path, os.X_OK) and (major := _major(path)):
            yield Tools(Path(folder), major)


@functools.cache
def _major(path: Path) -> int | None:
    try:
        said = subprocess.run(  # noqa: S603
            [path, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\(PostgreSQL\) (\d+)", said.stdout)
    return int(found[1]) if found else None


def own_target(dsn: str) -> Target:
    return Target(dsn, clean_environment(), needs_tls=False)


def target_of(dsn: str) -> Target:
    parts = urlsplit(dsn)
    user_info, at, hosts = parts.netloc.rpartition("@")
    user, _, password = user_info.partition(":")
    query = dict(parse_qsl(parts.query))
    secret = unquote(password) or query.get("password", "")
    kept = {name: value for name, value in query.items() if name in _LIBPQ}
    # Of several hosts libpq takes the first that answers; a standby may lack what is acknowledged.
    kept["target_session_attrs"] = "primary"
    kept.setdefault("connect_timeout", str(CONNECT_SECONDS))
    url = parts._replace(netloc=f"{user}{at}{hosts}", query=urlencode(kept), fragment="").geturl()
    environment = {**os.environ, **({"PGPASSWORD": secret} if secret else {}), "LC_ALL": "C"}
    tls = query.get("sslmode") or os.environ.get("PGSSLMODE", "")
    return Target(url, environment, tls in _NEEDS_TLS)


def watch(
    command: list[str],
    environment: dict[str, str],
    on_line: Callable[[str], None],
    inherited: tuple[int, ...] = (),
) -> None:
    """Runs a program in a session of its own and hands on what it says, line by line.

    Whatever ends the wait, Ctrl-C included, ends the program too.
    """
    said: list[str] = []
    process: subprocess.Popen[str] | None = None
    try:
        with _uninterrupted():
            process = _started(command, environment, inherited)
        assert process.stdout is not None
        for line in process.stdout:
            said = [*said[-50:], line]
            on_line(line)
        status = process.wait()
    finally:
        if process is not None:
            _end(process)
    if status != 0:
        full = [line for line in said if "No space left on device" in line]
        raise ToolError(" ".join(last_line("".join(full or said)).split()))


def _started(
    command: list[str], environment: dict[str, str], inherited: tuple[int, ...]
) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
            start_new_session=True,
            pass_fds=inherited,
        )
    except OSError as error:
        raise ToolError(f"{command[0]} cannot be run: {error.strerror}") from None


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C and SIGTERM take effect after the block, when the program it starts can be ended.

    One that is interrupted while it starts a program does not know of it, and the program goes on.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # no signal interrupts any other thread
        return
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _frame: came.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        # What it started itself, such as the receiver of the log, is in its session too.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.stdout is not None:
        process.stdout.close()
