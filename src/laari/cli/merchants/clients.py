"""`laari client`: OAuth clients of merchants."""

import click

from laari.cli.terminal.declared import add_commands
from laari.cli.terminal.operation import database_operation
from laari.cli.terminal.permission import needs
from laari.operations.clients import CREATE, REVOKE, described
from laari.store.merchants import oauth
from laari.store.postgres.pool import Connection


@click.group()
def client() -> None:
    """OAuth clients of a merchant."""


@client.command("list")
@click.argument("merchant_id", required=False)
@database_operation
@needs("keys.manage")
async def list_all(connection: Connection, merchant_id: str | None) -> list[dict[str, object]]:
    """List the clients of one merchant or of all, oldest first."""
    return [described(found) for found in await oauth.list_clients(connection, merchant_id)]


add_commands(client, CREATE, REVOKE)
