"""`laari customer`: people with a wallet."""

import re
from collections.abc import Callable
from typing import Any, get_args

import click

from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, operation, submit
from laari.cli.terminal.output import complain
from laari.cli.terminal.permission import needs
from laari.cli.terminal.secret_input import password_options, printed, refuse_weak_password
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules import ids
from laari.rules.calendar import show as show_time
from laari.rules.calendar import show_or_none
from laari.rules.command import Command
from laari.rules.money import MAX_MONEY
from laari.rules.operator import FreezeWallet, SetTier, UnfreezeWallet
from laari.rules.people.contacts import read_email, read_mobile, read_vpa
from laari.rules.records import Language, Mode
from laari.store.people import customers, notes
from laari.store.postgres.pool import connection_to
from laari.store.reads import holders
from laari.store.reads.holders import Holder

MOST_LISTED = 1_000
MOST_MATCHES = 100
_ACCOUNT = re.compile(r"[0-9]{1,18}", re.ASCII)


@click.group()
def customer() -> None:
    """Customers and their wallets."""


@customer.command()
@click.argument("name", type=fields.name)
@click.option("--mobile", type=fields.mobile, help="Seven digits, with or without +960.")
@click.option("--email", type=fields.email, help="For payment requests and the login.")
@click.option("--vpa", help="Virtual payment address, with or without its suffix.")
@click.option("--tier", default="basic", help="See `laari tier list`.")
@click.option("--mode", type=fields.MODE, default="live", help="Mode of the wallet.")
@click.option(
    "--balance", type=fields.integer(0, MAX_MONEY), default=0, help="Opening balance in laari."
)
@password_options
@operation
@needs("customers.change")
async def create(
    service: Service, /, vpa: str | None, mode: Mode, password: str | None, **values: Any
) -> dict[str, object]:
    """Create a customer with a wallet.

    Prints the API key and a generated password. They are not shown again.
    """
    address = None
    if vpa is not None:
        address = read_vpa(vpa, service.settings.vpa_suffixes)
        if address is None:
            raise LaariError(f"{vpa!r} is not a virtual payment address of this service")
    if password is not None and mode == "live":  # in the sandbox it protects no money
        refuse_weak_password(password)
    async with connection_to(service.dsn) as connection:
        new = await customers.create(
            connection,
            actor(),
            mode=mode,
            vpa=address,
            password=password,
            first_password=True,  # the operator knows it
            **values,
        )
    return {
        "customer_id": ids.show_id(ids.CUSTOMER, new.id),
        "account_number": str(new.account),
        "api_key": new.api_key,
        "password": printed(new.password),
        "mode": new.mode,
    }


@customer.command()
@click.argument("customer")
@operation
@needs("customers.read")
async def show(service: Service, customer: str) -> object:
    """Show a customer, the wallet and its freezes.

    CUSTOMER is a customer id, an account number, a mobile number, an email address, a virtual
    payment address or a name. If several customers match, this lists them. Amounts are in laari.
    """
    found = await _matching(service, customer)
    if len(found) > MOST_MATCHES:
        complain(f"more than {MOST_MATCHES} customers match {customer!r}: these are the newest")
    if len(found) > 1:
        return [described(holder) for holder in found[:MOST_MATCHES]]
    async with connection_to(service.dsn) as connection:
        freezes = await holders.freezes(connection, found[0].account)
    history = [
        {
            "time": show_time(each.time),
            "action": each.action,
            "reason": each.reason,
            "silent": each.silent,
        }
        for each in freezes
    ]
    return {**described(found[0]), "freezes": history}


@customer.command("list")
@click.option("--mode", type=fields.MODE, help="Only wallets in this mode.")
@click.option("--frozen", is_flag=True, help="Only frozen wallets.")
@click.option(
    "--limit",
    type=fields.integer(1, MOST_LISTED),
    default=100,
    help=f"Number of customers, up to {MOST_LISTED}.",
)
@click.option("--after", metavar="CUSTOMER", help="Continue after this customer (id or account).")
@operation
@needs("customers.read")
async def list_newest(
    service: Service, mode: Mode | None, frozen: bool, limit: int, after: str | None
) -> list[dict[str, object]]:
    """List customers with their wallets, newest first."""
    last = None if after is None else (await _find(service, after)).customer_id
    async with connection_to(service.dsn) as connection:
        found = await holders.newest(connection, limit, after=last, mode=mode, frozen=frozen)
    return [described(holder) for holder in found]


@customer.command("set-tier")
@click.argument("customer")
@click.argument("tier")
@click.option("--reason", type=fields.reason, help="Only operators see it.")
@operation
@needs("customers.change")
async def set_tier(
    service: Service, customer: str, tier: str, reason: str | None
) -> dict[str, object]:
    """Set the tier of a customer's wallet.

    CUSTOMER is an id or an account number. See `laari tier list` for the tiers.
    """
    return await _change(service, customer, lambda account: SetTier(actor(), account, tier, reason))


