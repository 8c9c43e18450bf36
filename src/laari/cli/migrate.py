"""`laari migrate`."""

import asyncio
import os

import click
import msgspec

from laari.cli.terminal.operation import json_option
from laari.cli.terminal.output import say, say_json
from laari.process.open import open_engine, upgrade
from laari.settings import read_settings


@click.command("migrate")
@json_option
def migrate_command(as_json: bool) -> None:
    """Upgrade the database's schema to this version."""
    with open_engine(read_settings(os.environ)) as service:
        before, after = asyncio.run(upgrade(service))
    if as_json:
        say_json(msgspec.json.encode({"before": before, "after": after}))
    elif before == after:
        say(f"The schema is already at version {after}.")
    else:
        say(f"The schema is upgraded from version {before} to {after}.")
