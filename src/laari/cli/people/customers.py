"""`laari customer`: people with a wallet."""

import os
import re
from datetime import UTC, datetime
from inspect import cleandoc
from typing import get_args

import click

from laari.cli.terminal import fields
from laari.cli.terminal.declared import act, add_commands, optional, subject_of
from laari.cli.terminal.operation import actor, operation, submit
from laari.cli.terminal.output import complain
from laari.cli.terminal.permission import needs
from laari.cli.terminal.secret_input import password_options, printed, refuse_weak_password
from laari.errors import LaariError
from laari.operations.customers import (
    CUSTOMER,
    END_DEVICES,
    END_PASSKEYS,
    END_TRUST,
    FREEZE,
    NOTE,
    SET_TIER,
    UNFREEZE,
    described,
    note_shapes,
)
from laari.operations.operation import Shape
from laari.process.open import Service
from laari.rules import ids
from laari.rules.banking.wallet_money import CreateCustomer
from laari.rules.calendar import show as show_time
from laari.rules.money import MAX_MONEY
from laari.rules.people.contacts import read_email, read_mobile, read_vpa
from laari.rules.people.customers import SetLanguage
from laari.rules.people.new_customers import CustomerDraft
from laari.rules.records.messages import Language
from laari.rules.records.tenants import Mode
from laari.store.bank_statements import asking
from laari.store.people.passwords import hash_password, new_password
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
    service: Service,
    /,
    name: str,
    mode: Mode,
    vpa: str | None,
    tier: str,
    *,
    balance: int,
    password: str | None,
    **contacts: str | None,  # mobile, email
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
    password = password or new_password()
    draft = CustomerDraft(
        name=name,
        mode=mode,
        mobile=contacts["mobile"],
        email=contacts["email"],
        vpa=address,
        password_hash=hash_password(password),
        password_first=True,  # the operator knows it
    )
    new_id = ids.new_id(datetime.now(UTC), os.urandom)
    new = await submit(service, CreateCustomer(actor(), new_id, draft, tier, balance))
    return {
        "customer_id": ids.show_id(ids.CUSTOMER, new.id),
        "account_number": str(new.account),
        "api_key": new.api_key,
        "password": printed(password),
        "mode": mode,
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
            "by": by,
        }
        for each, by in freezes
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
    last = (
        None if after is None else (await subject_of(service, CUSTOMER, customer=after)).customer_id
    )
    async with connection_to(service.dsn) as connection:
        found = await holders.newest(connection, limit, after=last, mode=mode, frozen=frozen)
    return [described(holder) for holder in found]


@customer.command("set-language")
@click.argument("customer")
@click.argument("language", type=click.Choice(get_args(Language)))
@operation
@needs("customers.change")
async def set_language(service: Service, customer: str, language: Language) -> dict[str, object]:
    """Set the language of messages to a customer.

    CUSTOMER is an id or an account number.
    """
    holder = await subject_of(service, CUSTOMER, customer=customer)
    await submit(service, SetLanguage(actor(), holder.customer_id, language))
    return described(await subject_of(service, CUSTOMER, customer=customer))


@customer.command(help=cleandoc(NOTE.about))
@optional(NOTE)
@operation
@needs(NOTE.needs)
async def note(service: Service, customer: str, note: str | None) -> list[Shape]:
    holder = await subject_of(service, CUSTOMER, customer=customer)
    if note is not None:
        await act(service, NOTE, holder, {"note": note})
    async with connection_to(service.dsn) as connection:
        return await note_shapes(asking(connection), holder)


async def _matching(service: Service, written: str) -> list[Holder]:
    """Returns the customers that match in any way: at least one, at most one too many."""
    if ids.read_id(ids.CUSTOMER, written) is not None:
        return [await subject_of(service, CUSTOMER, customer=written)]
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


add_commands(customer, SET_TIER, FREEZE, UNFREEZE, END_PASSKEYS, END_DEVICES, END_TRUST)
