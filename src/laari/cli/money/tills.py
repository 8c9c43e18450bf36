"""`laari till`: tills and their closings."""

import click
from msgspec.structs import asdict

from laari.cli.money.statements import tenant_of
from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, operation, submit
from laari.cli.terminal.permission import needs
from laari.process.open import Service
from laari.rules import ids
from laari.rules.calendar import show, show_or_none
from laari.rules.limits.texts import MAX_NOTE
from laari.rules.payments.till_closings import CloseTill
from laari.rules.people.permissions import MAX_TILL
from laari.rules.records.tenants import Mode
from laari.rules.records.tills import OpenTill, TillClosing
from laari.store.postgres.pool import connection_to
from laari.store.reads.merchants import applications
from laari.store.reads.money import tills

MOST_LISTED = 1_000
_mode = click.option("--mode", type=fields.MODE, default="live", help="Mode of its payments.")


@click.group()
def till() -> None:
    """Tills and their closings."""


def _till(value: str) -> str:
    """A label; an empty one is for the payments that name none."""
    return fields.text(MAX_TILL)(value) if value else value


@till.command()
@click.argument("merchant_id")
@click.argument("name", type=_till, metavar="TILL")
@_mode
@click.option("--note", type=fields.text(MAX_NOTE), help="A note for the merchant's people.")
@operation
@needs("tills.close")
async def close(
    service: Service, merchant_id: str, name: str, mode: Mode, note: str | None
) -> dict[str, object]:
    """Close a till: fix its sums since its previous closing.

    TILL is the label of its payments; '' is for payments without one. Amounts are laari.
    """
    tenant = await tenant_of(service, merchant_id, mode)
    closing = await submit(service, CloseTill(tenant, name, actor(), note))
    async with connection_to(service.dsn) as connection:
        profile = await applications.profile_of(connection, merchant_id)
    return {**described(closing), "merchant": tenant.merchant_name, **asdict(profile)}


@till.command("list")
@click.argument("merchant_id")
@_mode
@click.option("--till", "name", type=_till, metavar="TILL", help="Only this till.")
@click.option(
    "--limit",
    type=fields.integer(1, MOST_LISTED),
    default=100,
    help=f"Number of closings, up to {MOST_LISTED}.",
)
@operation
@needs("payments.read")
async def list_tills(
    service: Service, merchant_id: str, mode: Mode, name: str | None, limit: int
) -> dict[str, object]:
    """List tills since their last closing, and closings, newest first. Amounts are laari."""
    tenant = await tenant_of(service, merchant_id, mode)
    async with connection_to(service.dsn) as connection:
        waiting = await tills.show_open(connection, tenant.id, name)
        closings, _ = await tills.closings(connection, tenant.id, name, limit)
    return {
        "merchant_id": merchant_id,
        "mode": mode,
        "tills": [
            {"till": each.till, "since": show_or_none(each.since), **_sums(each)}
            for each in waiting
        ],
        "closings": [described(each) for each in closings],
    }


def _sums(counted: OpenTill | TillClosing) -> dict[str, object]:
    return {
        "payments": counted.payments,
        "gross": counted.gross,
        "fees": counted.fees,
        "refunds": counted.refunds,
        "refunded": counted.refunded,
        "net": counted.net,
    }


def described(closing: TillClosing) -> dict[str, object]:
    return {
        "id": ids.show_id(ids.TILL_CLOSING, closing.id),
        "till": closing.till,
        "number": closing.number,
        **_sums(closing),
        "note": closing.note,
        "closed_by": closing.actor_name,
        "closed_at": show(closing.created_at),
    }
