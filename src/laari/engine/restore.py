"""`laari restore`: a database from a backup, as it was at the end of the backup or later.

A new timeline keeps its log apart from the archived one. `postgres.restoring` is renamed at the
end; no server starts beside one whose restore was killed.
"""

import asyncio
import math
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from laari.engine.backup_files import CLUSTER, KEY, Backup, BackupError, Progress, read_info, verify
from laari.engine.cluster import RESTORING, Layout, keep_archive, kept_archive, wanted_archive
from laari.engine.embedded import claimed, recovering_server
from laari.engine.programs import MAJOR_VERSION, EngineError
from laari.engine.wal_archive import fetch_command, missing_segment
from laari.store.audit import Report, audit
from laari.store.files import sync_folder
from laari.store.postgres.migrate import MigrationError, check, schema_version
from laari.store.postgres.pool import connection_to
from laari.store.secrets import fingerprint, read_key, write_key

RECOVERY_SECONDS = 7 * 24 * 3600  # as long as there is log to replay
# Files that say nothing about money: a data directory with only these counts as empty.
_HARMLESS = {"users.lock", "start.lock", "server.lock", "postgres.log", "sockets", "lost+found"}


class Restored(Struct, frozen=True):
    backup: str
    files: int
    bytes: int
    timeline: int
    last_transaction_at: datetime | None  # the last one that was replayed
    schema_version: int
    not_audited: str | None  # why: the schema has another version than this code
    audit: Report | None


_Found: TypeAlias = tuple[int, datetime | None, int, str | None, Report | None]  # the last fields


class Wanted(Struct, frozen=True, kw_only=True):
    """The options of a restore; `master_key` and `wal_archive` are settings."""

    wal: tuple[Path, ...] = ()
    until: datetime | None = None
    key_file: Path | None = None
    master_key: bytes | None = None
    wal_archive: str | None = None


def restore(folder: Path, data_dir: Path, wanted: Wanted, progress: Progress) -> Restored:
    """Restores into an empty data directory, which stays empty if anything fails."""
    backup = _checked(folder, wanted)
    _refuse_occupied(data_dir, folder)
    key = _key(folder, backup, wanted)
    verify(folder, backup, progress)
    with claimed(data_dir) as (layout, server):
        _refuse_occupied(data_dir, folder)
        with _all_or_nothing(layout):
            if key is not None:
                write_key(layout.home / KEY, key)
            if wanted.wal_archive is not None:
                keep_archive(layout, wanted_archive(layout, wanted.wal_archive))
            aside = replace(layout, cluster=layout.home / RESTORING)
            _copy(folder / CLUSTER, aside.cluster, backup.bytes, progress)
            settings = {"hot_standby": "off", **_recovery(wanted)}
            # The server syncs all files itself before it replays the log.
            (aside.cluster / "recovery.signal").touch()
            progress("Replaying the log", 0, 0)
            found = _recover(aside, server, settings, wanted)
            aside.cluster.rename(layout.cluster)
            sync_folder(layout.home)
    return Restored(str(folder), backup.files, backup.bytes, *found)


def _checked(folder: Path, wanted: Wanted) -> Backup:
    backup = read_info(folder)
    major = backup.server_version // 10_000
    if major != int(MAJOR_VERSION):
        raise BackupError(
            f"{folder} was made by PostgreSQL {major}, and this version of Laari brings "
            f"{MAJOR_VERSION}: restore it with a version that brings {major}"
        )
    if wanted.until is not None and not wanted.wal:
        raise BackupError("--until needs --wal, the directory with the archived log")
    if wanted.until is not None and wanted.until < backup.started_at:
        raise BackupError(
            f"{folder} was begun at {_shown(backup.started_at)}, after the moment that is asked "
            "for: choose an earlier backup"
        )
    for archive in wanted.wal:
        if not archive.is_dir():
            raise BackupError(f"{archive} is not a directory with archived log")
    if wanted.wal:
        gap = missing_segment(wanted.wal, backup.timeline, backup.wal_end)
        if gap is not None:
            raise BackupError(f"the archived log has a gap: {gap} is missing")
    return backup


def _refuse_occupied(data_dir: Path, folder: Path) -> None:
    try:
        if data_dir.is_symlink() and not data_dir.exists():
            raise BackupError(f"{data_dir} is a link that leads nowhere")
        entries = {entry.name for entry in data_dir.iterdir()} if data_dir.exists() else set()
    except OSError as error:
        raise BackupError(f"{data_dir} cannot be used: {error.strerror}") from None
    if entries - _HARMLESS:
        raise BackupError(f"data directory {data_dir} is not empty: restore into a new one")
    home, source = data_dir.resolve(), folder.resolve()
    if home.is_relative_to(source) or source.is_relative_to(home):
        raise BackupError(f"data directory {data_dir} and the backup must be apart")


