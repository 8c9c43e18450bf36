"""`laari person`, and links that set a password: for people who cannot be reached by a message."""

from uuid import UUID

import click

from laari.cli.people.customers import customer
from laari.cli.people.people import person_at
from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, operation, submit
from laari.cli.terminal.permission import needs
from laari.process.open import Service
from laari.rules import ids
from laari.rules.calendar import show as show_time
from laari.rules.people.password_links import Delivery, HandOverPasswordLink
from laari.rules.people.second_factors import RemoveFactor
from laari.rules.records.people import CustomerId, Whose, show_whose

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
    return {"email": email, **await _link(service, await person_at(service, email), send)}


@customer.command("password-link")
@click.argument("customer_id", type=fields.id_of(ids.CUSTOMER, "a customer id"))
@_send_option
@operation
@needs("customers.change")
async def customer_link(service: Service, customer_id: UUID, send: bool) -> dict[str, object]:
    """Print or send a link that sets a password.

    Forward it to the customer. It works once, for 30 minutes.
    """
    whose = CustomerId(customer_id)
    return {"customer_id": show_whose(whose), **await _link(service, whose, send)}


@person.command("remove-factor")
@click.argument("email", type=fields.email)
@operation
@needs("people.manage")
async def remove_factor(service: Service, email: str) -> dict[str, object]:
    """Turn off a person's second factor.

    For a person who lost the phone and the recovery codes. Make sure that it is really the person
    who asks. The password stays the same.
    """
    whose = await person_at(service, email)
    return {"email": email, "removed": await submit(service, RemoveFactor(actor(), whose))}


async def _link(service: Service, whose: Whose, send: bool) -> dict[str, object]:
    delivery: Delivery = "message" if send else "shown"
    made = await submit(service, HandOverPasswordLink(actor(), whose, delivery))
    where = {"link": made.link} if made.link is not None else {"sent_to": made.sent_to}
    return {**where, "expires_at": show_time(made.expires_at)}
