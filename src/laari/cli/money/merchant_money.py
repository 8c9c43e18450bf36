"""`laari merchant hold|release|adjust|bank`: money and bank accounts of merchants."""

from inspect import cleandoc

import click

from laari.cli.money.bank_accounts import accounts_of, is_given
from laari.cli.terminal.declared import act, add_commands, optional, subject_of
from laari.cli.terminal.operation import operation
from laari.cli.terminal.permission import needs
from laari.operations.merchant_money import ADD_BANK, CORRECT, HOLD, RELEASE
from laari.operations.merchants import TENANT
from laari.operations.operation import Shape
from laari.process.open import Service
from laari.rules.records.tenants import Mode


@click.command(help=cleandoc(ADD_BANK.about))
@optional(ADD_BANK)
@operation
@needs(ADD_BANK.needs)
async def bank(service: Service, /, merchant: str, mode: Mode, **given: str | None) -> list[Shape]:
    tenant = await subject_of(service, TENANT, merchant=merchant, mode=mode)
    if is_given(given):
        await act(service, ADD_BANK, tenant, given)
    return await accounts_of(service, tenant.id)


def add_to(merchant: click.Group) -> None:
    add_commands(merchant, HOLD, RELEASE, CORRECT)
    merchant.add_command(bank)
