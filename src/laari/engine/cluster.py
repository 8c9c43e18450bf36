"""The files of the embedded PostgreSQL and its configuration."""

import hashlib
import os
import platform
import re
import shutil
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from laari.engine.programs import MAJOR_VERSION, EngineError, last_line, run
from laari.engine.wal_archive import ARCHIVE_MARK, EXCHANGE_SECONDS, keep_command
from laari.store.files import sync_folder

ARCHIVE_OFF = "off"
RESTORING = "postgres.restoring"  # the cluster while it is being restored
PORT = 5432  # only the name of the socket
# A socket's whole path has room for 107 bytes, `/.s.PGSQL.5432` included; and commas or quotes
# would have to survive a URL and a list in the configuration.
_PLAIN_SOCKET_PATH = re.compile(r"[A-Za-z0-9/._-]{1,90}", re.ASCII)

_MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Layout:
    home: Path
    cluster: Path
    log: Path
    sockets: Path
    archive: Path  # a file that names the directory with the archived log

    @property
    def socket(self) -> Path:
        return self.sockets / f".s.PGSQL.{PORT}"

    @property
    def dsn(self) -> str:
        return f"postgresql://laari@/laari?host={quote(str(self.sockets))}&port={PORT}"


def prepare(data_dir: Path) -> Layout:
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
    return Layout(home, home / "postgres", home / "postgres.log", sockets, home / "wal-archive")


def verify_version(layout: Layout) -> None:
    try:
        version = (layout.cluster / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        raise EngineError(f"{layout.cluster} is not a PostgreSQL database") from None
    if version != MAJOR_VERSION:
        raise EngineError(
            f"{layout.cluster} was made by PostgreSQL {version}, "
            f"and this version of Laari brings {MAJOR_VERSION}: move the data with pg_dump"
        )


def make_cluster(layout: Layout, durable: bool, server: int) -> None:
    """Makes the cluster under another name first: a crash leaves no half of it."""
    if (layout.home / RESTORING).exists():  # an empty database must not take its place
        raise EngineError(
            f"a restore into {layout.home} did not finish: empty it and run `laari restore` again"
        )
    fresh = layout.cluster.with_suffix(".new")
    shutil.rmtree(fresh, ignore_errors=True)
    made = run(
        "initdb",
        "-D",
        str(fresh),
        "-U",
        "laari",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--locale=C",
        "--data-checksums",
        "--no-sync",
        inherited=server,
    )
    if made.returncode == 0:
        made = run(
            "postgres",
            "--single",
            "-F",
            "-D",
            str(fresh),
            "postgres",
            stdin="CREATE DATABASE laari",
            inherited=server,
        )
    if made.returncode == 0 and durable:
        made = run("initdb", "--sync-only", "-D", str(fresh), inherited=server)
    if made.returncode != 0:
        shutil.rmtree(fresh, ignore_errors=True)
        raise EngineError(f"the database cannot be made in {layout.home}: {last_line(made.stderr)}")
    with (fresh / "postgresql.conf").open("a") as file:
        file.write("\ninclude 'laari.conf'  # written at every start\n")
    fresh.rename(layout.cluster)
    sync_folder(layout.home)


def write_configuration(
    layout: Layout, durable: bool, more: Mapping[str, str] | None = None
) -> None:
    """Settings that fit this machine, and `more`; `fsync` and `synchronous_commit` stay on."""
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
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_checkpoints": "off",
    }
    # After a crash one call flushes everything: a tenth of a second on a busy disk instead of ten.
    # Kernels before 5.8 do not report what could not be written that way.
    release = re.match(r"(\d+)\.(\d+)", platform.release())
    if sys.platform == "linux" and release and (int(release[1]), int(release[2])) >= (5, 8):
        settings["recovery_init_sync_method"] = "syncfs"
    if not durable:
        settings |= {
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "shared_buffers": "64MB",
        }
    if archive := kept_archive(layout):
        settings |= {
            "archive_mode": "on",
            "archive_command": keep_command(archive),
            "archive_timeout": f"{EXCHANGE_SECONDS}s",
        }
    settings |= more or {}
    with (layout.cluster / "laari.conf").open("w") as file:
        for name, value in settings.items():
            quoted = value.replace("\\", "\\\\").replace("'", "''")
            file.write(f"{name} = '{quoted}'\n")


def kept_archive(layout: Layout) -> Path | None:
    """The archive of the log. Every start uses it, so that no command leaves a gap in it."""
    try:
        return Path(os.fsdecode(layout.archive.read_bytes()).splitlines()[0])
    except FileNotFoundError:
        return None


def wanted_archive(layout: Layout, setting: str) -> Path | None:
    """The directory that LAARI_WAL_ARCHIVE names, made if only its last part is missing.

    The present archive is not checked: payments go on while its disk is away.
    """
    if setting == ARCHIVE_OFF:
        return None
    path, kept = Path(setting), kept_archive(layout)
    try:
        if kept is not None and kept in {path.absolute(), path.resolve()}:
            return kept
        path.mkdir(mode=0o700, exist_ok=True)
        archive = path.resolve(strict=True)
        sync_folder(archive.parent)
        found = archive.stat()
        is_fresh = not any(archive.iterdir())
    except OSError as error:
        raise EngineError(f"LAARI_WAL_ARCHIVE {path} cannot be used: {error.strerror}") from None
    if found.st_uid != os.geteuid() or "\n" in str(archive):
        raise EngineError(f"LAARI_WAL_ARCHIVE {path} must be a directory of this user")
    if archive.is_relative_to(layout.home) or layout.home.is_relative_to(archive):
        raise EngineError(f"LAARI_WAL_ARCHIVE {path} and the data directory must be apart")
    if not is_fresh:
        raise EngineError(
            f"LAARI_WAL_ARCHIVE {path} holds files that are not this database's log: "
            "name an empty directory"
        )
    return archive


def keep_archive(layout: Layout, archive: Path | None) -> None:
    """Remembers the archive and marks it as taken.

    Each database needs its own: segments of two databases have the same names.
    """
    if archive is None:
        layout.archive.unlink(missing_ok=True)
    else:
        (archive / ARCHIVE_MARK).write_text("the archived log of one Laari database\n")
        sync_folder(archive)
        fresh = layout.archive.with_suffix(".new")
        fresh.write_bytes(os.fsencode(archive) + b"\n")
        fresh.replace(layout.archive)
    sync_folder(layout.home)


def _memory_bytes() -> int:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return memory
    return min(memory, int(limit)) if limit.isdigit() else memory
