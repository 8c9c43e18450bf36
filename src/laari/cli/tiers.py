"""`laari tier`: verification tiers and their spending limits."""

import click

from laari.cli.terminal.declared import add_commands
from laari.cli.terminal.operation import database_operation
from laari.cli.terminal.permission import needs
from laari.operations.service_settings import SET_TIER
from laari.rules.records.wallets import Tier
from laari.store.postgres.pool import Connection
from laari.store.reads import tiers


@click.group()
def tier() -> None:
    """Verification tiers and their spending limits."""


@tier.command("list")
@database_operation
@needs("wallets.read")
async def list_all(connection: Connection) -> list[Tier]:
    """List the tiers, with limits in laari."""
    return list((await tiers.all_tiers(connection)).values())


add_commands(tier, SET_TIER)
