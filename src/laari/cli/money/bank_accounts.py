"""Bank accounts of merchants and customers, for the commands of both."""

from collections.abc import Callable
from typing import TypeVar

import click

from laari.cli.terminal.operation import actor, submit
from laari.cli.terminal.waiting import asked
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules.banking.bank_accounts import AddBankAccount
from laari.rules.calendar import show as show_time
from laari.rules.records import BankAccount, BankDetails, PendingMovement
from laari.store.postgres.pool import connection_to
from laari.store.reads.money import payouts

F = TypeVar("F", bound=Callable[..., object])


def options(command: F) -> F:
    """The fields of a new account."""
    for name, help in (
        ("--number", "Number of the account."),
        ("--bank", "Name of the bank."),
        ("--holder", "Name of the account's holder."),
    ):
        command = click.option(name, help=help)(command)
    return command


async def show_or_add(
    service: Service, owner: int, holder: str | None, bank: str | None, number: str | None
) -> list[dict[str, object]]:
    """All bank accounts of a tenant or a wallet, oldest first, with the new one if it is given."""
    if holder is not None and bank is not None and number is not None:
        command = AddBankAccount(actor(), owner, BankDetails(holder, bank, number))
        added = await submit(service, command)
        if isinstance(added, PendingMovement):
            await asked(service, added)
    elif (holder, bank, number) != (None, None, None):
        raise LaariError("use --holder, --bank and --number together")
    async with connection_to(service.dsn) as connection:
        found = (await payouts.bank_accounts(connection, [owner]))[owner]
    return [_shown(account) for account in found]


def _shown(account: BankAccount) -> dict[str, object]:
    return {
        "holder": account.holder,
        "bank": account.bank,
        "number": account.account_number,
        "effective_at": show_time(account.effective_at),
        "entered_by": account.entered_by,
    }
