"""The embedded PostgreSQL server of a data directory, shared by every process that uses it.

    users.lock    held shared by each user: only the last one can lock it alone
    start.lock    held by the process that starts or stops the server
    server.lock   held by the server: the postmaster and all its children inherit it

A server left behind by a killed process is used again. Process numbers prove nothing: containers
that share a directory do not see each other's. Without `server.lock` no server is started and no
file of a server is removed.
"""

import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from laari.engine.cluster import (
    PORT,
    Layout,
    keep_archive,
    kept_archive,
    make_cluster,
    prepare,
    verify_version,
    wanted_archive,
    write_configuration,
)
from laari.engine.programs import COMMAND_SECONDS, EngineError, last_line, run

START_SECONDS = 60  # recovery after a crash included
UNREACHABLE_SECONDS = 10  # for a server without a visible process: it may be restarting
STOP_SECONDS = 30  # then the server drops everything and recovers at the next start
POLL_SECONDS = 0.02
INTERRUPTED_SECONDS = 1
MAX_LOG_BYTES = 5_000_000  # a longer log is put aside at the next start

_ACCEPTS, _REJECTS = 0, 1  # what pg_isready returns; a server that is starting rejects
_ALONE = fcntl.LOCK_EX | fcntl.LOCK_NB


@contextmanager
def embedded_server(
    data_dir: Path, *, durable: bool = True, create: bool = True, wal_archive: str | None = None
) -> Iterator[str]:
    """Uses the server, starting it if it does not run; gives its URL. The last user stops it.

    `durable=False` is for tests. `wal_archive` is a directory, `off`, or None for no change.
    """
    layout = prepare(data_dir)
    with _lock_file(layout, "users.lock") as users:
        with _start_lock(layout):
            alone = _lock(users, _ALONE)
            if wal_archive is not None:
                _choose_archive(layout, wal_archive, alone)
            _lock(users, fcntl.LOCK_SH)
            _ensure_running(layout, durable, create)
        try:
            yield layout.dsn
        finally:
            # Nobody can join in between: joining takes the start lock.
            with _start_lock(layout):
                if _lock(users, _ALONE):
                    _stop(layout)


def revive(data_dir: Path) -> None:
    """Starts a server that has died under its users; makes no new database."""
    layout = prepare(data_dir)
    if _postmaster(layout) is None:
        with _start_lock(layout):
            _ensure_running(layout, durable=True, create=False)


def _choose_archive(layout: Layout, setting: str, alone: bool) -> None:
    """PostgreSQL begins or ends archiving only when it starts, so a running server is stopped."""
    archive = wanted_archive(layout, setting)
    if archive == kept_archive(layout):
        return
    if alone:
        _stop(layout)
    if _state(layout) == _ACCEPTS:
        raise EngineError(
            "LAARI_WAL_ARCHIVE changes only when the embedded server starts: "
            f"end all other laari processes on {layout.home} first"
        )
    keep_archive(layout, archive)


@contextmanager
def claimed(data_dir: Path) -> Iterator[tuple[Layout, int]]:
    """A data directory without a server, and the server's lock: nobody else can start one."""
    layout = prepare(data_dir)
    with _start_lock(layout), _lock_file(layout, "server.lock") as server:
        if not _lock(server, _ALONE):
            raise EngineError(f"{layout.home} is in use by a server")
        yield layout, server


@contextmanager
def recovering_server(
    layout: Layout, server: int, settings: Mapping[str, str], *, seconds: int
) -> Iterator[str]:
    """Runs a server on restored files, within `claimed`; gives its URL once it has recovered."""
    try:
        try:
            log_start = _start(layout, True, False, server, settings, seconds=seconds)
        except KeyboardInterrupt:
            time.sleep(INTERRUPTED_SECONDS)  # pg_ctl was killed; its child may not be seen yet
            raise
        # pg_ctl waits for the beginning of a recovery only.
        deadline = time.monotonic() + seconds
        while _reported(layout) != "ready":  # to ask it would fill its log with refusals
            if _postmaster(layout) is None:
                raise EngineError(f"PostgreSQL did not recover: {_last_word(layout, log_start)}")
            if time.monotonic() > deadline:
                raise EngineError(f"PostgreSQL has not recovered within {seconds} seconds")
            time.sleep(POLL_SECONDS)
        yield layout.dsn
    finally:
        _stop(layout)


@contextmanager
def _lock_file(layout: Layout, name: str) -> Iterator[int]:
    path = layout.home / name
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise EngineError(f"{path} cannot be opened: {error.strerror}") from None
    try:
        yield lock
    finally:
        os.close(lock)


def _lock(lock: int, operation: int) -> bool:
    """False if another process holds the lock and the operation does not wait."""
    try:
        fcntl.flock(lock, operation)
    except BlockingIOError:
        return False
    except OSError as error:
        raise EngineError(
            f"the data directory cannot be locked ({error.strerror}): put it on a local file system"
        ) from None
    return True


@contextmanager
def _start_lock(layout: Layout) -> Iterator[None]:
    with _lock_file(layout, "start.lock") as start:
        _lock(start, fcntl.LOCK_EX)
        yield


