"""`laari backup` and `laari restore`."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

import click
from msgspec.structs import asdict

from laari.cli.terminal.operation import in_service, json_option, show
from laari.cli.terminal.output import complain, path_text
from laari.cli.terminal.permission import needs
from laari.cli.terminal.progress import progress_bar
from laari.engine.backup import Source, make_backup
from laari.engine.data_directory import refuse_shared
from laari.engine.restore import Wanted, restore
from laari.errors import LaariError
from laari.process.open import Service, open_engine
from laari.rules.calendar import MALDIVES
from laari.rules.calendar import show as show_time
from laari.settings import Settings, read_settings
from laari.store.merchants.installation import note_backup
from laari.store.postgres.pool import SchemaError, connection_to

_folder = click.Path(path_type=Path)


def moment(value: str) -> datetime:
    try:
        read = datetime.fromisoformat(value.strip())
    except ValueError:
        raise click.BadParameter("must be a time such as 2026-03-01T09:30:00+05:00.") from None
    return read if read.tzinfo else read.replace(tzinfo=MALDIVES)


@click.command("backup")
@click.argument("folder", metavar="DIR", type=_folder, required=False)
@click.option("--with-key", is_flag=True, help="Include the master key.")
@click.option(
    "--record", is_flag=True, help="Copy nothing: note that another program made a backup now."
)
@json_option
@needs("service.run")
def backup_command(folder: Path | None, with_key: bool, record: bool, as_json: bool) -> None:
    """Copy the embedded database to a new directory.

    Verifies the copy. The service may run meanwhile. The copy does not contain the master key: keep
    it elsewhere. `laari health` and the metrics show the age of the last backup.
    """
    if (folder is None) != record or (record and with_key):
        raise LaariError("name a new directory, or use --record alone")
    settings = read_settings(os.environ)
    if folder is None:
        show(in_service(_record), as_json)
        return
    _refuse_external(settings)
    if not (settings.data_dir / "postgres").exists():
        raise LaariError(f"there is no database in {settings.data_dir}: set LAARI_DATA_DIR")
    with (
        _ended_by_sigterm(),
        open_engine(settings) as service,
        progress_bar(in_bytes=True) as progress,
    ):
        source = Source(service.dsn, service.master_key, settings.data_dir)
        made = make_backup(source, folder, progress, with_key=with_key)
        # A backup is made before an upgrade, so an older schema may have no place for the note.
        with suppress(SchemaError):
            asyncio.run(_note(service.dsn))
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


async def _note(dsn: str) -> None:
    async with connection_to(dsn) as connection:
        await note_backup(connection)


async def _record(service: Service) -> dict[str, object]:
    async with connection_to(service.dsn) as connection:
        return {"recorded_at": show_time(await note_backup(connection))}


def _refuse_external(settings: Settings) -> None:
    if settings.database_url is not None:
        raise LaariError(
            "backup and restore are only for the embedded database: for the server of "
            "LAARI_DATABASE_URL use pgBackRest, WAL-G or Barman (docs/backup.md)"
        )


@click.command("restore")
@click.argument("folder", metavar="DIR", type=_folder)
@click.option(
    "--wal",
    metavar="ARCHIVE",
    type=_folder,
    multiple=True,
    help="Directory with archived log to replay. May be repeated.",
)
@click.option(
    "--until",
    type=moment,
    metavar="TIME",
    help="Replay up to this time; the default offset is +05:00.  [default: all of the log]",
)
@click.option("--key-file", type=_folder, metavar="FILE", help="The master key, if not in DIR.")
@json_option
@needs("service.run")
def restore_command(
    folder: Path,
    wal: tuple[Path, ...],
    until: datetime | None,
    key_file: Path | None,
    as_json: bool,
) -> None:
    """Restore the database from a backup.

    The data directory must be empty. Verifies the backup first and audits the books at the end.
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
    with _ended_by_sigterm(), progress_bar(in_bytes=True) as progress:
        made = restore(folder, settings.data_dir, wanted, progress)
    facts = asdict(made)
    report = facts.pop("audit")
    shown = {
        "path": path_text(settings.data_dir.resolve()),
        **facts,
        "audited": report is not None,
        "ok": report.ok if report else None,
        "payments": report.payments if report else None,
        "transfers": report.transfers if report else None,
        "differences": report.differences if report else [],
    }
    show(shown, as_json)
    if report is None:
        complain(f"restored, but not audited: {made.not_audited}; then run `laari audit`")
    elif not report.ok:
        raise LaariError("restored, but the books do not balance: run `laari audit`")


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Lets SIGTERM end the command as Ctrl-C does, so that it cleans up."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
