"""`laari merchant`: merchants and their secret keys."""

from typing import Literal

import click

from laari.cli.terminal import fields
from laari.cli.terminal.operation import operation
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules.records import Mode
from laari.rules.webhooks import check_webhook_url
from laari.store.people import merchants
from laari.store.people.merchants import described
from laari.store.postgres.pool import connection_to
from laari.store.reads.figures import balances


@click.group()
def merchant() -> None:
    """Merchants and their secret keys."""


def _vetted(service: Service, url: str | None) -> str | None:
    """The URL, if webhooks may go there; empty text, which removes one, stays as it is."""
    url = url and url.strip()
    if url:
        refusal = check_webhook_url(url, service.settings.webhook_allow_private)
        if refusal is not None:
            raise LaariError(refusal.message)
    return url


@merchant.command()
@click.argument("name", type=fields.name)
@click.option(
    *("--mode", "mode"),
    type=fields.MODE,
    default="sandbox",
    show_default=True,
    help="Which mode its credentials act in.",
)
@click.option("--fee-bps", type=fields.fee_bps, default=0, help="Fee in basis points.")
@click.option("--fee-fixed", type=fields.fee_fixed, default=0, help="Fixed fee in laari.")
@click.option("--webhook-url", help="Where events are sent.")
@click.option("--email", type=fields.email, help="Make a dashboard login; prints its password.")
@operation
async def create(
    service: Service,
    name: str,
    mode: Mode,
    fee_bps: int,
    fee_fixed: int,
    webhook_url: str | None,
    email: str | None,
) -> dict[str, object]:
    """Make a merchant; its secret key is shown only now."""
    webhook_url = _vetted(service, webhook_url) or None
    async with connection_to(service.dsn) as connection:
        new = await merchants.create(
            connection,
            service.master_key,
            name=name,
            mode=mode,
            fee_bps=fee_bps,
            fee_fixed=fee_fixed,
            webhook_url=webhook_url,
            email=email,
            first_password=True,  # an operator knows it
        )
    login = {} if email is None else {"email": email, "password": new.password}
    return {**described(new.merchant), "secret_key": new.secret_key, **login}


@merchant.command()
@click.argument("merchant_id")
@click.option("--mode", type=fields.MODE, help="Which mode its credentials act in.")
@click.option("--active/--inactive", default=None, help="Whether its credentials work.")
@click.option("--webhook-url", help="Where events are sent; empty removes it.")
@click.option("--webhooks", type=click.Choice(["on", "off"]), help="Whether events are sent.")
@click.option("--fee-bps", type=fields.fee_bps, help="Fee in basis points.")
@click.option("--fee-fixed", type=fields.fee_fixed, help="Fixed fee in laari.")
@operation
async def update(
    service: Service,
    merchant_id: str,
    mode: Mode | None,
    active: bool | None,
    webhook_url: str | None,
    webhooks: Literal["on", "off"] | None,
    fee_bps: int | None,
    fee_fixed: int | None,
) -> dict[str, object]:
    """Change what is given and leave the rest."""
    webhook_url = _vetted(service, webhook_url)
    async with connection_to(service.dsn) as connection:
        changed = await merchants.update(
            connection,
            merchant_id,
            mode=mode,
            active=active,
            webhook_url=webhook_url,
            webhooks=None if webhooks is None else webhooks == "on",
            fee_bps=fee_bps,
            fee_fixed=fee_fixed,
        )
    return described(changed)


@merchant.command()
@click.argument("merchant_id")
@operation
async def show(service: Service, merchant_id: str) -> dict[str, object]:
    """Show one merchant, and its balance in laari in each mode."""
    async with connection_to(service.dsn) as connection:
        found = described(await merchants.show(connection, merchant_id))
        return {**found, "balance": await balances(connection, merchant_id)}


@merchant.command("list")
@operation
async def list_all(service: Service) -> list[dict[str, object]]:
    """List all merchants, the oldest first."""
    async with connection_to(service.dsn) as connection:
        return [described(found) for found in await merchants.every(connection)]


@merchant.command("rotate-key")
@click.argument("merchant_id")
@operation
async def rotate_key(service: Service, merchant_id: str) -> dict[str, object]:
    """Give a merchant a new secret key.

    The old one stops working at once.
    """
    async with connection_to(service.dsn) as connection:
        found, secret_key = await merchants.rotate_key(connection, service.master_key, merchant_id)
    return {**described(found), "secret_key": secret_key}
