"""`laari customer`: people with a wallet."""

import re

import click

from laari.cli.terminal import fields
from laari.cli.terminal.operation import operation, submit
from laari.cli.terminal.output import complain
from laari.cli.terminal.secret_input import printed, refuse_weak_password, secret_options
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules import ids
from laari.rules.calendar import show as show_time
from laari.rules.calendar import show_or_none
from laari.rules.contacts import read_email, read_mobile, read_vpa
from laari.rules.money import MAX_MONEY
from laari.rules.operator import OPERATOR, FreezeWallet, SetTier, UnfreezeWallet
from laari.rules.records import Mode
from laari.store.people import customers
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
@click.option("--email", type=fields.email, help="To be found and to log in by.")
@click.option("--vpa", help="Virtual payment address, with or without its suffix.")
@click.option("--tier", default="basic", show_default=True, help="See: laari tier list.")
@click.option(
    *("--mode", "mode"),
    type=fields.MODE,
    default="live",
    show_default=True,
    help="Which mode the wallet is in. A sandbox customer pays sandbox merchants only.",
)
@click.option(
    "--balance", type=fields.integer(0, MAX_MONEY), default=0, help="Opening balance in laari."
)
@secret_options("password", "Generated where it is not given", fields.password, twice=True)
@operation
async def create(
    service: Service,
    name: str,
    mobile: str | None,
    email: str | None,
    vpa: str | None,
    tier: str,
    mode: Mode,
    balance: int,
    password: str | None,
) -> dict[str, object]:
    """Make a customer with a wallet.

    Its API key is shown only now, and so is a password that you did not type in or keep in a file.
    """
    address = None
    if vpa is not None:
        address = read_vpa(vpa, service.settings.vpa_suffixes)
        if address is None:
            raise LaariError(f"{vpa!r} is not a virtual payment address of this service")
    if password is not None and mode == "live":  # in the sandbox it guards nobody's money
        refuse_weak_password(password)
    async with connection_to(service.dsn) as connection:
        new = await customers.create(
            connection,
            name=name,
            mode=mode,
            tier=tier,
            mobile=mobile,
            email=email,
            vpa=address,
            balance=balance,
            password=password,
            first_password=True,  # an operator knows it
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
async def show(service: Service, customer: str) -> object:
    """Show a customer, the wallet, and when it was frozen.

    CUSTOMER is a customer's id, the account number of the wallet, a mobile number, an email
    address, a virtual payment address or a name. If several match, they are listed. Amounts are in
    laari.
    """
    found = await _matching(service, customer)
    if len(found) > MOST_MATCHES:
        complain(f"more than {MOST_MATCHES} customers match {customer!r}: these are the newest")
    if len(found) > 1:
        return [described(holder) for holder in found[:MOST_MATCHES]]
    return await _with_freezes(service, found[0])


@customer.command("list")
@click.option("--mode", type=fields.MODE, help="Only wallets of this mode.")
@click.option("--frozen", is_flag=True, help="Only frozen wallets.")
@click.option(
    "--limit",
    type=fields.integer(1, MOST_LISTED),
    default=100,
    show_default=True,
    help=f"How many, up to {MOST_LISTED}.",
)
@click.option("--after", help="Go on behind this customer: the last one of the list before.")
@operation
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
@operation
async def set_tier(service: Service, customer: str, tier: str) -> dict[str, object]:
    """Put a customer's wallet under the limits of another tier.

    CUSTOMER is an id or an account number; see `laari tier list` for the tiers.
    """
    holder = await _find(service, customer)
    await submit(service, SetTier(OPERATOR, holder.account, tier))
    return described(await _find(service, customer))


@customer.command()
@click.argument("customer")
@click.option(
    "--reason",
    type=fields.reason,
    required=True,
    help="For the operator; nobody else sees it.",
)
@operation
async def freeze(service: Service, customer: str, reason: str) -> dict[str, object]:
    """Stop money from leaving a customer's wallet.

    Payments and charges are refused like ones beyond the wallet's limits. Refunds and top-ups still
    arrive, and the customer can still log in and read. Frozen again, the first reason stays.
    """
    holder = await _find(service, customer)
    await submit(service, FreezeWallet(OPERATOR, holder.account, reason))
    return described(await _find(service, customer))


@customer.command()
@click.argument("customer")
@operation
async def unfreeze(service: Service, customer: str) -> dict[str, object]:
    """Let money leave a wallet again, within its tier's limits."""
    holder = await _find(service, customer)
    await submit(service, UnfreezeWallet(OPERATOR, holder.account))
    return described(await _find(service, customer))


async def _matching(service: Service, written: str) -> list[Holder]:
    """The customers who are named so in any way: at least one, and one more than are listed."""
    async with connection_to(service.dsn) as connection:
        customer_id = ids.read_id(ids.CUSTOMER, written)
        if customer_id is not None:
            holder = await holders.by_customer(connection, customer_id)
            found = [] if holder is None else [holder]
        else:
            found = await holders.matching(
                connection,
                written.strip(),
                MOST_MATCHES + 1,
                account=int(written) if _ACCOUNT.fullmatch(written) else None,
                mobile=read_mobile(written),
                email=read_email(written),
                vpa=read_vpa(written, service.settings.vpa_suffixes),
            )
    if not found:
        raise LaariError(f"no customer has the id, account number, contact or name {written!r}")
    return found


async def _with_freezes(service: Service, holder: Holder) -> dict[str, object]:
    async with connection_to(service.dsn) as connection:
        freezes = await holders.freezes(connection, holder.account)
    history = [
        {"time": show_time(each.time), "action": each.action, "reason": each.reason}
        for each in freezes
    ]
    return {**described(holder), "freezes": history}


async def _find(service: Service, written: str) -> Holder:
    """The customer of this id, or of the wallet with this account number."""
    found = None
    async with connection_to(service.dsn) as connection:
        customer_id = ids.read_id(ids.CUSTOMER, written)
        if customer_id is not None:
            found = await holders.by_customer(connection, customer_id)
        elif _ACCOUNT.fullmatch(written):
            found = await holders.by_account(connection, int(written))
    if found is None:
        raise LaariError(f"no customer has the id or the account number {written!r}")
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
        "mobile": holder.mobile,
        "email": holder.email,
        "vpa": holder.vpa,
        "merchant_id": holder.merchant_id,
        "created_at": show_time(holder.created_at),
    }
