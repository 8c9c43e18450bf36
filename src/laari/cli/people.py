"""Log-ins in the operator's hands: `laari merchant user`, `laari customer reset-password` and
`laari session`."""

from uuid import UUID

import click

from laari.cli.customers import customer
from laari.cli.merchants import merchant
from laari.cli.terminal import fields
from laari.cli.terminal.operation import operation
from laari.cli.terminal.secret_input import printed, refuse_weak_password, secret_options
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules import ids
from laari.rules.calendar import show as show_time
from laari.rules.records import Mode
from laari.store.people import logins, merchants, staff
from laari.store.people.passwords import hash_password, new_password
from laari.store.postgres.pool import Connection, connection_to

password_options = secret_options(
    "password", "Generated where it is not given", fields.password, twice=True
)


def customer_id(text: str) -> UUID:
    found = ids.read_id(ids.CUSTOMER, text)
    if found is None:
        raise click.BadParameter("must be a customer id: cus_ and 32 hexadecimal digits.")
    return found


@merchant.group()
def user() -> None:
    """People who log in to a merchant's dashboard."""


@user.command()
@click.argument("merchant_id")
@click.argument("email", type=fields.email)
@password_options
@operation
async def add(
    service: Service, merchant_id: str, email: str, password: str | None
) -> dict[str, object]:
    """Let somebody log in to a merchant's dashboard.

    The password is shown only now; live people change it at their next log-in.
    """
    async with connection_to(service.dsn) as connection:
        password = _chosen(password)
        await staff.add_user(connection, merchant_id, email, hash_password(password))
    return {"merchant_id": merchant_id, "email": email, "password": printed(password)}


@user.command("list")
@click.argument("merchant_id")
@operation
async def list_users(service: Service, merchant_id: str) -> list[dict[str, object]]:
    """List who logs in to a merchant, and their open sessions."""
    async with connection_to(service.dsn) as connection:
        await merchants.show(connection, merchant_id)  # refuses one that does not exist
        found = await staff.users_of(connection, merchant_id)
    return [
        {
            "merchant_id": each.merchant_id,
            "email": each.email,
            "created_at": show_time(each.created_at),
            "sessions": each.sessions,
        }
        for each in found
    ]


@user.command()
@click.argument("merchant_id")
@click.argument("email", type=fields.email)
@operation
async def remove(service: Service, merchant_id: str, email: str) -> dict[str, object]:
    """Take a log-in away; every session of it ends at once."""
    async with connection_to(service.dsn) as connection:
        ended = await staff.remove_user(connection, merchant_id, email)
    return {"merchant_id": merchant_id, "email": email, "sessions_ended": ended}


@user.command("reset-password")
@click.argument("merchant_id")
@click.argument("email", type=fields.email)
@password_options
@operation
async def reset_user_password(
    service: Service, merchant_id: str, email: str, password: str | None
) -> dict[str, object]:
    """Give somebody a new password and end all their sessions.

    The password is shown only now; live people change it at their next log-in.
    """
    async with connection_to(service.dsn) as connection:
        password = _chosen(password)
        ended = await staff.reset_user(connection, merchant_id, email, hash_password(password))
    return {
        "merchant_id": merchant_id,
        "email": email,
        "password": printed(password),
        "sessions_ended": ended,
    }


@customer.command("reset-password")
@click.argument("customer_id", type=customer_id)
@password_options
@operation
async def reset_customer_password(
    service: Service, customer_id: UUID, password: str | None
) -> dict[str, object]:
    """Give a customer a new password and end all their sessions.

    The password is shown only now; live people change it at their next log-in.
    """
    async with connection_to(service.dsn) as connection:
        if await _mode_of_customer(connection, customer_id) == "live":
            password = _chosen(password)
        password = password or new_password()
        ended = await logins.set_password(
            connection, customer_id, hash_password(password), must_change=True
        )
    shown = ids.show_id(ids.CUSTOMER, customer_id)
    return {
        "customer_id": shown,
        "password": printed(password),
        "sessions_ended": ended or 0,
    }


@click.group()
def session() -> None:
    """Sessions on the pages."""


@session.command()
@click.option("--email", type=fields.email, help="Of one of a merchant's staff.")
@click.option("--customer", "customer_id", type=customer_id, help="A customer's id.")
@operation
async def end(service: Service, email: str | None, customer_id: UUID | None) -> dict[str, object]:
    """End all sessions of a merchant's person or of a customer.

    The password stays: see reset-password for one that was stolen.
    """
    if (email is None) == (customer_id is None):
        raise LaariError("name one: --email of a merchant's person, or --customer with an id")
    async with connection_to(service.dsn) as connection:
        if customer_id is not None:
            await _mode_of_customer(connection, customer_id)
            ended = await logins.end_all(connection, customer_id)
            shown = ids.show_id(ids.CUSTOMER, customer_id)
            return {"customer_id": shown, "sessions_ended": ended}
        assert email is not None
        if not await staff.is_user(connection, email):
            raise LaariError(f"{email} does not log in to any merchant")
        return {"email": email, "sessions_ended": await logins.end_all(connection, email)}


async def _mode_of_customer(connection: Connection, customer_id: UUID) -> Mode:
    mode = await staff.mode_of_customer(connection, customer_id)
    if mode is None:
        shown = ids.show_id(ids.CUSTOMER, customer_id)
        raise LaariError(f"no customer with a log-in has the id {shown}")
    return mode


def _chosen(password: str | None) -> str:
    """The operator's choice, held to the rule of the pages, or a new one."""
    if password is None:
        return new_password()
    refuse_weak_password(password)
    return password
