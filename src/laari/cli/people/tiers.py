"""`laari tier`: verification tiers and their spending limits."""

import re

import click

from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, database_operation
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.rules.records import Tier
from laari.store.merchants.tiers import set_tier
from laari.store.postgres.pool import Connection
from laari.store.reads import tiers

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}", re.ASCII)


@click.group()
def tier() -> None:
    """Verification tiers and their spending limits."""


@tier.command("list")
@database_operation
@needs("wallets.read")
async def list_all(connection: Connection) -> list[Tier]:
    """List the tiers, with limits in laari."""
    return list((await tiers.all_tiers(connection)).values())


@tier.command("set")
@click.argument("name")
@click.option("--per-transaction", type=fields.limit, help="In laari; 'none' removes the limit.")
@click.option("--daily", type=fields.limit, help="In laari, or 'none'.")
@click.option("--weekly", type=fields.limit, help="In laari, or 'none'.")
@click.option("--monthly", type=fields.limit, help="In laari, or 'none'.")
@database_operation
@needs("tiers.change")
async def set_limits(connection: Connection, /, name: str, **limits: int | str | None) -> Tier:
    """Set limits of a tier, or create one.

    Omitted limits stay as they are.
    """
    if not _NAME.fullmatch(name):
        raise LaariError(
            "the name of a tier starts with a letter and has up to 40 of a-z, 0-9, '_' and '-'"
        )
    given = {
        limit: value if isinstance(value, int) else None  # for NO_LIMIT
        for limit, value in limits.items()
        if value is not None
    }
    return await set_tier(connection, actor(), name, given)
