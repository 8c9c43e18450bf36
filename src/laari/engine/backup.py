"""`laari backup`: a verified base backup of the database, taken while it is in use.

`DIR.partial` is renamed at the end, so a directory named DIR is complete.
"""

import asyncio
import fcntl
import os
import re
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
    verify_cluster,
    write_info,
)
from laari.engine.cluster import kept_archive, prepare
from laari.engine.programs import EngineError, watch
from laari.store.files import sync_folder
from laari.store.postgres.migrate import schema_version
from laari.store.postgres.pool import connection_to
from laari.store.secrets import fingerprint, write_key

REMOVE_ATTEMPTS = 100  # on a busy disk one takes seconds

_PROGRESS = re.compile(r"\s*(\d+)/(\d+) kB")


class Source(NamedTuple):
    dsn: str
    master_key: bytes
    data_dir: Path


async def _look(dsn: str) -> tuple[int, str, datetime]:
    """The server's version, system identifier and clock."""
    async with connection_to(dsn) as connection:
        version, identifier, now = await connection.fetchrow(
            "SELECT current_setting('server_version_num')::int, "
            "(SELECT system_identifier::text FROM pg_control_system()), clock_timestamp()"
        )
    return version, identifier, now


def make_backup(
    source: Source, folder: Path, progress: Progress, *, with_key: bool = False
) -> Backup:
    """Not a coroutine: Ctrl-C has to end the copying at once."""
    layout = prepare(source.data_dir)
    archive = kept_archive(layout)
    place = _vetted(folder, [layout.home, *([archive] if archive else [])])
    schema = asyncio.run(schema_version(source.dsn))
    version, identifier, started_at = asyncio.run(_look(source.dsn))
    with _partial(place) as (partial, lock):
        _copy(source, partial, lock, progress)
        _, _, finished_at = asyncio.run(_look(source.dsn))
        if with_key:
            write_key(partial / KEY, source.master_key)
        ranges = read_manifest(partial).ranges
        sizes = [path.stat().st_size for _, path in files_below(partial)]
        backup = Backup(
            format=FORMAT,
            laari=__version__,
            server_version=version,
            system_identifier=identifier,
            schema_version=schema,
            started_at=started_at,
            finished_at=finished_at,
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
    def on_line(line: str) -> None:
        if figures := _PROGRESS.match(line):
            progress("Copying", int(figures[1]) << 10, int(figures[2]) << 10)

    try:
        watch(
            "pg_basebackup",
            "--dbname",
            source.dsn,
            "--no-password",
            "--pgdata",
            str(partial / CLUSTER),
            "--wal-method=stream",
            "--checkpoint=fast",
            "--manifest-checksums=SHA256",
            "--progress",
            "--label=laari",
            on_line=on_line,
            inherited=lock,  # it may outlive this process for a moment
        )
    except EngineError as error:
        raise BackupError(f"the backup failed: {error}") from None
    verify_cluster(partial, progress)


@contextmanager
def _partial(place: Path) -> Iterator[tuple[Path, int]]:
    """An empty `DIR.partial` that no other backup uses, removed again if the block fails."""
    partial = place.with_name(place.name + ".partial")
    try:
        lock = _locked(partial)
        try:
            _empty(partial)
            try:
                yield partial, lock
            finally:
                if _is_at(lock, partial):
                    _remove(partial)
        finally:
            os.close(lock)
    except OSError as error:
        raise BackupError(f"{error.filename or partial}: {error.strerror}") from None


def _remove(folder: Path) -> None:
    """Programs that were killed a moment ago may still add a file to it."""
    for _ in range(REMOVE_ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.05)


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


def _locked(partial: Path) -> int:
    while True:
        partial.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(partial, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise BackupError(f"another backup is being written to {partial}") from None
        if _is_at(lock, partial):
            return lock
        os.close(lock)  # the backup before was renamed in this moment


def _empty(partial: Path) -> None:
    entries = list(partial.iterdir())
    if any(entry.name not in {CLUSTER, INFO, KEY} for entry in entries):
        raise BackupError(f"{partial} is in the way, and not what a backup left behind")
    for entry in entries:
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _is_at(lock: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock), path.lstat())
    except FileNotFoundError:
        return False
