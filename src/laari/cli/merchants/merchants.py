"""`laari merchant`: merchants and their secret keys."""

import os
from inspect import cleandoc

import click

from laari.cli.terminal import fields
from laari.cli.terminal.declared import act, add_commands, options_of, shown, subject_of
from laari.cli.terminal.operation import actor, database_operation, operation, submit
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.operations.applications import APPROVE
from laari.operations.merchants import (
    CANCEL_FEES,
    END_OLD_KEY,
    MERCHANT,
    PAUSE,
    RENAME,
    RESUME,
    ROTATE_KEY,
    SET_FEES,
    SET_LIMIT,
    UPDATE,
    fee_shapes,
)
from laari.operations.operation import Shape
from laari.process.open import Service
from laari.rules import ids
from laari.rules.calendar import show_or_none
from laari.rules.merchants.keys import OLD_KEY_WORKS
from laari.rules.merchants.new_merchants import CreateMerchant, MerchantDraft, NewOwner
from laari.rules.people.persons import NewLogin
from laari.rules.records.tenants import Mode
from laari.store.bank_statements import asking
from laari.store.merchants import merchants
from laari.store.merchants.merchants import described
from laari.store.people.passwords import hash_password, new_password
from laari.store.postgres.pool import Connection, connection_to
from laari.store.reads.money import balances


@click.group()
def merchant() -> None:
    """Merchants and their secret keys."""


@merchant.command()
@click.argument("name", type=fields.name)
@click.option("--mode", type=fields.MODE, default="sandbox", help="Mode of its credentials.")
@click.option("--fee-bps", type=fields.fee_bps, default=0, help="Fee in basis points.")
@click.option("--fee-fixed", type=fields.fee_fixed, default=0, help="Fixed fee in laari.")
@click.option("--webhook-url", help="Send events to this URL.")
@click.option("--email", type=fields.email, help="Create a dashboard login and print its password.")
@operation
@needs("merchants.change")
async def create(
    service: Service,
    name: str,
    mode: Mode,
    webhook_url: str | None,
    email: str | None,
    *,
    fee_bps: int,
    fee_fixed: int,
) -> dict[str, object]:
    """Create a merchant and print its secret key.

    The key is not shown again.
    """
    draft = MerchantDraft(name, mode, fee_bps, fee_fixed, (webhook_url or "").strip() or None)
    owner, password = None, new_password()
    if email is not None:
        login = NewLogin(hash_password(password), first_password=True)  # the operator knows it
        owner = NewOwner(email, login)
    merchant_id = ids.new_merchant_id(os.urandom)
    allow_private = service.settings.webhook_allow_private
    new = await submit(service, CreateMerchant(actor(), merchant_id, draft, owner, allow_private))
    shown = {**await _shown(service, merchant_id), "secret_key": new.secret_key}
    if email is not None:
        shown |= {"email": email, "password": password if new.password_hash else None}
    return shown


add_commands(merchant, UPDATE)


async def _shown(service: Service, merchant_id: str) -> dict[str, object]:
    async with connection_to(service.dsn) as connection:
        return described(await merchants.show(connection, merchant_id))


@merchant.command()
@click.argument("merchant_id")
@database_operation
@needs("merchants.read")
async def show(connection: Connection, merchant_id: str) -> dict[str, object]:
    """Show a merchant, with its balance in each mode in laari.

    After a rotation with an overlap, `old_key_until` is the end of the old key.
    """
    found = await merchants.show(connection, merchant_id)
    held = await balances.of_merchant(connection, merchant_id)
    return {
        **described(found),
        "old_key_until": show_or_none(found.old_key_until),
        "approved": found.has_live,
        "inactive_reason": found.inactive_reason,
        "balance": {mode: each and each.available for mode, each in held.items()},
    }


@merchant.command()
@click.argument("merchant_id")
@database_operation
@needs("merchants.read")
async def balance(connection: Connection, merchant_id: str) -> list[dict[str, object]]:
    """Show a merchant's money in each mode, in laari: available, held and in transit."""
    await merchants.show(connection, merchant_id)  # fails if there is none
    found = await balances.of_merchant(connection, merchant_id)
    return [
        {"mode": mode, **each._asdict(), "currency": "MVR"}
        for mode, each in found.items()
        if each is not None
    ]


@merchant.command()
@click.argument("merchant_id")
@operation
@needs("merchants.read")
async def fees(service: Service, merchant_id: str) -> list[Shape]:
    """List a merchant's fees: scheduled, present and past."""
    async with connection_to(service.dsn) as connection:
        await merchants.show(connection, merchant_id)  # raises an error if there is none
        return await fee_shapes(asking(connection), merchant_id)


@merchant.command("list")
@database_operation
@needs("merchants.read")
async def list_all(connection: Connection) -> list[dict[str, object]]:
    """List all merchants, oldest first."""
    return [described(found) for found in await merchants.every(connection)]


@merchant.command("rotate-key", help=cleandoc(ROTATE_KEY.about))
@options_of(ROTATE_KEY)
@operation
@needs(ROTATE_KEY.needs)
async def rotate_key(service: Service, merchant_id: str, overlap: int) -> object:
    found = await subject_of(service, MERCHANT, merchant_id=merchant_id)
    try:
        made = await act(service, ROTATE_KEY, found, {"overlap": overlap})
    except LaariError as error:
        if str(error) != OLD_KEY_WORKS.message:
            raise
        ways = f"Use `laari merchant end-old-key {merchant_id}`, or --overlap 0."
        raise LaariError(f"{error} {ways}") from None
    return await shown(service, ROTATE_KEY, found, made)


add_commands(
    merchant, RENAME, SET_LIMIT, SET_FEES, CANCEL_FEES, PAUSE, RESUME, END_OLD_KEY, APPROVE
)
