"""`laari wallet`: history, top-ups, corrections and withdrawals."""

import re
from typing import Literal

import click
from msgspec.structs import asdict

from laari.cli.money.bank_accounts import options, show_or_add
from laari.cli.money.payout_lists import described as described_payout
from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, database_operation, operation, submit
from laari.cli.terminal.permission import needs
from laari.cli.terminal.waiting import move
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules.banking.wallet_money import MovedMoney, MoveMoney
from laari.rules.banking.withdrawals import RequestWithdrawal
from laari.rules.calendar import show as show_time
from laari.rules.money import MAX_MONEY
from laari.rules.records import Transaction
from laari.store.postgres.pool import Connection, connection_to
from laari.store.reads import holders, tenants, wallets

MOST_LISTED = 1_000
_NEGATIVE = re.compile(r"-[0-9]+", re.ASCII)


class SignedAmount(click.Command):
    """Accepts a negative amount, which looks like an option: it is moved behind `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with_value = {
            name
            for each in self.params
            if isinstance(each, click.Option) and not each.is_flag
            for name in each.opts
        }
        amounts = [
            place
            for place, (before, arg) in enumerate(zip(["", *args], args, strict=False))
            if _NEGATIVE.fullmatch(arg) and before not in with_value
        ]
        if amounts and "--" not in args:
            others = [arg for place, arg in enumerate(args) if place not in amounts]
            args = [*others, "--", *(args[place] for place in amounts)]
        return super().parse_args(ctx, args)


@click.group()
def wallet() -> None:
    """Customers' wallets: history, money in and out."""


@wallet.command(cls=SignedAmount)
@click.argument("account", type=fields.account)
@click.argument("laari", type=fields.integer(1, MAX_MONEY))
@click.option(
    "--slip",
    type=fields.slip,
    help="Reference of the bank transfer. If used again, shows its top-up and adds no money.",
)
@operation
@needs("wallets.move")
async def topup(service: Service, account: int, laari: int, slip: str | None) -> dict[str, object]:
    """Add money from outside to a wallet."""
    details = "Top-up by the operator" if slip is None else f"Bank transfer {slip}"
    return await _move(service, account, "topup", laari, details, slip=slip)


@wallet.command(cls=SignedAmount)
@click.argument("account", type=fields.account)
@click.argument("laari", type=fields.integer(-MAX_MONEY, MAX_MONEY))
@click.option("--reason", type=fields.reason, required=True, help="Shown in the wallet's history.")
@click.option("--below-zero", is_flag=True, help="Allow a negative balance.")
@operation
@needs("wallets.move")
async def adjust(
    service: Service, account: int, laari: int, reason: str, below_zero: bool
) -> dict[str, object]:
    """Correct a wallet's balance.

    Adds LAARI to the balance; a negative amount reduces it. Use --below-zero to allow a negative
    balance.
    """
    return await _move(service, account, "adjustment", laari, reason, below_zero=below_zero)


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
    return [described(transaction) for transaction in found[0]]


@wallet.command(cls=SignedAmount)
@click.argument("account", type=fields.account)
@click.argument("laari", type=fields.integer(1, MAX_MONEY))
@operation
@needs("wallets.move")
async def withdraw(service: Service, account: int, laari: int) -> dict[str, object]:
    """Send money of a live wallet to the customer's bank account.

    The next payout run takes it. Cancel it before that with `laari payout cancel`.
    """
    made = await submit(service, RequestWithdrawal(actor(), account, laari))
    return described_payout(made, None)


@wallet.command()
@click.argument("account", type=fields.account)
@options
@operation
@needs("wallets.move")
async def bank(service: Service, /, account: int, **given: str | None) -> list[dict[str, object]]:
    """Show a customer's bank accounts, or add one.

    It is used after 48 hours, and the customer gets a notice. With
    LAARI_SECOND_OPERATOR_ABOVE, another name than the customer's needs a second person.
    """
    async with connection_to(service.dsn) as connection:
        holder = await holders.by_account(connection, account)
    if holder is None or holder.mode != "live":
        raise LaariError(f"no live wallet has the account number {account}")
    return await show_or_add(service, account, **given)


async def _move(
    service: Service,
    account: int,
    kind: Literal["topup", "adjustment"],
    amount: int,
    details: str,
    *,
    slip: str | None = None,
    below_zero: bool = False,
) -> dict[str, object]:
    """Returns the transaction, the wallet's holder, and the balance before and after."""
    async with connection_to(service.dsn) as connection:
        tenant = await tenants.of_wallet(connection, account)
        holder = await holders.by_account(connection, account)

    async def done(made: MovedMoney) -> dict[str, object]:
        assert holder is not None  # or the command was refused
        return described(made.transaction) | {
            "slip": slip,
            "repeated": made.repeated,
            "holder": holder.name,
            "balance_before": made.before,
            "balance_after": made.after,
        }

    command = MoveMoney(
        actor(), tenant, account, kind, amount, details, slip=slip, below_zero=below_zero
    )
    return await move(service, command, done)


def described(transaction: Transaction) -> dict[str, object]:
    account, time = str(transaction.account), show_time(transaction.time)
    return asdict(transaction) | {"account": account, "time": time}
