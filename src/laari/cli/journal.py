"""`laari journal`: who changed what."""

import click

from laari.cli.terminal import fields
from laari.cli.terminal.operation import database_operation
from laari.cli.terminal.permission import needs
from laari.rules.calendar import show as show_time
from laari.rules.journal import changes
from laari.rules.records.journal import JournalEntry
from laari.store.postgres.pool import Connection
from laari.store.reads.journal import Filter, find

MOST_LISTED = 1_000


@click.group()
def journal() -> None:
    """Who changed what, when and why."""


@journal.command("list")
@click.option("--merchant", metavar="ID", help="Only entries of this merchant.")
@click.option("--object", "object_id", metavar="ID", help="Only entries about this object.")
@click.option("--actor", metavar="NAME", help="Only entries of this person, user or client.")
@click.option("--action", metavar="ACTION", help="Only this action, such as merchant.update.")
@click.option(
    "--limit",
    type=fields.integer(1, MOST_LISTED),
    default=100,
    help=f"Number of entries, up to {MOST_LISTED}.",
)
@database_operation
@needs("journal.read")
async def list_newest(
    connection: Connection,
    merchant: str | None,
    object_id: str | None,
    actor: str | None,
    action: str | None,
    *,
    limit: int,
) -> list[dict[str, object]]:
    """List entries of the journal, newest first."""
    wanted = Filter(merchant_id=merchant, object_id=object_id, actor=actor, action=action)
    page = await find(connection, wanted, limit)
    return [described(entry) for entry in page.rows]


def described(entry: JournalEntry) -> dict[str, object]:
    changed = changes(entry.before, entry.after)
    return {
        "time": show_time(entry.time),
        "actor": entry.actor_name,
        "kind": entry.actor_kind,
        "role": entry.actor_role,
        "address": entry.address,
        "action": entry.action,
        "object_type": entry.object_type,
        "object": entry.object_id,
        "merchant_id": entry.merchant_id,
        "mode": entry.mode,
        "before": {each.name: each.before for each in changed},
        "after": {each.name: each.after for each in changed},
        "reason": entry.reason,
    }