def _ensure_running(layout: Layout, durable: bool, create: bool) -> None:
    """The caller holds the start lock."""
    began = time.monotonic()
    with _lock_file(layout, "server.lock") as server:
        while (state := _state(layout)) != _ACCEPTS:
            if _lock(server, _ALONE):
                _start(layout, durable, create, server)
                return
            # Still starting or stopping, or the last backends of a server that was killed.
            waited = time.monotonic() - began
            if waited > START_SECONDS:
                raise EngineError(f"PostgreSQL runs but does not answer; see {layout.log}")
            if state != _REJECTS and waited > UNREACHABLE_SECONDS and not _processes(layout):
                raise EngineError(
                    f"{layout.home} is in use by a server that cannot be reached from here: "
                    "it runs in another container, or its last processes do"
                )
            time.sleep(POLL_SECONDS)


def _state(layout: Layout) -> int | None:
    if not layout.socket.exists():
        return None
    return run("pg_isready", "-q", "-h", str(layout.sockets), "-p", str(PORT)).returncode


def _processes(layout: Layout) -> list[int]:
    numbers = (int(entry.name) for entry in Path("/proc").glob("[0-9]*"))
    return [pid for pid in numbers if _is_of_cluster(pid, layout)]


def _is_of_cluster(pid: int, layout: Layout) -> bool:
    """The number in `postmaster.pid` may be another process's: a server works in its cluster."""
    process = Path("/proc", str(pid))
    try:
        in_cluster = os.path.samefile(process / "cwd", layout.cluster)
        return in_cluster and (process / "comm").read_text().strip() == "postgres"
    except OSError:  # gone in the meantime, or somebody else's
        return False


def _start(
    layout: Layout,
    durable: bool,
    create: bool,
    server: int,
    more: Mapping[str, str] | None = None,
    *,
    seconds: int = 0,
) -> int:
    """Returns the start of this server's log lines. Its processes inherit the lock `server`."""
    try:
        if create and not layout.cluster.exists():
            make_cluster(layout, durable, server)
        verify_version(layout)
        (layout.cluster / "postmaster.pid").unlink(missing_ok=True)
        Path(f"{layout.socket}.lock").unlink(missing_ok=True)
        write_configuration(layout, durable, more)
        log_start = _log_size(layout)
        if log_start > MAX_LOG_BYTES:
            layout.log.replace(layout.log.with_suffix(".log.old"))
            log_start = 0
    except OSError as error:
        place = error.filename or layout.home
        raise EngineError(f"{place} cannot be used: {error.strerror}") from None
    result = run(
        "pg_ctl",
        "start",
        "-D",
        str(layout.cluster),
        "-l",
        str(layout.log),
        "-w",
        "-t",
        str(seconds or START_SECONDS),
        inherited=server,
        seconds=seconds or COMMAND_SECONDS,
    )
    if result.returncode != 0:
        reason = _last_word(layout, log_start) or last_line(result.stderr)
        raise EngineError(f"PostgreSQL did not start: {reason} (see {layout.log})")
    return log_start


def _last_word(layout: Layout, log_start: int) -> str:
    log = layout.log.read_bytes()[log_start:] if _log_size(layout) else b""
    return last_line(log.decode(errors="replace")) if log else ""


def _log_size(layout: Layout) -> int:
    return layout.log.stat().st_size if layout.log.exists() else 0


def _stop(layout: Layout) -> None:
    """Fast shutdown: open transactions are rolled back and everything is written."""
    postmaster = _postmaster(layout)
    if postmaster is None:
        return
    for how in (signal.SIGINT, signal.SIGQUIT):
        deadline = time.monotonic() + STOP_SECONDS
        os.kill(postmaster, how)
        while time.monotonic() < deadline:
            if _postmaster(layout) is None:
                return
            time.sleep(POLL_SECONDS)
    raise EngineError(f"PostgreSQL does not stop; see {layout.log}")


def _postmaster(layout: Layout) -> int | None:
    """The running server's main process, which removes its pid file when it ends."""
    try:
        number = int(_pid_file(layout)[0])
        if sys.platform != "linux":
            os.kill(number, 0)
            return number
    except (OSError, ValueError, IndexError):
        return None
    if _is_of_cluster(number, layout) and _own_number(number) == number:
        return number
    # In a PID namespace within this one it has another number than here.
    found = (pid for pid in _processes(layout) if _own_number(pid) == number)
    return next(found, None)


def _pid_file(layout: Layout) -> list[str]:
    return (layout.cluster / "postmaster.pid").read_text(errors="replace").splitlines()


def _reported(layout: Layout) -> str:
    try:
        return _pid_file(layout)[7].strip()
    except (FileNotFoundError, IndexError):
        return ""


def _own_number(pid: int) -> int | None:
    try:
        status = Path("/proc", str(pid), "status").read_text()
    except OSError:
        return None
    numbers = [line.split()[-1] for line in status.splitlines() if line.startswith("NSpid:")]
    return int(numbers[0]) if numbers else pid
