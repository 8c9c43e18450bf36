"""The embedded PostgreSQL server of a data directory, shared by every process that uses it.

    laari-data/
      postgres/      the database cluster; `postgres.new` while it is being made
      postgres.log   what the server has to say
      sockets/       the Unix socket; there is no TCP
      users.lock     each user holds it shared: who gets it alone is the last one
      start.lock     held by whoever starts or stops the server

A server left behind by a killed process is found by the next one and used again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import signal
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from laari.store.files import sync_folder
from laari.store.postgres import MAJOR_VERSION, EngineError, last_line, run

PORT = 5432  # only the name of the socket
START_SECONDS = 60  # recovery after a crash included
STOP_SECONDS = 30  # then the server is told to drop everything; it recovers at the next start
POLL_SECONDS = 0.02
MAX_LOG_BYTES = 5_000_000  # a longer log is put aside at the next start
# A socket's whole path has room for 107 bytes, `/.s.PGSQL.5432` included; and commas or quotes
# would have to survive a URL and a list in the configuration.
_PLAIN_SOCKET_PATH = re.compile(r"[A-Za-z0-9/._-]{1,90}", re.ASCII)

_MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class _Layout:
    home: Path
    cluster: Path
    log: Path
    sockets: Path

    @property
    def socket(self) -> Path:
        return self.sockets / f".s.PGSQL.{PORT}"

    @property
    def dsn(self) -> str:
        return f"postgresql://laari@/laari?host={quote(str(self.sockets))}&port={PORT}"


@contextmanager
def embedded_server(data_dir: Path, *, durable: bool = True, create: bool = True) -> Iterator[str]:
    """Joins the users of the server, starting it where it does not run; gives its URL.

    The last one to leave stops it. `durable=False` trades safety for speed and is for tests.
    Without `create` a database that is not there is not made.
    """
    layout = _prepare(data_dir)
    users = _open_lock(layout.home / "users.lock")
    start = _open_lock(layout.home / "start.lock")
    try:
        with _held(start):
            fcntl.flock(users, fcntl.LOCK_SH)
            _ensure_running(layout, durable, create)
        try:
            yield layout.dsn
        finally:
            with _held(start):
                if _is_alone(users):
                    _stop(layout)
    finally:
        os.close(start)
        os.close(users)


def revive(data_dir: Path) -> None:
    """Starts the server again where it has died under its users; makes no new database."""
    layout = _prepare(data_dir)
    if _postmaster(layout) is not None:
        return
    start = _open_lock(layout.home / "start.lock")
    try:
        with _held(start):
            _ensure_running(layout, durable=True, create=False)
    finally:
        os.close(start)


def _prepare(data_dir: Path) -> _Layout:
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        home = data_dir.resolve(strict=True)
        sockets = home / "sockets"
        if not _PLAIN_SOCKET_PATH.fullmatch(str(sockets)):
            digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
            sockets = Path(f"/tmp/laari-{os.geteuid()}-{digest}")  # noqa: S108  # verified below
        sockets.mkdir(mode=0o700, exist_ok=True)
        found = sockets.lstat()
    except OSError as error:
        raise EngineError(f"data directory {data_dir} cannot be used: {error.strerror}") from None
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    if not ours or stat.S_IMODE(found.st_mode) & 0o077:
        raise EngineError(f"{sockets} must be a directory that only its owner, this user, can open")
    return _Layout(home, home / "postgres", home / "postgres.log", sockets)


def _open_lock(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise EngineError(f"{path} cannot be opened: {error.strerror}") from None


@contextmanager
def _held(lock: int) -> Iterator[None]:
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(lock, fcntl.LOCK_UN)


def _is_alone(users: int) -> bool:
    # Nobody can join in between: joining takes the start lock, which the caller holds.
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _ensure_running(layout: _Layout, durable: bool, create: bool) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not _answers(layout):
        if not _processes(layout):
            _start(layout, durable, create)
            return
        # Still starting or stopping, or the last backends of a server that was killed.
        if time.monotonic() > deadline:
            raise EngineError(f"PostgreSQL runs but does not answer; see {layout.log}")
        time.sleep(POLL_SECONDS)


def _answers(layout: _Layout) -> bool:
    if not layout.socket.exists():
        return False
    return run("pg_isready", "-q", "-h", str(layout.sockets), "-p", str(PORT)).returncode == 0


def _processes(layout: _Layout) -> list[int]:
    """Every process of a server on this cluster."""
    numbers = (int(entry.name) for entry in Path("/proc").glob("[0-9]*"))
    return [pid for pid in numbers if _is_of_cluster(pid, layout)]


def _is_of_cluster(pid: int, layout: _Layout) -> bool:
    """All processes of a server work in its cluster's directory.

    A number in `postmaster.pid` alone proves nothing: after a restart of the machine or of a
    container it may be anybody's.
    """
    process = Path("/proc", str(pid))
    try:
        in_cluster = os.path.samefile(process / "cwd", layout.cluster)
        return in_cluster and (process / "comm").read_text().strip() == "postgres"
    except OSError:  # gone in the meantime, or somebody else's
        return False


def _start(layout: _Layout, durable: bool, create: bool) -> None:
    try:
        if create and not layout.cluster.exists():
            _create(layout, durable)
        _verify_version(layout)
        if sys.platform == "linux":  # elsewhere PostgreSQL has to judge by the number alone
            (layout.cluster / "postmaster.pid").unlink(missing_ok=True)
            Path(f"{layout.socket}.lock").unlink(missing_ok=True)
        _write_configuration(layout, durable)
        log_start = _log_size(layout)
        if log_start > MAX_LOG_BYTES:
            layout.log.replace(layout.log.with_suffix(".log.old"))
            log_start = 0
    except OSError as error:
        place = error.filename or layout.home
        raise EngineError(f"{place} cannot be used: {error.strerror}") from None
    result = run(
        *("pg_ctl", "start", "-D", str(layout.cluster), "-l", str(layout.log)),
        *("-w", "-t", str(START_SECONDS)),
    )
    if result.returncode != 0:
        log = layout.log.read_bytes()[log_start:] if _log_size(layout) else b""
        reason = last_line(log.decode(errors="replace") or result.stderr)
        raise EngineError(f"PostgreSQL did not start: {reason} (see {layout.log})")


def _log_size(layout: _Layout) -> int:
    return layout.log.stat().st_size if layout.log.exists() else 0


def _verify_version(layout: _Layout) -> None:
    try:
        version = (layout.cluster / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        raise EngineError(f"{layout.cluster} is not a PostgreSQL database") from None
    if version != MAJOR_VERSION:
        raise EngineError(
            f"{layout.cluster} was made by PostgreSQL {version}, "
            f"and this version of Laari brings {MAJOR_VERSION}: move the data with pg_dump"
        )


def _create(layout: _Layout, durable: bool) -> None:
    """Makes the cluster aside and renames it, so that a crash on the way leaves nothing half."""
    fresh = layout.cluster.with_suffix(".new")
    shutil.rmtree(fresh, ignore_errors=True)
    made = run(
        *("initdb", "-D", str(fresh), "-U", "laari", "-A", "trust", "-E", "UTF8"),
        *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
        *("--data-checksums", "--no-sync"),
    )
    if made.returncode == 0:
        made = run(
            *("postgres", "--single", "-F", "-D", str(fresh), "postgres"),
            stdin="CREATE DATABASE laari",
        )
    if made.returncode == 0 and durable:
        made = run("initdb", "--sync-only", "-D", str(fresh))
    if made.returncode != 0:
        shutil.rmtree(fresh, ignore_errors=True)
        raise EngineError(f"the database cannot be made in {layout.home}: {last_line(made.stderr)}")
    with (fresh / "postgresql.conf").open("a") as file:
        file.write("\ninclude 'laari.conf'  # written anew at every start\n")
    fresh.rename(layout.cluster)
    sync_folder(layout.home)


def _write_configuration(layout: _Layout, durable: bool) -> None:
    """Settings fit for this machine; `fsync` and `synchronous_commit` stay on."""
    memory = _memory_bytes()
    shared_buffers = min(max(memory // 8, 64 * _MEBIBYTE), 2048 * _MEBIBYTE)
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(layout.sockets),
        "unix_socket_permissions": "0700",
        "port": str(PORT),
        "max_connections": "200",
        "shared_buffers": f"{shared_buffers // _MEBIBYTE}MB",
        "effective_cache_size": f"{memory // 2 // _MEBIBYTE}MB",
        "maintenance_work_mem": "128MB",
        "wal_buffers": "16MB",
        "min_wal_size": "256MB",
        "max_wal_size": "2GB",  # checkpoints by the clock, not by the load
        "checkpoint_timeout": "10min",
        "random_page_cost": "1.1",  # flash
        "effective_io_concurrency": "64",
        "jit": "off",  # statements are short
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_checkpoints": "off",
    }
    if not durable:
        settings |= {
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "shared_buffers": "64MB",
        }
    lines = [f"{name} = '{value}'\n" for name, value in settings.items()]
    (layout.cluster / "laari.conf").write_text("".join(lines))


def _memory_bytes() -> int:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return memory
    return min(memory, int(limit)) if limit.isdigit() else memory


def _stop(layout: _Layout) -> None:
    """Fast shutdown: open transactions are rolled back and everything is written."""
    postmaster = _postmaster(layout)
    if postmaster is None:
        return
    for how, seconds in ((signal.SIGINT, STOP_SECONDS), (signal.SIGQUIT, STOP_SECONDS)):
        deadline = time.monotonic() + seconds
        os.kill(postmaster, how)
        while time.monotonic() < deadline:
            if _postmaster(layout) is None:
                return
            time.sleep(POLL_SECONDS)
    raise EngineError(f"PostgreSQL does not stop; see {layout.log}")


def _postmaster(layout: _Layout) -> int | None:
    """The running server's main process, which takes its pid file away when it has ended."""
    try:
        pid = int((layout.cluster / "postmaster.pid").read_text().splitlines()[0])
        os.kill(pid, 0)
    except (OSError, ValueError, IndexError):
        return None
    if sys.platform == "linux" and not _is_of_cluster(pid, layout):
        return None
    return pid
