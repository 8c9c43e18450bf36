"""`laari audit`: the proof that the books are right."""

import math
import os
from contextlib import AsyncExitStack

import click
import msgspec
import uvloop

from laari.cli.terminal.operation import json_option, show, show_table
from laari.cli.terminal.output import complain, say
from laari.cli.terminal.progress import Tell, step_bar
from laari.errors import LaariError
from laari.process.open import open_service
from laari.settings import read_settings
from laari.store.audit import Report, audit
from laari.store.audit.standby import caught_up
from laari.store.ledger.last_seal_file import KnownSeal, last_seal_file, noted_seal, read_seal
from laari.store.ledger.seals import sealing_key
from laari.store.postgres.pool import connection_to

# Connections more that check at the same time. Most machines have two processors, and each
# connection waits now and then for what it fetches to be digested here.
BESIDE = 2


def _kept(context: click.Context, parameter: click.Parameter, text: str | None) -> KnownSeal | None:
    if text is None:
        return None
    seal = read_seal(text)
    if seal is None:
        raise click.BadParameter("a seal is its number, a colon and 64 hexadecimal digits")
    return seal


@click.command("audit")
@click.option(
    "--since-seal",
    is_flag=True,
    help="Only what was written after the last seal, and that seal itself.",
)
@click.option(
    "--kept-seal",
    callback=_kept,
    metavar="NUMBER:MAC",
    help="A seal that was kept elsewhere, which has to be in the chain.",
)
@click.option(
    "--standby",
    metavar="URL",
    help="Read this standby of the database, once it has caught up.",
)
@json_option
def audit_command(
    as_json: bool, standby: str | None, since_seal: bool, kept_seal: KnownSeal | None
) -> None:
    """Prove that the books are right.

    Recomputes every balance, payment and event from the ledger, holds the ledger against its seals
    and the schema against the migrations; exit status 1 if anything differs.
    """
    with step_bar() as tell:
        report = uvloop.run(_audit(since_seal, kept_seal, standby, tell))
    if as_json:
        show(report, as_json)
    else:
        _say(report, since_seal)
    if report.last_seal is not None and not report.kept_seals:
        complain(
            "no seal that was kept outside the database was found, so the newest seals may have "
            "been removed: name one with --kept-seal (docs/audit.md)"
        )
    if not report.ok:
        found = ", ".join(f"{kind} {count}" for kind, count in report.counts.items())
        raise LaariError(f"the books do not balance: {found}")


def _say(report: Report, since_seal: bool) -> None:
    since = " since the last seal" if since_seal else ""
    say(f"{report.payments} payments and {report.transfers} transfers checked{since}.")
    if report.last_seal is not None:
        say(f"Sealed up to {report.last_seal.number}:{report.last_seal.mac}")
        say(f"at {report.last_seal.sealed_at}; keep this line elsewhere (docs/audit.md).")
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
        # The file comes first: a standby is read once it has what the primary has after it.
        noted = noted_seal(last_seal_file(service.settings.data_dir, service.master_key))
        if standby is None:
            connections = [
                await stack.enter_async_context(connection_to(service.dsn, math.inf))
                for _ in range(1 + BESIDE)
            ]
        else:
            tell("the standby catches up", 0, 1)
            connections = await stack.enter_async_context(
                caught_up(service.dsn, standby, 1 + BESIDE)
            )
        return await audit(
            connections[0],
            sealing_key(service.master_key),
            beside=connections[1:],
            known=[seal for seal in (kept, noted) if seal is not None],
            since_seal=since_seal,
            tell=tell,
        )
