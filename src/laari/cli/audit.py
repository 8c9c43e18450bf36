"""`laari audit`: the proof that the books are right."""

from __future__ import annotations

import asyncio
import math
import os

import click
import msgspec

from laari.cli.open import open_service
from laari.cli.operation import json_option, show, show_table
from laari.cli.terminal import say
from laari.errors import LaariError
from laari.settings import read_settings
from laari.store.audit import Report, audit
from laari.store.database import connection_to


@click.command("audit")
@json_option
def audit_command(as_json: bool) -> None:
    """Prove that the books are right.

    Recomputes every balance, payment and event from the ledger; exit status 1 where they differ.
    """
    report = asyncio.run(_audit())
    if as_json:
        show(report, as_json)
    else:
        say(f"{report.payments} payments and {report.transfers} transfers checked.")
        if report.ok:
            say("The books balance.")
        else:
            show_table(msgspec.to_builtins(report.differences))
    if not report.ok:
        found = ", ".join(f"{kind} {count}" for kind, count in report.counts.items())
        raise LaariError(f"the books do not balance: {found}")


async def _audit() -> Report:
    async with (
        open_service(read_settings(os.environ)) as service,
        connection_to(service.dsn, math.inf) as connection,
    ):
        return await audit(connection)
