"""The files of a backup, and the proof that it is complete.

Every byte is covered once: by PostgreSQL's manifest, by the digests in `laari-backup.json`, or by
that file's own checksum. Other files are refused. The manifest is read here because the wheel's
`pg_verifybackup` crashes when it starts.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from laari.engine.programs import EngineError, watch
from laari.errors import LaariError
from laari.store.files import sync_folder

FORMAT = 1
INFO, CLUSTER, KEY = "laari-backup.json", "cluster", "master.key"
MANIFEST = "backup_manifest"

Progress = Callable[[str, int, int], None]  # what is being done, bytes done, bytes in all


class BackupError(LaariError):
    """The backup cannot be made, or is damaged."""


class Backup(Struct, frozen=True, kw_only=True):
    format: int
    laari: str
    server_version: int
    system_identifier: str
    schema_version: int
    started_at: datetime
    finished_at: datetime
    timeline: int
    wal_start: str
    wal_end: str
    files: int
    bytes: int
    key_fingerprint: str
    with_key: bool
    digests: dict[str, str]
    checksum: str = ""


class _Range(Struct, rename={"timeline": "Timeline", "start": "Start-LSN", "end": "End-LSN"}):
    timeline: int
    start: str
    end: str


class _File(Struct, rename={"size": "Size", "digest": "Checksum", "path": "Path"}):
    size: int
    digest: str
    path: str = ""  # empty if the name is not UTF-8, which does not happen


class Manifest(
    Struct, rename={"files": "Files", "ranges": "WAL-Ranges", "checksum": "Manifest-Checksum"}
):
    files: list[_File]
    ranges: list[_Range]
    checksum: str


def read_manifest(folder: Path) -> Manifest:
    damaged = BackupError(f"{folder} is damaged: {CLUSTER}/{MANIFEST} cannot be read")
    try:
        content = (folder / CLUSTER / MANIFEST).read_bytes()
        manifest = msgspec.json.decode(content, type=Manifest)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        raise damaged from None
    end = content.rfind(b'"Manifest-Checksum"')
    if hashlib.sha256(content[:end]).hexdigest() != manifest.checksum:
        raise damaged
    return manifest


def write_info(folder: Path, backup: Backup) -> None:
    whole = msgspec.json.format(msgspec.json.encode(_sealed(backup)), indent=2)
    with (folder / INFO).open("xb") as file:
        file.write(whole + b"\n")
        file.flush()
        os.fsync(file.fileno())
    sync_folder(folder)


def read_info(folder: Path) -> Backup:
    try:
        content = (folder / INFO).read_bytes()
    except FileNotFoundError:
        raise BackupError(f"{folder} is not a backup made by `laari backup`") from None
    except OSError as error:
        raise BackupError(f"{folder} cannot be read: {error.strerror}") from None
    try:
        backup = msgspec.json.decode(content, type=Backup)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise BackupError(f"{folder} is damaged: {INFO} cannot be read") from None
    if backup.format != FORMAT:
        raise BackupError(f"{folder} has format {backup.format}, this version reads {FORMAT}")
    if _sealed(backup).checksum != backup.checksum:
        raise BackupError(f"{folder} is damaged: {INFO} does not have its checksum")
    return backup


def _sealed(backup: Backup) -> Backup:
    bare = msgspec.json.encode(replace(backup, checksum=""))
    return replace(backup, checksum=hashlib.sha256(bare).hexdigest())


def files_below(folder: Path) -> Iterator[tuple[str, Path]]:
    """Every file with its path in the folder; a backup has no links or devices."""
    for parent, folders, names in os.walk(folder, onerror=_unreadable):
        for name in sorted(folders):
            if Path(parent, name).is_symlink():
                raise BackupError(f"{Path(parent, name)} is a link, not a folder of a backup")
        for name in sorted(names):
            path = Path(parent, name)
            if path.is_symlink() or not path.is_file():
                raise BackupError(f"{path} is not an ordinary file")
            yield str(path.relative_to(folder)), path


def _unreadable(error: OSError) -> None:
    raise BackupError(f"{error.filename} cannot be read: {error.strerror}")


def outside_manifest(folder: Path) -> Iterator[tuple[str, Path]]:
    """The files that PostgreSQL's manifest leaves out: itself, the log and our own."""
    covered = {f"{CLUSTER}/{file.path}" for file in read_manifest(folder).files}
    for name, path in files_below(folder):
        if name not in covered and name != INFO:
            yield name, path


def digest_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror}") from None


def verify(folder: Path, backup: Backup, progress: Progress) -> None:
    """Refuses a backup if one byte differs from what was written."""
    found = {name: digest_of(path) for name, path in outside_manifest(folder)}
    for name in sorted(found.keys() | backup.digests.keys()):
        if found.get(name) != backup.digests.get(name):
            how = "is missing" if name not in found else "is not as it was saved"
            raise BackupError(f"{folder} is damaged: {name} {how}")
    verify_cluster(folder, progress)


def verify_cluster(folder: Path, progress: Progress) -> None:
    manifest = read_manifest(folder)
    total, done = sum(file.size for file in manifest.files), 0
    for file in manifest.files:
        path = folder / CLUSTER / file.path
        if not path.is_file() or path.is_symlink():
            raise BackupError(f"{folder} is damaged: {CLUSTER}/{file.path} is missing")
        if path.stat().st_size != file.size or digest_of(path) != file.digest:
            raise BackupError(f"{folder} is damaged: {CLUSTER}/{file.path} is not as it was saved")
        done += file.size
        progress("Verifying", done, total)
    for part in manifest.ranges:
        options = ["--quiet", "--path", str(folder / CLUSTER / "pg_wal")]
        limits = ["--timeline", str(part.timeline), "--start", part.start, "--end", part.end]
        try:
            watch("pg_waldump", *options, *limits)
        except EngineError as error:
            reason = str(error).partition("error: ")[2] or str(error)
            raise BackupError(f"{folder} is damaged: its log cannot be read: {reason}") from None