@customer.command("set-language")
@click.argument("customer")
@click.argument("language", type=click.Choice(get_args(Language)))
@operation
@needs("customers.change")
async def set_language(service: Service, customer: str, language: Language) -> dict[str, object]:
    """Set the language of messages to a customer.

    CUSTOMER is an id or an account number.
    """
    holder = await _find(service, customer)
    async with connection_to(service.dsn) as connection:
        await customers.set_language(connection, actor(), holder.customer_id, language)
    return described(await _find(service, customer))


@customer.command()
@click.argument("customer")
@click.option("--reason", type=fields.reason, required=True, help="Only operators see it.")
@click.option("--silent", is_flag=True, help="Do not name the freeze on the customer's pages.")
@click.option("--change", is_flag=True, help="Replace the reason and silence of a freeze.")
@operation
@needs("wallets.freeze")
async def freeze(
    service: Service, customer: str, reason: str, silent: bool, change: bool
) -> dict[str, object]:
    """Stop money from leaving a customer's wallet.

    Payments and charges are refused as if they exceeded the wallet's limits. Refunds and top-ups
    still arrive, and the customer can still log in and read. A second freeze for another reason
    is refused unless you use --change.
    """
    return await _change(
        service, customer, lambda account: FreezeWallet(actor(), account, reason, silent, change)
    )


@customer.command()
@click.argument("customer")
@click.option("--reason", type=fields.reason, help="Only operators see it.")
@operation
@needs("wallets.freeze")
async def unfreeze(service: Service, customer: str, reason: str | None) -> dict[str, object]:
    """Let money leave a frozen wallet again."""
    return await _change(
        service, customer, lambda account: UnfreezeWallet(actor(), account, reason)
    )


@customer.command()
@click.argument("customer")
@click.argument("text", required=False, type=fields.text(notes.LONGEST))
@operation
@needs("customers.read")
async def note(service: Service, customer: str, text: str | None) -> list[dict[str, object]]:
    """Add a note about a customer and list all notes.

    Without TEXT, this lists them. Only operators see notes, and nobody can change them.
    """
    holder = await _find(service, customer)
    async with connection_to(service.dsn) as connection:
        if text is not None:
            await notes.add(connection, actor(), holder.customer_id, text)
        found = await notes.of_customer(connection, holder.customer_id, MOST_LISTED)
    return [
        {"time": show_time(each.time), "author": each.author, "text": each.text} for each in found
    ]


async def _change(
    service: Service, written: str, command: Callable[[int], Command[Any]]
) -> dict[str, object]:
    """Submits a command for the customer's account; returns the customer after it."""
    holder = await _find(service, written)
    await submit(service, command(holder.account))
    return described(await _find(service, written))


async def _matching(service: Service, written: str) -> list[Holder]:
    """Returns the customers that match in any way: at least one, at most one too many."""
    if ids.read_id(ids.CUSTOMER, written) is not None:
        return [await _find(service, written)]
    text = written.strip()
    async with connection_to(service.dsn) as connection:
        exact = await holders.with_contact(
            connection,
            account=int(text) if _ACCOUNT.fullmatch(text) else None,
            mobile=read_mobile(text),
            email=read_email(text),
            vpa=read_vpa(text, service.settings.vpa_suffixes),
        )
        named = await holders.named(connection, text, MOST_MATCHES + 1)
    exact += [each for each in named if each.name.lower() == text.lower()]
    found = list({each.customer_id: each for each in exact or named}.values())
    found.sort(key=lambda each: each.customer_id, reverse=True)
    if not found:
        raise LaariError(f"no customer has the id, account number, contact or name {written!r}")
    return found


async def _find(service: Service, written: str) -> Holder:
    found = None
    async with connection_to(service.dsn) as connection:
        customer_id = ids.read_id(ids.CUSTOMER, written)
        if customer_id is not None:
            found = await holders.by_customer(connection, customer_id)
        elif _ACCOUNT.fullmatch(written):
            found = await holders.by_account(connection, int(written))
    if found is None:
        raise LaariError(f"no customer has the id or account number {written!r}")
    return found


def described(holder: Holder) -> dict[str, object]:
    return {
        "customer_id": ids.show_id(ids.CUSTOMER, holder.customer_id),
        "account_number": str(holder.account),
        "name": holder.name,
        "mode": holder.mode,
        "tier": holder.tier,
        "balance": holder.balance,
        "frozen": holder.frozen_at is not None,
        "frozen_at": show_or_none(holder.frozen_at),
        "frozen_reason": holder.frozen_reason,
        "frozen_silently": holder.frozen_silently,
        "mobile": holder.mobile,
        "email": holder.email,
        "vpa": holder.vpa,
        "language": holder.language,
        "merchant_id": holder.merchant_id,
        "created_at": show_time(holder.created_at),
    }
