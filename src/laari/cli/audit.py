"""`laari audit`: proves that the books are right."""

import math
import os
from contextlib import AsyncExitStack

import click
import msgspec
import uvloop

from laari.cli.terminal.operation import json_option, show, show_table
from laari.cli.terminal.output import complain, say
from laari.cli.terminal.permission import needs
from laari.cli.terminal.progress import Tell, progress_bar
from laari.errors import LaariError
from laari.process.open import open_service
from laari.settings import read_settings
from laari.store.audit import Report, audit
from laari.store.audit.standby import caught_up
from laari.store.ledger.last_seal_file import KnownSeal, last_seal_file, noted_seal, read_seal
from laari.store.ledger.seals import sealing_key
from laari.store.merchants.installation import note_audit
from laari.store.postgres.pool import connection_to

BESIDE = 2  # more connections that check at the same time


def _kept(text: str) -> KnownSeal:
    seal = read_seal(text)
    if seal is None:
        raise click.BadParameter("must be a number, a colon and 64 hexadecimal digits.")
    return seal


@click.command("audit")
@click.option("--since-seal", is_flag=True, help="Check only the last seal and the rows after it.")
@click.option(
    "--kept-seal",
    type=_kept,
    metavar="NUMBER:MAC",
    help="A seal that you kept elsewhere; it must be in the chain.",
)
@click.option(
    "--standby", metavar="URL", help="Read this standby of the database after it has caught up."
)
@json_option
@needs("audit.run")
def audit_command(
    as_json: bool, standby: str | None, since_seal: bool, kept_seal: KnownSeal | None
) -> None:
    """Prove that the books are right.

    Recomputes every balance, payment and event from the ledger. Compares the ledger with its seals
    and the schema with the migrations. The exit status is 1 if anything differs.
    """
    with progress_bar(in_bytes=False) as tell:
        report = uvloop.run(_audit(since_seal, kept_seal, standby, tell))
    if as_json:
        show(report, as_json)
    else:
        _say(report, since_seal)
    if report.last_seal is not None and not report.kept_seals:
        complain(
            "this audit had no seal from outside the database, so it cannot notice that the newest "
            "seals were removed: use --kept-seal (docs/audit.md)"
        )
    if not report.ok:
        found = ", ".join(f"{kind} {count}" for kind, count in report.counts.items())
        raise LaariError(f"the books do not balance: {found}")


def _say(report: Report, since_seal: bool) -> None:
    since = " since the last seal" if since_seal else ""
    say(f"{report.payments} payments and {report.transfers} transfers checked{since}.")
    if report.last_seal is not None:
        say(f"Sealed up to {report.last_seal.number}:{report.last_seal.mac}")
        say(f"at {report.last_seal.sealed_at}; keep this seal elsewhere (docs/audit.md).")
    if report.unsealed is not None:
        waiting = report.unsealed
        say("Not sealed yet: " + ", ".join(f"{n} {table}" for table, n in waiting.items()) + ".")
    if report.ok:
        say("The books balance.")
    else:
        show_table(msgspec.to_builtins(report.differences))


async def _audit(
    since_seal: bool, kept: KnownSeal | None, standby: str | None, tell: Tell
) -> Report:
    async with open_service(read_settings(os.environ)) as service, AsyncExitStack() as stack:
        # Reads the file first: a standby must catch up with the primary after that.
        noted = noted_seal(last_seal_file(service.settings.data_dir, service.master_key))
        if standby is None:
            connections = [
                await stack.enter_async_context(connection_to(service.dsn, math.inf))
                for _ in range(1 + BESIDE)
            ]
        else:
            tell("Waiting for the standby", 0, 1)
            connections = await stack.enter_async_context(
                caught_up(service.dsn, standby, 1 + BESIDE)
            )
        report = await audit(
            connections[0],
            sealing_key(service.master_key),
            beside=connections[1:],
            known=[seal for seal in (kept, noted) if seal is not None],
            since_seal=since_seal,
            tell=tell,
        )
        async with connection_to(service.dsn) as connection:
            await note_audit(connection, report.ok)
        return report
