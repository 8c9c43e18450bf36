"""`laari message`: emails and SMS to people."""

from typing import get_args

import click

from laari.cli.terminal import fields
from laari.cli.terminal.declared import add_commands
from laari.cli.terminal.operation import database_operation
from laari.cli.terminal.permission import needs
from laari.operations.messages import RESEND, message_shape
from laari.rules.records.messages import MessageStatus
from laari.store.postgres.pool import Connection
from laari.store.reads import messages


@click.group()
def message() -> None:
    """Emails and SMS to people."""


@message.command("list")
@click.option("--status", type=click.Choice(get_args(MessageStatus)), help="Only with this status.")
@click.option("--limit", type=fields.integer(1, 1_000_000), help="Only the newest NUMBER.")
@database_operation
@needs("messages.read")
async def list_all(
    connection: Connection, status: MessageStatus | None, limit: int | None
) -> list[dict[str, object]]:
    """List messages, newest first, without their texts."""
    found = await messages.newest(connection, status=status, limit=limit)
    return [message_shape(each) for each in found]


add_commands(message, RESEND)
