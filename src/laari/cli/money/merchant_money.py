"""`laari merchant hold|release|adjust|bank`: money and bank accounts of merchants."""

import click

from laari.cli.money.bank_accounts import accounts_of, is_given
from laari.cli.terminal import fields
from laari.cli.terminal.declared import add_commands, optional
from laari.cli.terminal.operation import actor, operation, submit
from laari.cli.terminal.permission import needs
from laari.operations.merchant_money import CORRECT, HOLD, RELEASE
from laari.operations.operation import Shape
from laari.operations.wallets import ADD_BANK
from laari.process.open import Service
from laari.rules.banking.bank_accounts import AddBankAccount, read_details
from laari.rules.records.tenants import Mode
from laari.store.merchants.merchants import tenant_of
from laari.store.postgres.pool import connection_to

_mode = click.option("--mode", type=fields.MODE, default="live", help="Mode of the balance.")


@click.command()
@click.argument("merchant_id")
@_mode
@optional(ADD_BANK)
@operation
@needs("merchants.change")
async def bank(
    service: Service, /, merchant_id: str, mode: Mode, **given: str | None
) -> list[Shape]:
    """Show a merchant's bank accounts, or add one.

    It is used after 48 hours. Its owners get a notice.
    """
    async with connection_to(service.dsn) as connection:
        tenant = await tenant_of(connection, merchant_id, mode)
    if is_given(given):
        await submit(service, AddBankAccount(actor(), tenant.id, read_details(**given)))
    return await accounts_of(service, tenant.id)


def add_to(merchant: click.Group) -> None:
    add_commands(merchant, HOLD, RELEASE, CORRECT)
    merchant.add_command(bank)
