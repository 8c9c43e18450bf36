"""Logins and sessions: `laari merchant user`, `laari customer reset-password`, `laari session`."""

from uuid import UUID

import click

from laari.cli.customers import customer
from laari.cli.merchants import merchant
from laari.cli.terminal import fields
from laari.cli.terminal.operation import operation
from laari.cli.terminal.secret_input import password_options, printed, refuse_weak_password
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules import ids
from laari.rules.calendar import show as show_time
from laari.rules.records import Mode
from laari.store.people import logins, merchants, staff
from laari.store.people.passwords import hash_password, new_password
from laari.store.postgres.pool import Connection, connection_to

_customer_id = fields.id_of(ids.CUSTOMER, "a customer id")


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
    """Create a dashboard login and print its password.

    The password is not shown again. A user of a live merchant changes it at the first login.
    """
    password = _checked_or_new(password)
    async with connection_to(service.dsn) as connection:
        await staff.add_user(connection, merchant_id, email, hash_password(password))
    return {"merchant_id": merchant_id, "email": email, "password": printed(password)}


@user.command("list")
@click.argument("merchant_id")
@operation
async def list_users(service: Service, merchant_id: str) -> list[dict[str, object]]:
    """List a merchant's users and their open sessions."""
    async with connection_to(service.dsn) as connection:
        await merchants.show(connection, merchant_id)  # raises an error if there is none
        found = await staff.users_of(connection, merchant_id)
    return [each._asdict() | {"created_at": show_time(each.created_at)} for each in found]


@user.command()
@click.argument("merchant_id")
@click.argument("email", type=fields.email)
@operation
async def remove(service: Service, merchant_id: str, email: str) -> dict[str, object]:
    """Remove a login and end its sessions at once."""
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
    """Set a user's new password and end all sessions.

    The password is not shown again. A user of a live merchant changes it at the next login.
    """
    password = _checked_or_new(password)
    async with connection_to(service.dsn) as connection:
        ended = await staff.reset_user(connection, merchant_id, email, hash_password(password))
    return {
        "merchant_id": merchant_id,
        "email": email,
        "password": printed(password),
        "sessions_ended": ended,
    }


@customer.command("reset-password")
@click.argument("customer_id", type=_customer_id)
@password_options
@operation
async def reset_customer_password(
    service: Service, customer_id: UUID, password: str | None
) -> dict[str, object]:
    """Set a customer's new password and end all sessions.

    The password is not shown again. A live customer changes it at the next login.
    """
    async with connection_to(service.dsn) as connection:
        is_live = await _mode_of_customer(connection, customer_id) == "live"
        password = _checked_or_new(password) if is_live else password or new_password()
        ended = await logins.set_password(
            connection, customer_id, hash_password(password), must_change=True
        )
    return {
        "customer_id": ids.show_id(ids.CUSTOMER, customer_id),
        "password": printed(password),
        "sessions_ended": ended or 0,
    }


@click.group()
def session() -> None:
    """Browser sessions of merchants' users and of customers."""


@session.command()
@click.option("--email", type=fields.email, help="Email of a merchant's user.")
@click.option("--customer", "customer_id", type=_customer_id, help="Id of a customer.")
@operation
async def end(service: Service, email: str | None, customer_id: UUID | None) -> dict[str, object]:
    """End all sessions of a merchant's user or of a customer.

    The password stays the same. If it was stolen, use reset-password.
    """
    async with connection_to(service.dsn) as connection:
        if customer_id is not None and email is None:
            await _mode_of_customer(connection, customer_id)
            shown = ids.show_id(ids.CUSTOMER, customer_id)
            ended = await logins.end_all(connection, customer_id)
            return {"customer_id": shown, "sessions_ended": ended}
        if email is None or customer_id is not None:
            raise LaariError("use one of --email (a merchant's user) and --customer (an id)")
        if not await staff.is_user(connection, email):
            raise LaariError(f"{email} does not log in to any merchant")
        return {"email": email, "sessions_ended": await logins.end_all(connection, email)}


async def _mode_of_customer(connection: Connection, customer_id: UUID) -> Mode:
    mode = await staff.mode_of_customer(connection, customer_id)
    if mode is None:
        shown = ids.show_id(ids.CUSTOMER, customer_id)
        raise LaariError(f"no customer with a login has the id {shown}")
    return mode


def _checked_or_new(password: str | None) -> str:
    if password is None:
        return new_password()
    refuse_weak_password(password)
    return password