def _key(folder: Path, backup: Backup, wanted: Wanted) -> bytes | None:
    """The key to write into the data directory; None if the setting has it."""
    given = wanted.master_key
    if wanted.key_file is not None:
        given = read_key(wanted.key_file)
    elif given is None and backup.with_key:
        given = read_key(folder / KEY)
    if given is None:
        raise BackupError(
            "the master key is not in this backup: set LAARI_MASTER_KEY or name its file "
            "with --key-file"
        )
    if fingerprint(given) != backup.key_fingerprint:
        raise BackupError("this master key is not the one of the backup: its secrets would be lost")
    return given if wanted.key_file is not None or wanted.master_key is None else None


@contextmanager
def _all_or_nothing(layout: Layout) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        _clear(layout)
        place = error.filename or layout.home
        raise BackupError(f"the restore failed: {place}: {error.strerror}") from None
    except BaseException:
        _clear(layout)
        raise


def _clear(layout: Layout) -> None:
    """Removes the new files; the lock files stay, because others may wait for them."""
    for cluster in (layout.home / RESTORING, layout.cluster):  # the directory held neither before
        shutil.rmtree(cluster, ignore_errors=True)
    if archive := kept_archive(layout):  # it was empty
        for path in archive.iterdir():
            path.unlink()
    for path in (layout.home / KEY, layout.archive):
        path.unlink(missing_ok=True)


def _copy(source: Path, target: Path, size: int, progress: Progress) -> None:
    done = 0

    def copy(one: str, other: str) -> None:
        nonlocal done
        shutil.copyfile(one, other, follow_symlinks=False)
        os.chmod(other, 0o600)
        done += os.path.getsize(other)
        progress("Copying", min(done, size), size)

    try:
        shutil.copytree(source, target, copy_function=copy, dirs_exist_ok=True)
    except shutil.Error as error:  # a list of what failed; the first is as telling as all
        raise BackupError(f"the restore failed: {error.args[0][0][2]}") from None
    for parent, _, _ in os.walk(target):
        os.chmod(parent, 0o700)


def _recovery(wanted: Wanted) -> dict[str, str]:
    if wanted.wal:
        archives = [archive.resolve() for archive in wanted.wal]
        settings = {"restore_command": fetch_command(archives)}
        if wanted.until is not None:
            moment = wanted.until.astimezone(UTC).isoformat(sep=" ")
            settings |= {"recovery_target_time": moment, "recovery_target_action": "promote"}
        return settings
    return {  # to the end of the backup itself: there is nothing to be fetched
        "restore_command": "false",
        "recovery_target": "immediate",
        "recovery_target_action": "promote",
        "recovery_target_timeline": "current",
    }


def _recover(aside: Layout, server: int, settings: dict[str, str], wanted: Wanted) -> _Found:
    log_start = aside.log.stat().st_size if aside.log.exists() else 0
    try:
        with recovering_server(aside, server, settings, seconds=RECOVERY_SECONDS) as dsn:
            return asyncio.run(_look(dsn))
    except EngineError as error:
        said = aside.log.read_text(errors="replace")[log_start:] if aside.log.exists() else ""
        raise BackupError(_explained(str(error), said, wanted)) from None


def _explained(reason: str, said: str, wanted: Wanted) -> str:
    if "recovery ended before configured recovery target was reached" in said:
        last = re.search(r"last completed transaction was at log time ([^\n]+)", said)
        end = f"its last transaction is of {last[1]}" if last else "it holds no transaction"
        return (
            f"the archived log ends before {_shown(wanted.until)} ({end}): "
            "name an earlier moment, or leave out --until to take all of it"
        )
    if "before consistent recovery point" in said:
        return f"the backup was not finished at {_shown(wanted.until)}: choose an earlier backup"
    damaged = re.search(r"^laari: (.+)$", said, re.MULTILINE)
    if damaged:
        return f"the archived log cannot be read: {damaged[1]}"
    return f"the restore failed: {reason}"


def _shown(moment: datetime | None) -> str:
    return moment.astimezone(UTC).isoformat(sep=" ", timespec="seconds") if moment else "the end"


async def _look(dsn: str) -> _Found:
    version = await schema_version(dsn)
    async with connection_to(dsn, math.inf) as connection:  # an audit reads all there is
        segment, last = await connection.fetchrow(
            "SELECT pg_walfile_name(pg_current_wal_insert_lsn()), pg_last_xact_replay_timestamp()"
        )
        reason, report = None, None
        try:
            await check(dsn)
        except MigrationError as error:
            reason = str(error)
        else:
            report = await audit(connection)
    return int(segment[:8], 16), last, version, reason, report
