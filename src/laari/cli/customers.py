"""`laari customer`: people with a wallet."""

from __future__ import annotations

from typing import Any

import click

from laari.cli import fields
from laari.cli.open import Service
from laari.cli.operation import operation
from laari.errors import LaariError
from laari.rules import ids
from laari.rules.contacts import read_vpa
from laari.rules.money import MAX_MONEY
from laari.rules.records import Mode
from laari.store import customers
from laari.store.database import connection_to


@click.group()
def customer() -> None:
    """Customers and their wallets."""


@customer.command()
@click.argument("name", type=fields.name)
@click.option("--mobile", type=fields.mobile, help="Seven digits, with or without +960.")
@click.option("--email", type=fields.email, help="To be found and to log in by.")
@click.option("--vpa", help="Virtual payment address, with or without its suffix.")
@click.option("--tier", default="basic", show_default=True, help="See: laari tier list.")
@click.option(
    *("--mode", "mode"),
    type=fields.MODE,
    default="live",
    show_default=True,
    help="Which mode the wallet is in.",
)
@click.option(
    "--balance", type=fields.integer(0, MAX_MONEY), default=0, help="Opening balance in laari."
)
@click.option("--password", type=fields.password, help="Generated where it is not given.")
@operation
async def create(
    service: Service,
    name: str,
    mobile: str | None,
    email: str | None,
    vpa: str | None,
    tier: str,
    mode: Mode,
    balance: int,
    password: str | None,
) -> dict[str, Any]:
    """Make a customer with a wallet.

    Its API key and its password are shown only now.
    """
    address = None
    if vpa is not None:
        address = read_vpa(vpa, service.settings.vpa_suffixes)
        if address is None:
            raise LaariError(f"{vpa!r} is not a virtual payment address of this service")
    async with connection_to(service.dsn) as connection:
        new = await customers.create(
            connection,
            name=name,
            mode=mode,
            tier=tier,
            mobile=mobile,
            email=email,
            vpa=address,
            balance=balance,
            password=password,
        )
    return {
        "customer_id": ids.show_id(ids.CUSTOMER, new.id),
        "account_number": str(new.account),
        "api_key": new.api_key,
        "password": new.password,
        "mode": new.mode,
    }
