"""`laari wallet`: history, top-ups, corrections and withdrawals."""

from inspect import cleandoc

import click

from laari.cli.money.bank_accounts import accounts_of, is_given
from laari.cli.terminal import fields
from laari.cli.terminal.declared import act, add_commands, optional, shown, subject_of
from laari.cli.terminal.operation import database_operation, operation
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.operations.operation import Shape
from laari.operations.wallets import ADD_BANK, ADJUST, TOP_UP, WALLET, WITHDRAW, transaction_shape
from laari.process.open import Service
from laari.store.postgres.pool import Connection
from laari.store.reads import holders, wallets

MOST_LISTED = 1_000


@click.group()
def wallet() -> None:
    """Customers' wallets: history, money in and out."""


@wallet.command()
@click.argument("account", type=fields.account)
@click.option(
    "--limit",
    type=fields.integer(1, MOST_LISTED),
    default=20,
    help=f"Number of transactions, up to {MOST_LISTED}.",
)
@click.option("--before", metavar="TID", help="Continue after this transaction.")
@database_operation
@needs("wallets.read")
async def history(
    connection: Connection, account: int, limit: int, before: str | None
) -> list[dict[str, object]]:
    """List a wallet's transactions, newest first, in laari."""
    if await holders.by_account(connection, account) is None:
        raise LaariError(f"no wallet has the account number {account}")
    found = await wallets.history(connection, account, before, limit)
    if found is None:
        raise LaariError(f"account {account} has no transaction {before!r}")
    return [transaction_shape(transaction) for transaction in found[0]]


@wallet.command(help=cleandoc(ADD_BANK.about))
@optional(ADD_BANK)
@operation
@needs(ADD_BANK.needs)
async def bank(service: Service, /, account: int, **given: str | None) -> list[Shape]:
    holder = await subject_of(service, WALLET, account=account)
    if is_given(given):
        added = await act(service, ADD_BANK, holder, given)
        await shown(service, ADD_BANK, holder, added)
    return await accounts_of(service, account)


add_commands(wallet, TOP_UP, ADJUST, WITHDRAW)
