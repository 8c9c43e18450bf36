"""`laari merchant hold|release|adjust|bank`: money and bank accounts of merchants."""

from typing import Literal

import click

from laari.cli.money.bank_accounts import options, show_or_add
from laari.cli.money.wallets import SignedAmount
from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, operation
from laari.cli.terminal.permission import needs
from laari.cli.terminal.waiting import move
from laari.process.open import Service
from laari.rules.banking.merchant_money import Funds, MoveFunds
from laari.rules.money import MAX_MONEY
from laari.rules.records import Mode
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
async def hold(
    service: Service, merchant_id: str, laari: int, reason: str, mode: Mode
) -> dict[str, object]:
    """Hold a part of a merchant's balance.

    Payouts and refunds cannot use it.
    """
    return await _move(service, "hold", merchant_id, laari, reason, mode=mode)


@click.command()
@click.argument("merchant_id")
@_amount
@_reason
@_mode
@operation
@needs("payouts.run")
async def release(
    service: Service, merchant_id: str, laari: int, reason: str, mode: Mode
) -> dict[str, object]:
    """Release held money of a merchant."""
    return await _move(service, "release", merchant_id, laari, reason, mode=mode)


@click.command(cls=SignedAmount)
@click.argument("merchant_id")
@click.argument("laari", type=fields.integer(-MAX_MONEY, MAX_MONEY))
@_reason
@_mode
@click.option("--below-zero", is_flag=True, help="Allow a negative balance.")
@operation
@needs("payouts.run")
async def adjust(
    service: Service, *, merchant_id: str, laari: int, reason: str, mode: Mode, below_zero: bool
) -> dict[str, object]:
    """Correct a merchant's balance.

    Adds LAARI to the balance; a negative amount reduces it. Use --below-zero to allow a negative
    balance.
    """
    return await _move(
        service,
        "merchant_adjustment",
        merchant_id,
        laari,
        reason,
        mode=mode,
        below_zero=below_zero,
    )


@click.command()
@click.argument("merchant_id")
@_mode
@options
@operation
@needs("merchants.change")
async def bank(
    service: Service, /, merchant_id: str, mode: Mode, **given: str | None
) -> list[dict[str, object]]:
    """Show a merchant's bank accounts, or add one.

    It is used after 48 hours. Its owners get a notice.
    """
    async with connection_to(service.dsn) as connection:
        tenant = await tenant_of(connection, merchant_id, mode)
    return await show_or_add(service, tenant.id, **given)


async def _move(
    service: Service,
    kind: Literal["hold", "release", "merchant_adjustment"],
    merchant_id: str,
    laari: int,
    reason: str,
    *,
    mode: Mode,
    below_zero: bool = False,
) -> dict[str, object]:
    async with connection_to(service.dsn) as connection:
        tenant = await tenant_of(connection, merchant_id, mode)

    async def done(after: Funds) -> dict[str, object]:
        return {"merchant_id": merchant_id, "mode": tenant.mode, **after._asdict()}

    command = MoveFunds(tenant.id, actor(), kind, laari, reason, below_zero)
    return await move(service, command, done)


COMMANDS = (hold, release, adjust, bank)
