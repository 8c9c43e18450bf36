"""`laari backup` and `laari restore`."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import FrameType

import click

from laari.cli.terminal.operation import json_option, show
from laari.cli.terminal.output import complain, path_text
from laari.cli.terminal.progress import progress_bar
from laari.engine.backup import Source, make_backup
from laari.engine.data_directory import refuse_shared
from laari.engine.restore import Wanted, restore
from laari.errors import LaariError
from laari.process.open import open_engine
from laari.settings import Settings, read_settings
from laari.store.postgres.migrate import known_migrations

MALE = timezone(timedelta(hours=5))  # of a moment without an offset, as everywhere in Laari

_folder = click.Path(path_type=Path)


def moment(value: str) -> datetime:
    try:
        read = datetime.fromisoformat(value.strip())
    except ValueError:
        raise click.BadParameter(
            "must be a date and time such as 2026-03-01T09:30:00+05:00."
        ) from None
    return read if read.tzinfo else read.replace(tzinfo=MALE)


@click.command("backup")
@click.argument("folder", metavar="DIR", type=_folder)
@click.option("--with-key", is_flag=True, help="Put the master key into the backup too.")
@json_option
def backup_command(folder: Path, with_key: bool, as_json: bool) -> None:
    """Copy the embedded database to a new directory.

    The whole of it, verified; works while the service runs. The master key is not in the copy:
    keep it apart.
    """
    settings = read_settings(os.environ)
    _refuse_external(settings)
    if not (settings.data_dir / "postgres").exists():  # it must not make what it is to save
        raise LaariError(f"there is no database in {settings.data_dir}")
    with _ended_by_sigterm(), open_engine(settings) as service, progress_bar() as progress:
        source = Source(service.dsn, service.master_key, settings.data_dir)
        made = make_backup(source, folder, progress, with_key=with_key)
    show(
        {
            "path": str(folder.absolute()),
            "files": made.files,
            "bytes": made.bytes,
            "wal": {"timeline": made.timeline, "start": made.wal_start, "end": made.wal_end},
            "verified": True,
            "with_key": made.with_key,
            "server_version": made.server_version,
            "schema_version": made.schema_version,
            "started_at": made.started_at,
            "finished_at": made.finished_at,
        },
        as_json,
    )


def _refuse_external(settings: Settings) -> None:
    if settings.database_url is not None:
        raise LaariError(
            "backup and restore are for the embedded database: for the server of "
            "LAARI_DATABASE_URL use pgBackRest, WAL-G or Barman (docs/backup.md)"
        )


@click.command("restore")
@click.argument("folder", metavar="DIR", type=_folder)
@click.option(
    *("--wal", "wal"),
    metavar="ARCHIVE",
    type=_folder,
    multiple=True,
    help="Directory with archived log to replay; may be given again.",
)
@click.option(
    "--until",
    type=moment,
    metavar="TIME",
    help="Replay up to this moment; without an offset it is +05:00.  [all of the log]",
)
@click.option(
    "--key-file", type=_folder, metavar="FILE", help="The master key, where DIR does not hold it."
)
@json_option
def restore_command(
    folder: Path,
    wal: tuple[Path, ...],
    until: datetime | None,
    key_file: Path | None,
    as_json: bool,
) -> None:
    """Make the database anew from a backup.

    In an empty data directory. The backup is verified first, the books are audited at the end.
    """
    settings = read_settings(os.environ)
    _refuse_external(settings)
    wanted = Wanted(
        wal=wal,
        until=until,
        key_file=key_file,
        master_key=settings.master_key,
        wal_archive=settings.wal_archive,
    )
    refuse_shared(settings.data_dir)
    with _ended_by_sigterm(), progress_bar() as progress:
        made = restore(folder, settings.data_dir, wanted, progress)
    report = made.audit
    shown = {
        "path": path_text(settings.data_dir.resolve()),
        "backup": made.backup,
        "files": made.files,
        "bytes": made.bytes,
        "timeline": made.timeline,
        "last_transaction_at": made.last_transaction_at,
        "schema_version": made.schema_version,
        "audited": report is not None,
        "ok": report.ok if report else None,
        "payments": report.payments if report else None,
        "transfers": report.transfers if report else None,
        "differences": report.differences if report else [],
    }
    show(shown, as_json)
    if report is None:
        complain(_why_not_audited(made.schema_version))
    elif not report.ok:
        raise LaariError("restored, but the books do not balance: see `laari audit`")


def _why_not_audited(version: int) -> str:
    own = len(known_migrations())
    then = (
        "run `laari migrate` and then `laari audit`"
        if version < own
        else "audit it with the version of Laari that made it"
    )
    return (
        f"restored, but not audited: its schema is version {version}, this program's {own}; {then}"
    )


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM ends the command as Ctrl-C does, with what was begun taken away again."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
