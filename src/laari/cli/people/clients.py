"""`laari client`: OAuth clients of merchants."""

from datetime import UTC, datetime, timedelta

import click

from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, database_operation, operation, submit
from laari.cli.terminal.permission import needs
from laari.process.open import Service
from laari.rules.calendar import LAST_SHOWN, read_timestamp, show_or_none
from laari.rules.calendar import show as show_time
from laari.rules.merchants.keys import MAX_NAME, CreateClient, RevokeClient
from laari.rules.merchants.scopes import DEFAULT_SCOPES, SCOPES
from laari.rules.records.merchants import OAuthClient
from laari.rules.tokens import write_scope
from laari.store.merchants import oauth
from laari.store.postgres.pool import Connection, connection_to


@click.group()
def client() -> None:
    """OAuth clients of a merchant."""


def scope(value: str) -> str:
    names = frozenset(value.split())
    if unknown := sorted(names - SCOPES.keys()):
        raise click.BadParameter(f"unknown scope {unknown[0]}. Known: {', '.join(SCOPES)}.")
    return write_scope(names)


def expiry(value: str) -> datetime:
    now, is_days = datetime.now(UTC), value.isdecimal() and value.isascii() and len(value) <= 4
    moment = now + timedelta(days=int(value)) if is_days else read_timestamp(value)
    if moment is None or not now < moment < LAST_SHOWN:
        raise click.BadParameter("must be a number of days or a later date: 90, 2027-12-31.")
    return moment


def described(found: oauth.Client) -> dict[str, object]:
    return {
        "client_id": found.id,
        "merchant_id": found.merchant_id,
        "name": found.name,
        "scopes": found.scope.split(),
        "created_at": show_time(found.created_at),
        "expires_at": show_or_none(found.expires_at),
        "last_used_at": show_or_none(found.last_used_at),
        "revoked_at": show_or_none(found.revoked_at),
    }


@client.command()
@click.argument("merchant_id")
@click.option(
    "--scope",
    type=scope,
    default=" ".join(DEFAULT_SCOPES),
    show_default="all but payments:refund, balance:read and payouts:read",
    help="Scopes, separated by spaces.",
)
@click.option("--name", type=fields.text(MAX_NAME), help="Name for people.")
@click.option(
    "--expires",
    "expires_at",
    type=expiry,
    metavar="DAYS|DATE",
    show_default="never",
    help="End of the client and its tokens. A date means its first moment, in Maldives time.",
)
@operation
@needs("keys.manage")
async def create(
    service: Service,
    merchant_id: str,
    scope: str,
    name: str | None,
    expires_at: datetime | None,
) -> dict[str, object]:
    """Create a client of a merchant and print its secret.

    The secret is not shown again.
    """
    made = await submit(service, CreateClient(actor(), merchant_id, scope, name, expires_at))
    return {**await _shown(service, made.client), "client_secret": made.secret}


@client.command("list")
@click.argument("merchant_id", required=False)
@database_operation
@needs("keys.manage")
async def list_all(connection: Connection, merchant_id: str | None) -> list[dict[str, object]]:
    """List the clients of one merchant or of all, oldest first."""
    return [described(found) for found in await oauth.list_clients(connection, merchant_id)]


@client.command()
@click.argument("client_id")
@operation
@needs("keys.manage")
async def revoke(service: Service, client_id: str) -> dict[str, object]:
    """Revoke a client; its tokens stop working at once."""
    return await _shown(service, await submit(service, RevokeClient(actor(), client_id)))


async def _shown(service: Service, client: OAuthClient) -> dict[str, object]:
    async with connection_to(service.dsn) as connection:
        every = await oauth.list_clients(connection, client.merchant_id)
    return next(described(each) for each in every if each.id == client.id)
