"""`laari merchant`: merchants and their secret keys."""

import os
from datetime import date, timedelta
from typing import Any, Literal
from uuid import UUID

import click

from laari.cli.terminal import fields
from laari.cli.terminal.declared import add_commands
from laari.cli.terminal.operation import actor, database_operation, deciding, operation, submit
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.operations.merchants import RENAME
from laari.process.open import Service
from laari.rules import ids, terms
from laari.rules.calendar import show as show_time
from laari.rules.calendar import show_or_none, start_of
from laari.rules.merchants.applications import ApproveMerchant, LiveTerms
from laari.rules.merchants.fees import SetFees
from laari.rules.merchants.keys import OLD_KEY_WORKS, EndOldKey, RotateKey
from laari.rules.merchants.new_merchants import CreateMerchant, MerchantDraft, NewOwner
from laari.rules.merchants.settings import Changes, SetLimit, UpdateMerchant
from laari.rules.money import MAX_MONEY, MAX_PAYMENT_AMOUNT
from laari.rules.people.persons import NewLogin
from laari.rules.records.tenants import Mode
from laari.rules.refusals import Refusal
from laari.rules.webhooks import check_webhook_url
from laari.store.merchants import merchants
from laari.store.merchants.merchants import described
from laari.store.people.passwords import hash_password, new_password
from laari.store.postgres.pool import Connection, connection_to
from laari.store.reads import fees as fee_terms
from laari.store.reads.money import balances

_max_payment = fields.integer(1, MAX_PAYMENT_AMOUNT)


@click.group()
def merchant() -> None:
    """Merchants and their secret keys."""


def _vetted(service: Service, url: str | None) -> str | None:
    """Returns the URL if webhooks may go there. Empty text removes the URL."""
    url = url and url.strip()
    if url:
        refusal = check_webhook_url(url, service.settings.webhook_allow_private)
        if refusal is not None:
            raise LaariError(refusal.message)
    return url


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
    webhook_url = _vetted(service, webhook_url) or None
    draft = MerchantDraft(name, mode, fee_bps, fee_fixed, webhook_url)
    owner, password = None, new_password()
    if email is not None:
        login = NewLogin(hash_password(password), first_password=True)  # the operator knows it
        owner = NewOwner(email, login)
    merchant_id = ids.new_merchant_id(os.urandom)
    new = await submit(service, CreateMerchant(actor(), merchant_id, draft, owner))
    shown = {**await _shown(service, merchant_id), "secret_key": new.secret_key}
    if email is not None:
        shown |= {"email": email, "password": password if new.has_new_password else None}
    return shown


@merchant.command()
@click.argument("merchant_id")
@click.option("--mode", type=fields.MODE, help="Mode of its credentials.")
@click.option("--active/--inactive", default=None, help="Accept or refuse its credentials.")
@click.option("--webhook-url", help="Send events to this URL; '' removes it.")
@click.option("--webhooks", type=click.Choice(["on", "off"]), help="Send events or not.")
@click.option("--fee-bps", type=fields.fee_bps, help="Fee in basis points.")
@click.option("--fee-fixed", type=fields.fee_fixed, help="Fixed fee in laari.")
@click.option("--reason", type=fields.reason, help="With --inactive: shown to the merchant.")
@operation
@needs("merchants.change")
async def update(
    service: Service,
    /,
    merchant_id: str,
    webhook_url: str | None,
    webhooks: Literal["on", "off"] | None,
    reason: str | None,
    **changes: Any,
) -> dict[str, object]:
    """Change a merchant; omitted options stay as they are.

    --mode live approves a merchant that signed up.
    """
    given = Changes(
        webhook_url=_vetted(service, webhook_url),
        webhooks_enabled=None if webhooks is None else webhooks == "on",
        inactive_reason=reason,
        **changes,
    )
    if given.mode == "live":
        async with connection_to(service.dsn) as connection:
            found = await merchants.show(connection, merchant_id)
        if not found.has_live:
            await submit(service, ApproveMerchant(actor(), merchant_id))
    allow_private = service.settings.webhook_allow_private
    await submit(service, UpdateMerchant(actor(), merchant_id, given, allow_private))
    return await _shown(service, merchant_id)


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
@click.option("--reason", type=fields.text(500), help="Shown to the merchant.")
@click.option("--max-payment", type=_max_payment, help="Largest payment in laari.")
@click.option(
    "--minimum", type=fields.integer(1, MAX_MONEY), default=1, help="Smallest payout in laari."
)
@click.option(
    "--hold", type=fields.reason, metavar="REASON", help="Pay out nothing; shown to the merchant."
)
@click.option("--fee-bps", type=fields.fee_bps, help="Fee in basis points; default: as it is.")
@click.option("--fee-fixed", type=fields.fee_fixed, help="Fixed fee in laari; default: as it is.")
@click.option(
    "--application",
    "application_id",
    type=fields.id_of(ids.APPLICATION, "an application's id"),
    help="Only if this application is open.",
)
@operation
@needs("merchants.approve")
async def approve(
    service: Service,
    /,
    merchant_id: str,
    reason: str | None,
    application_id: UUID | None,
    **terms: Any,
) -> dict[str, object]:
    """Let a merchant that signed up go live.

    Its own people choose the mode of the credentials then. An open application ends as approved,
    and payouts go to its bank account. `laari payout terms` ends a hold.
    """
    live_terms = LiveTerms(**terms)
    await submit(service, ApproveMerchant(actor(), merchant_id, live_terms, reason, application_id))
    return {**await _shown(service, merchant_id), "approved": True}


