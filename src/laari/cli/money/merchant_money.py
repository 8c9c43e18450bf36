"""`laari merchant hold|release|adjust|bank`: money and bank accounts of merchants."""

from typing import Any

import click

from laari.cli.money.bank_accounts import options, show_or_add
from laari.cli.money.wallets import SignedAmount
from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, operation, submit
from laari.cli.terminal.permission import needs
from laari.process.open import Service
from laari.rules.banking.merchant_money import MoveFunds
from laari.rules.money import MAX_MONEY
from laari.store.merchants.merchants import tenant_of
from laari.store.postgres.pool import connection_to

_mode = click.option("--mode", type=fields.MODE, default="live", help="Mode of the balance.")
_reason = click.option("--reason", type=fields.reason, required=True, help="Kept with it.")
_amount = click.argument("laari", type=fields.integer(1, MAX_MONEY))


@click.command()
@click.argument("merchant_id")
@_amount
@_reason
@_mode
@operation
@needs("payouts.run")
async def hold(service: Service, /, **given: Any) -> dict[str, object]:
    """Hold a part of a merchant's balance.

    Payouts and refunds cannot use it.
    """
    return await _move(service, "hold", **given)


@click.command()
@click.argument("merchant_id")
@_amount
@_reason
@_mode
@operation
@needs("payouts.run")
async def release(service: Service, /, **given: Any) -> dict[str, object]:
    """Release held money of a merchant."""
    return await _move(service, "release", **given)


@click.command(cls=SignedAmount)
@click.argument("merchant_id")
@click.argument("laari", type=fields.integer(-MAX_MONEY, MAX_MONEY))
@_reason
@_mode
@click.option("--below-zero", is_flag=True, help="Allow a negative balance.")
@operation
@needs("payouts.run")
async def adjust(service: Service, /, **given: Any) -> dict[str, object]:
    """Correct a merchant's balance.

    Adds LAARI to the balance; a negative amount reduces it. Use --below-zero to allow a negative
    balance.
    """
    return await _move(service, "merchant_adjustment", **given)


@click.command()
@click.argument("merchant_id")
@_mode
@options
@operation
@needs("merchants.change")
async def bank(
    service: Service, /, merchant_id: str, mode: Any, **given: Any
) -> list[dict[str, object]]:
    """Show a merchant's bank accounts, or add one.

    The first one is used at once, a later one after 48 hours. Its owners get a notice.
    """
    async with connection_to(service.dsn) as connection:
        tenant = await tenant_of(connection, merchant_id, mode)
    return await show_or_add(service, tenant.id, **given)


async def _move(
    service: Service, kind: Any, merchant_id: str, laari: int, reason: str, mode: Any, **more: Any
) -> dict[str, object]:
    async with connection_to(service.dsn) as connection:
        tenant = await tenant_of(connection, merchant_id, mode)
    after = await submit(service, MoveFunds(tenant, actor(), kind, laari, reason, **more))
    return {"merchant_id": merchant_id, "mode": tenant.mode, **after._asdict()}


COMMANDS = (hold, release, adjust, bank)
