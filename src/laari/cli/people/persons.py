"""`laari person`, and links that set a password: for people who cannot be reached by a message."""

from datetime import UTC, datetime
from uuid import UUID

import click

from laari.cli.people.customers import customer
from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, database_operation, operation, origin_of
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules import ids
from laari.rules.calendar import show as show_time
from laari.rules.people_records import CustomerId, PersonId, Whose
from laari.store.people import customers, notices, password_links, second_factors
from laari.store.postgres.pool import Connection, connection_to
from laari.store.reads.people import persons

_send_option = click.option(
    "--send", is_flag=True, help="Send it by email or SMS instead; it is not printed."
)


@click.group()
def person() -> None:
    """People of merchants and of the operator."""


@person.command("password-link")
@click.argument("email", type=fields.email)
@_send_option
@operation
@needs("people.manage")
async def person_link(service: Service, email: str, send: bool) -> dict[str, object]:
    """Print or send a link that sets a password.

    Forward it to the person. It works once, for 30 minutes. A second factor stays on.
    """
    async with connection_to(service.dsn) as connection:
        whose = await _person(connection, email)
        return {"email": email, **await _link(service, connection, whose, send)}


@customer.command("password-link")
@click.argument("customer_id", type=fields.id_of(ids.CUSTOMER, "a customer id"))
@_send_option
@operation
@needs("customers.change")
async def customer_link(service: Service, customer_id: UUID, send: bool) -> dict[str, object]:
    """Print or send a link that sets a password.

    Forward it to the customer. It works once, for 30 minutes.
    """
    shown = ids.show_id(ids.CUSTOMER, customer_id)
    async with connection_to(service.dsn) as connection:
        if await customers.mode_of(connection, customer_id) is None:
            raise LaariError(f"no customer with a login has the id {shown}")
        made = await _link(service, connection, CustomerId(customer_id), send)
    return {"customer_id": shown, **made}


@person.command("remove-factor")
@click.argument("email", type=fields.email)
@database_operation
@needs("people.manage")
async def remove_factor(connection: Connection, email: str) -> dict[str, object]:
    """Turn off a person's second factor.

    For a person who lost the phone and the recovery codes. Make sure that it is really the person
    who asks. The password stays the same.
    """
    whose = await _person(connection, email)
    removed = await second_factors.remove(connection, actor(), whose)
    return {"email": email, "removed": removed}


async def _person(connection: Connection, email: str) -> PersonId:
    found = await persons.find(connection, email)
    if found is None:
        raise LaariError(f"{email} does not log in to any merchant")
    return found


async def _link(
    service: Service, connection: Connection, whose: Whose, send: bool
) -> dict[str, object]:
    channels = service.settings.channels if send else frozenset[str]()
    if send and await notices.reached(connection, whose, channels) is None:
        raise LaariError("the service cannot send a message to them: leave out --send")
    made = await password_links.hand_over(
        connection,
        actor(),
        service.master_key,
        whose,
        datetime.now(UTC),
        channels,
        await origin_of(service),
    )
    where = {"link": made.link} if made.link is not None else {"sent_to": made.sent_to}
    return {**where, "expires_at": show_time(made.expires_at)}