@merchant.command("set-limit")
@click.argument("merchant_id")
@click.option("--max-payment", type=_max_payment, help="In laari; omit it for no limit.")
@click.option("--mode", type=fields.MODE, default="live", help="Mode of the limit.")
@click.option("--reason", type=fields.reason, help="Only operators see it.")
@operation
@needs("merchants.change")
async def set_limit(
    service: Service,
    merchant_id: str,
    max_payment: int | None,
    mode: Mode,
    reason: str | None,
) -> dict[str, object]:
    """Limit the amount of a merchant's payments.

    This applies to new payments, requests and charges.
    """
    async with connection_to(service.dsn) as connection:
        tenant = await merchants.tenant_of(connection, merchant_id, mode)
    await submit(service, SetLimit(actor(), tenant.id, max_payment, reason))
    return {"merchant_id": merchant_id, "mode": mode, "max_payment": max_payment}


@merchant.command("set-fees")
@click.argument("merchant_id")
@click.option("--bps", type=fields.fee_bps, required=True, help="Fee in basis points.")
@click.option("--fixed", type=fields.fee_fixed, required=True, help="Fixed fee in laari.")
@click.option("--from", "first", type=fields.day, help="First Maldivian day; default: now.")
@click.option("--reason", type=fields.reason, help="Only operators see it.")
@operation
@needs("fees.change")
async def set_fees(
    service: Service,
    merchant_id: str,
    bps: int,
    fixed: int,
    first: date | None,
    *,
    reason: str | None,
) -> list[dict[str, object]]:
    """Change a merchant's fees now, or from a day on."""
    starts_at = None if first is None else start_of(first)
    command = SetFees(actor(), merchant_id, bps, fixed, starts_at=starts_at, reason=reason)
    await submit(service, command)
    return await _fees(service, merchant_id)


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
async def fees(service: Service, merchant_id: str) -> list[dict[str, object]]:
    """List a merchant's fees: scheduled, present and past."""
    return await _fees(service, merchant_id)


async def _fees(service: Service, merchant_id: str) -> list[dict[str, object]]:
    async with connection_to(service.dsn) as connection:
        await merchants.show(connection, merchant_id)  # raises an error if there is none
        found = await fee_terms.terms_of(connection, merchant_id)
    return [
        {
            "since": show_time(each.since),
            "fee_bps": each.fee_bps,
            "fee_fixed": each.fee_fixed,
            "scheduled": each.is_scheduled,
        }
        for each in found
    ]


@merchant.command("list")
@database_operation
@needs("merchants.read")
async def list_all(connection: Connection) -> list[dict[str, object]]:
    """List all merchants, oldest first."""
    return [described(found) for found in await merchants.every(connection)]


async def _with_old_key(service: Service, merchant_id: str) -> dict[str, object]:
    async with connection_to(service.dsn) as connection:
        found = await merchants.show(connection, merchant_id)
    return {**described(found), "old_key_until": show_or_none(found.old_key_until)}


@merchant.command("rotate-key")
@click.argument("merchant_id")
@click.option(
    "--overlap",
    type=fields.integer(0, terms.OLD_KEY_LONGEST_HOURS),
    default=0,
    show_default=True,
    metavar="HOURS",
    help="Time until the old key stops working; at most 168 (7 days).",
)
@operation
@needs("keys.manage")
async def rotate_key(service: Service, merchant_id: str, overlap: int) -> dict[str, object]:
    """Replace a merchant's secret key.

    Both keys work until the overlap ends. Webhooks are signed with the old key until then, and with
    the new key from then on.

    With --overlap 0 all earlier keys stop working at once, also the old key of a running overlap.
    Use it if a key is stolen.
    """
    async with deciding(service) as decide:
        new = await decide(RotateKey(actor(), merchant_id, timedelta(hours=overlap)))
    if isinstance(new, Refusal):
        ways = f" Use `laari merchant end-old-key {merchant_id}`, or --overlap 0."
        raise LaariError(new.message + (ways if new == OLD_KEY_WORKS else ""))
    return {**await _with_old_key(service, merchant_id), "secret_key": new.secret_key}


@merchant.command("end-old-key")
@click.argument("merchant_id")
@operation
@needs("keys.manage")
async def end_old_key(service: Service, merchant_id: str) -> dict[str, object]:
    """End the old key of a rotation now.

    Webhooks are signed with the new key from now on.
    """
    await submit(service, EndOldKey(actor(), merchant_id))
    return await _with_old_key(service, merchant_id)


add_commands(merchant, RENAME)
