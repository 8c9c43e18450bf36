"""`laari tier`: verification tiers and their spending limits."""

import click

from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, database_operation, operation, submit
from laari.cli.terminal.permission import needs
from laari.process.open import Service
from laari.rules.banking.tiers import SetLimits
from laari.rules.records import Tier
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


@tier.command("set")
@click.argument("name")
@click.option("--per-transaction", type=fields.limit, help="In laari; 'none' removes the limit.")
@click.option("--daily", type=fields.limit, help="In laari, or 'none'.")
@click.option("--weekly", type=fields.limit, help="In laari, or 'none'.")
@click.option("--monthly", type=fields.limit, help="In laari, or 'none'.")
@operation
@needs("tiers.change")
async def set_limits(service: Service, /, name: str, **limits: int | str | None) -> Tier:
    """Set limits of a tier, or create one.

    Omitted limits stay as they are.
    """
    given = {
        limit: value if isinstance(value, int) else None  # for NO_LIMIT
        for limit, value in limits.items()
        if value is not None
    }
    return await submit(service, SetLimits(actor(), name, given))
