"""`laari wallet`: money that comes from outside the books, and corrections."""

from __future__ import annotations

import re
from typing import Any, Literal

import click

from laari.cli import fields
from laari.cli.open import Service
from laari.cli.operation import operation, submit
from laari.rules.calendar import show as show_time
from laari.rules.money import MAX_MONEY
from laari.rules.records import Transaction
from laari.rules.wallets import MoveMoney
from laari.store import tenants
from laari.store.database import connection_to

_NEGATIVE = re.compile(r"-[0-9]+", re.ASCII)


class SignedAmount(click.Command):
    """A command whose last argument may be negative: a minus and digits name no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        values = {i + 1 for i, arg in enumerate(args) if arg == "--reason"}
        amounts = [
            arg for i, arg in enumerate(args) if _NEGATIVE.fullmatch(arg) and i not in values
        ]
        if amounts and "--" not in args:
            rest = [
                arg for i, arg in enumerate(args) if i in values or not _NEGATIVE.fullmatch(arg)
            ]
            args = [*rest, "--", *amounts]
        return super().parse_args(ctx, args)


@click.group()
def wallet() -> None:
    """Top-ups and corrections of customers' wallets."""


@wallet.command(cls=SignedAmount)
@click.argument("account", type=fields.account)
@click.argument("laari", type=fields.integer(1, MAX_MONEY))
@operation
async def topup(service: Service, account: int, laari: int) -> dict[str, Any]:
    """Bring money into a wallet from outside."""
    return await _move(service, account, "topup", laari, "Top-up by the operator")


@wallet.command(cls=SignedAmount)
@click.argument("account", type=fields.account)
@click.argument("laari", type=fields.integer(-MAX_MONEY, MAX_MONEY))
@click.option("--reason", type=fields.reason, required=True, help="Shown in the wallet's history.")
@operation
async def adjust(service: Service, account: int, laari: int, reason: str) -> dict[str, Any]:
    """Correct a wallet's balance.

    LAARI is added, or taken away where it is negative.
    """
    return await _move(service, account, "adjustment", laari, reason)


async def _move(
    service: Service, account: int, kind: Literal["topup", "adjustment"], laari: int, details: str
) -> dict[str, Any]:
    async with connection_to(service.dsn) as connection:
        tenant = await tenants.of_wallet(connection, account)
    made = await submit(service, MoveMoney(tenant, account, kind, laari, details))
    return described(made)


def described(transaction: Transaction) -> dict[str, Any]:
    return {
        "tid": transaction.tid,
        "account": str(transaction.account),
        "time": show_time(transaction.time),
        "type": transaction.type,
        "name": transaction.name,
        "details": transaction.details,
        "amount": transaction.amount,
        "status": transaction.status,
    }
