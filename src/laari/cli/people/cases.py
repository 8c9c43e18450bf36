"""`laari case`: what customers say was not them."""

import click

from laari.cli.terminal.declared import add_commands
from laari.cli.terminal.operation import database_operation
from laari.cli.terminal.permission import needs
from laari.operations.cases import ANSWER, case_shape
from laari.store.postgres.pool import Connection
from laari.store.reads.people import cases

MOST_LISTED = 1_000


@click.group()
def case() -> None:
    """Lines of wallets that their customers say were not them."""


@case.command("list")
@click.option("--answered", is_flag=True, help="Those that were answered, the last one first.")
@database_operation
@needs("customers.read")
async def list_cases(connection: Connection, *, answered: bool) -> list[dict[str, object]]:
    """List open cases, the oldest first."""
    find = cases.answered if answered else cases.open_ones
    return [case_shape(each) for each in await find(connection, MOST_LISTED)]


add_commands(case, ANSWER)
