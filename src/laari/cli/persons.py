"""`laari person`, and links that set a password: for people who cannot be reached by a message."""

from datetime import UTC, datetime
from uuid import UUID

import click

from laari.cli.customers import customer
from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, operation, origin_of
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules import ids
from laari.rules.calendar import show as show_time
from laari.store.people import customers, password_links, persons, second_factors
from laari.store.people.logins import CustomerId, PersonId, Whose
from laari.store.postgres.pool import Connection, connection_to


@click.group()
def person() -> None:
    """People of merchants and of the operator."""


@person.command("password-link")
@click.argument("email", type=fields.email)
@operation
@needs("people.manage")
async def person_link(service: Service, email: str) -> dict[str, object]:
    """Print a link that sets a password.

    Forward it to the person. It works once, for 30 minutes. A second factor stays on.
    """
    async with connection_to(service.dsn) as connection:
        whose = await _person(connection, email)
        return {"email": email, **await _link(service, connection, whose)}


@customer.command("password-link")
@click.argument("customer_id", type=fields.id_of(ids.CUSTOMER, "a customer id"))
@operation
@needs("customers.change")
async def customer_link(service: Service, customer_id: UUID) -> dict[str, object]:
    """Print a link that sets a password.

    Forward it to the customer. It works once, for 30 minutes.
    """
    shown = ids.show_id(ids.CUSTOMER, customer_id)
    async with connection_to(service.dsn) as connection:
        if await customers.mode_of(connection, customer_id) is None:
            raise LaariError(f"no customer with a login has the id {shown}")
        return {"customer_id": shown, **await _link(service, connection, CustomerId(customer_id))}


@person.command("remove-factor")
@click.argument("email", type=fields.email)
@operation
@needs("people.manage")
async def remove_factor(service: Service, email: str) -> dict[str, object]:
    """Turn off a person's second factor.

    For a person who lost the phone and the recovery codes. Make sure that it is really the person
    who asks. The password stays the same.
    """
    async with connection_to(service.dsn) as connection:
        whose = await _person(connection, email)
        removed = await second_factors.remove(connection, actor(), whose)
    return {"email": email, "removed": removed}


async def _person(connection: Connection, email: str) -> PersonId:
    found = await persons.find(connection, email)
    if found is None:
        raise LaariError(f"{email} does not log in to any merchant")
    return found


async def _link(service: Service, connection: Connection, whose: Whose) -> dict[str, object]:
    now = datetime.now(UTC)
    token = await password_links.issue(connection, actor(), whose, now)
    origin = await origin_of(service)
    return {
        "link": password_links.link_to(origin, whose, token),
        "expires_at": show_time(now + password_links.LIFE),
    }
