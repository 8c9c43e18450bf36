"""`laari init` and `laari migrate`."""

import asyncio
import os

import click

from laari.cli.terminal.operation import json_option, show
from laari.cli.terminal.output import path_text, say
from laari.cli.terminal.permission import needs
from laari.process.open import open_engine, open_service, upgrade
from laari.settings import read_settings
from laari.store.postgres.migrate import schema_version


@click.command("init")
@json_option
@needs("service.run")
def init_command(as_json: bool) -> None:
    """Create the database and its master key.

    Does nothing if they exist. Only this command and `laari serve` create a database.
    """
    show(asyncio.run(_init()), as_json)


async def _init() -> dict[str, object]:
    settings = read_settings(os.environ)
    async with open_service(settings, "create") as service:
        version = await schema_version(service.dsn)
    embedded = settings.database_url is None
    return {
        "data_dir": path_text(settings.data_dir.resolve()) if embedded else None,
        "schema_version": version,
    }


@click.command("migrate")
@json_option
@needs("service.run")
def migrate_command(as_json: bool) -> None:
    """Upgrade the database's schema to this version."""
    with open_engine(read_settings(os.environ)) as service:
        before, after = asyncio.run(upgrade(service))
    if as_json:
        show({"before": before, "after": after}, as_json)
    elif before == after:
        say(f"The schema is already at version {after}.")
    else:
        say(f"The schema is upgraded from version {before} to {after}.")
