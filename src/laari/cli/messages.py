"""`laari message`: emails and SMS to people."""

from typing import get_args
from uuid import UUID

import click
from msgspec.structs import asdict

from laari.cli.terminal import fields
from laari.cli.terminal.operation import database_operation, operation
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules import ids
from laari.rules.calendar import show_or_none
from laari.store.outbox import messages as outbox
from laari.store.postgres.pool import Connection, connection_to
from laari.store.reads import messages
from laari.store.reads.messages import ListedMessage, MessageStatus

_message_id = fields.id_of(ids.MESSAGE, "a message id")


@click.group()
def message() -> None:
    """Emails and SMS to people."""


def described(found: ListedMessage) -> dict[str, object]:
    times = {
        name: show_or_none(getattr(found, name))
        for name in ("created_at", "next_attempt_at", "sent_at")
    }
    return asdict(found) | {"id": ids.show_id(ids.MESSAGE, found.id)} | times


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
    return [described(each) for each in found]


@message.command()
@click.argument("message_id", type=_message_id)
@operation
@needs("messages.resend")
async def resend(service: Service, message_id: UUID) -> dict[str, object]:
    """Send a failed message again, with up to five attempts."""
    async with connection_to(service.dsn) as connection, connection.transaction():
        resent = await outbox.resend(connection, message_id)
        found = await messages.newest(connection, message_id=message_id)
    shown = ids.show_id(ids.MESSAGE, message_id)
    if not found:
        raise LaariError(f"there is no message {shown}")
    if not resent:
        raise LaariError(f"{shown} has not failed: it is {found[0].status}")
    return described(found[0])
