"""`laari backup`: a base backup of the database, taken while it is in use, and verified.

PostgreSQL's `pg_basebackup` copies the files and streams the log that is written meanwhile; what
was committed before it began is in it. Everything goes into `DIR.partial`, which is renamed at the
end: what is called DIR is whole.
"""

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
from laari.engine.backup_files import (
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
from laari.engine.cluster import kept_archive, prepare
from laari.engine.programs import EngineError, watch
from laari.store.files import sync_folder
from laari.store.postgres.migrate import schema_version
from laari.store.postgres.pool import connection_to
from laari.store.secrets import fingerprint

REMOVE_ATTEMPTS = 100  # at what an interrupted backup leaves; one takes seconds on a busy disk


class Source(NamedTuple):
    """What is backed up: the embedded database of a data directory."""

    dsn: str
    master_key: bytes
    data_dir: Path


class _Server(NamedTuple):
    version: int
    system_identifier: str
    now: datetime


async def _look(dsn: str) -> _Server:
    async with connection_to(dsn) as connection:
        row = await connection.fetchrow(
            "SELECT current_setting('server_version_num')::int, "
            "(SELECT system_identifier::text FROM pg_control_system()), clock_timestamp()"
        )
    return _Server(*row)


def make_backup(
    source: Source, folder: Path, progress: Progress, *, with_key: bool = False
) -> Backup:
    """Not a coroutine: Ctrl-C has to end the copying at once."""
    place = _vetted(folder, _own_places(source.data_dir))
    schema = asyncio.run(schema_version(source.dsn))
    before = asyncio.run(_look(source.dsn))
    with _partial(place) as (partial, lock):
        _copy(source, partial, lock, progress)
        after = asyncio.run(_look(source.dsn))
        if with_key:
            _write_key(partial, source.master_key)
        ranges = read_manifest(partial).ranges
        sizes = [path.stat().st_size for _, path in files_below(partial)]
        backup = Backup(
            format=FORMAT,
            laari=__version__,
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
            digests={name: digest_of(path) for name, path in outside_manifest(partial)},
        )
        write_info(partial, backup)
        os.rename(partial, place)
        sync_folder(place.parent)
    return backup


def _copy(source: Source, partial: Path, lock: int, progress: Progress) -> None:
    try:
        watch(
            *("pg_basebackup", "--dbname", source.dsn, "--no-password"),
            *("--pgdata", str(partial / CLUSTER), "--wal-method=stream", "--checkpoint=fast"),
            *("--manifest-checksums=SHA256", "--progress", "--label=laari"),
            on_line=lambda line: tell(progress, "Copying", line),
            inherited=(lock,),  # it may outlive this process for a moment: nobody else begins there
        )
    except EngineError as error:
        raise BackupError(f"the backup failed: {error}") from None
    verify_cluster(partial, progress)


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


def _own_places(data_dir: Path) -> list[Path]:
    """Directories in which no backup may be."""
    layout = prepare(data_dir)
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
