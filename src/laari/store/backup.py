"""`laari backup`: a base backup of the database, taken while it is in use, and verified.

PostgreSQL's `pg_basebackup` copies the files and streams the log that is written meanwhile; what
was committed before it began is in it. Everything goes into `DIR.partial`, which is renamed at the
end: what is called DIR is whole.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from laari import __version__
from laari.store.backup_files import (
    CLUSTER,
    FORMAT,
    INFO,
    KEY,
    Backup,
    BackupError,
    Progress,
    digest_of,
    files_below,
    outside_manifest,
    read_manifest,
    tell,
    verify_cluster,
    write_info,
)
from laari.store.cluster import kept_archive, prepare
from laari.store.database import connection_to
from laari.store.files import sync_folder
from laari.store.migrate import schema_version
from laari.store.pg_tools import (
    ToolError,
    own_target,
    own_tools,
    target_of,
    tools_for,
    waldump_for,
    watch,
)
from laari.store.secrets import fingerprint

REMOVE_ATTEMPTS = 100  # at what an interrupted backup leaves; one takes seconds on a busy disk


class Source(NamedTuple):
    """What is backed up; `data_dir` where the database is the embedded one."""

    dsn: str
    master_key: bytes
    data_dir: Path | None


class _Server(NamedTuple):
    version: int
    system_identifier: str
    tablespaces: int
    now: datetime


def _checked(source: Source) -> tuple[_Server, int]:
    """The server as it is now and the schema's version; refuses one that cannot be copied."""
    schema = asyncio.run(schema_version(source.dsn))  # says why where it cannot connect
    server = asyncio.run(_look(source.dsn))
    if server.tablespaces:
        raise BackupError("this server has tablespaces of its own: use pg_basebackup by hand")
    return server, schema


async def _look(dsn: str) -> _Server:
    async with connection_to(dsn) as connection:
        row = await connection.fetchrow(
            "SELECT current_setting('server_version_num')::int, "
            "(SELECT system_identifier::text FROM pg_control_system()), "
            "(SELECT count(*) FROM pg_tablespace "
            "WHERE spcname NOT IN ('pg_default', 'pg_global'))::int, clock_timestamp()"
        )
    return _Server(*row)


def make_backup(
    source: Source, folder: Path, progress: Progress, *, with_key: bool = False
) -> Backup:
    """Not a coroutine: Ctrl-C has to end the copying at once."""
    place = _vetted(folder, _own_places(source))
    before, schema = _checked(source)
    with _partial(place) as (partial, lock):
        wal_verified = _copy(source, partial, lock, before, progress)
        after = asyncio.run(_look(source.dsn))
        if after.system_identifier != before.system_identifier:
            raise BackupError("another server answered in between: try again")
        if with_key:
            _write_key(partial, source.master_key)
        ranges = read_manifest(partial).ranges
        sizes = [path.stat().st_size for _, path in files_below(partial)]
        backup = Backup(
            format=FORMAT,
            laari=__version__,
            engine="embedded" if source.data_dir else "external",
            server_version=before.version,
            system_identifier=before.system_identifier,
            schema_version=schema,
            started_at=before.now,
            finished_at=after.now,
            timeline=ranges[-1].timeline,
            wal_start=ranges[0].start,
            wal_end=ranges[-1].end,
            files=len(sizes),
            bytes=sum(sizes),
            key_fingerprint=fingerprint(source.master_key),
            with_key=with_key,
            wal_verified=wal_verified,
            digests={name: digest_of(path) for name, path in outside_manifest(partial)},
        )
        write_info(partial, backup)
        os.rename(partial, place)
        sync_folder(place.parent)
    return backup


def _copy(source: Source, partial: Path, lock: int, server: _Server, progress: Progress) -> bool:
    """Copies and verifies the cluster; returns whether its log could be verified too."""
    major = server.version // 10_000
    target = own_target(source.dsn) if source.data_dir else target_of(source.dsn)
    tools = own_tools() if source.data_dir else tools_for(major, target)
    try:
        watch(
            [
                *(tools.path("pg_basebackup"), "--dbname", target.url, "--no-password"),
                *("--pgdata", str(partial / CLUSTER), "--wal-method=stream", "--checkpoint=fast"),
                *("--manifest-checksums=SHA256", "--progress", "--label=laari"),
            ],
            target.environment,
            lambda line: tell(progress, "Copying", line),
            inherited=(lock,),  # it may outlive this process for a moment: nobody else begins there
        )
    except ToolError as error:
        raise BackupError(_explained(str(error), source)) from None
    waldump = waldump_for(major)
    verify_cluster(partial, waldump, progress)
    return waldump is not None


def _explained(reason: str, source: Source) -> str:
    telling = ("replication", "pg_hba", "WAL sender", "walsender")
    if source.data_dir is None and any(word in reason for word in telling):
        return (
            f"the server does not let this role copy it ({reason}): give it REPLICATION and a line "
            "for replication in pg_hba.conf"
        )
    return f"the backup failed: {reason}"


def _write_key(partial: Path, master_key: bytes) -> None:
    with open(partial / KEY, "xb", opener=_private) as file:
        file.write(master_key.hex().encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@contextmanager
def _partial(place: Path) -> Iterator[tuple[Path, int]]:
    """An empty `DIR.partial` that is ours alone; it is gone again where the block fails."""
    partial = place.with_name(place.name + ".partial")
    lock = _own(partial)
    try:
        yield partial, lock
    except OSError as error:
        raise BackupError(f"{error.filename or partial}: {error.strerror}") from None
    finally:
        if _is_at(lock, partial):
            _remove(partial)
        os.close(lock)


def _remove(folder: Path) -> None:
    """Programs that were killed a moment ago may still add a file to it."""
    for _ in range(REMOVE_ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.05)


def _own_places(source: Source) -> list[Path]:
    """Directories in which no backup may be."""
    if source.data_dir is None:
        return []
    layout = prepare(source.data_dir)
    archive = kept_archive(layout)
    return [layout.home, *([archive] if archive else [])]


def _vetted(folder: Path, apart_from: list[Path]) -> Path:
    try:
        place = folder.parent.resolve(strict=True) / folder.name
        if folder.name in {"", ".."} or place.is_symlink():
            raise BackupError(f"{folder} must be a new directory, not a link")
        if place.exists() and (not place.is_dir() or any(place.iterdir())):
            raise BackupError(f"{folder} is there already: name a new directory")
    except OSError as error:
        raise BackupError(f"{folder} cannot be used: {error.strerror}") from None
    for other in apart_from:
        if place.is_relative_to(other.resolve()):
            raise BackupError(f"{folder} is within {other}: name a directory outside of it")
    return place


def _own(partial: Path) -> int:
    """Locks the directory, made where it is not there, and empties it of what a kill left."""
    while True:
        try:
            partial.mkdir(mode=0o700, exist_ok=True)
            lock = os.open(partial, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise BackupError(f"{partial} cannot be used: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise BackupError(f"another backup is being written to {partial}") from None
        if _is_at(lock, partial):
            break
        os.close(lock)  # the one before was finished and renamed in this moment
    try:
        entries = list(partial.iterdir())
        if any(entry.name not in {CLUSTER, INFO, KEY} for entry in entries):
            os.close(lock)
            raise BackupError(f"{partial} is in the way, and not what a backup left behind")
        for entry in entries:
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
    except OSError as error:
        os.close(lock)
        raise BackupError(f"{error.filename} cannot be removed: {error.strerror}") from None
    return lock


def _is_at(lock: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock), path.lstat())
    except FileNotFoundError:
        return False
