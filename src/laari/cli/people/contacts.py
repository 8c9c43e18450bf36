"""`laari customer set-contact`: changes of mobile numbers and email addresses."""

from datetime import timedelta
from typing import get_args
from uuid import UUID

import click

from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, database_operation, operation, origin_of
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules import ids
from laari.rules.calendar import show as show_time
from laari.rules.calendar import show_or_none
from laari.rules.people.second_factor import read_code
from laari.store.people import contact_changes
from laari.store.people.contact_changes import Contact, ContactChange
from laari.store.postgres.pool import Connection, connection_to

_customer_id = click.argument("customer_id", type=fields.id_of(ids.CUSTOMER, "a customer id"))
_contact = click.argument("contact", type=click.Choice(get_args(Contact)))


@click.command("set-contact")
@_customer_id
@click.option("--mobile", type=fields.mobile, help="Seven digits, with or without +960.")
@click.option("--email", type=fields.email, help="The new email address.")
@click.option("--reason", type=fields.reason, required=True, help="Only operators see it.")
@operation
@needs("customers.change")
async def set_contact(
    service: Service, customer_id: UUID, mobile: str | None, email: str | None, reason: str
) -> dict[str, object]:
    """Request a new mobile number or email address.

    A code is sent to the new contact. Confirm it with `confirm-contact`. The change takes effect
    after LAARI_CONTACT_DELAY_HOURS, and the present contacts get a link that stops it.
    """
    if (mobile is None) == (email is None):
        raise LaariError("give either --mobile or --email")
    contact: Contact = "mobile" if mobile is not None else "email"
    async with connection_to(service.dsn) as connection:
        change = await contact_changes.request(
            *(connection, actor(), service.master_key, customer_id, contact),
            *(mobile or email or "", reason, service.settings.channels),
        )
    return described(change)


@click.command("confirm-contact")
@_customer_id
@_contact
@click.option("--code", help="The code that the customer got at the new contact.")
@click.option("--reason", type=fields.reason, help="Without a transport: how you verified it.")
@operation
@needs("customers.change")
async def confirm_contact(
    service: Service, customer_id: UUID, contact: Contact, code: str | None, reason: str | None
) -> dict[str, object]:
    """Confirm a requested change by its code.

    If the service could not send a code, give a reason instead.
    """
    origin, settings = await origin_of(service), service.settings
    async with connection_to(service.dsn) as connection:
        change = await contact_changes.confirm(
            *(connection, actor(), service.master_key),
            (await _open(connection, customer_id, contact)).id,
            code=None if code is None else read_code(code),
            reason=reason,
            delay=timedelta(hours=settings.contact_delay_hours),
            channels=settings.channels,
            origin=origin,
        )
    if change is None:
        raise LaariError("the code is wrong: after three wrong codes, cancel the change")
    return described(change)


@click.command("cancel-contact")
@_customer_id
@_contact
@click.option("--reason", type=fields.reason, required=True, help="Only operators see it.")
@database_operation
@needs("customers.change")
async def cancel_contact(
    connection: Connection, customer_id: UUID, contact: Contact, reason: str
) -> dict[str, object]:
    """Cancel a change that has no effect yet."""
    change = await _open(connection, customer_id, contact)
    return described(await contact_changes.cancel(connection, actor(), change.id, reason))


async def _open(connection: Connection, customer_id: UUID, contact: Contact) -> ContactChange:
    change = await contact_changes.open_of(connection, customer_id, contact)
    if change is None:
        raise LaariError(
            f"this customer has no open change of the {contact_changes.NAMES[contact]}"
        )
    return change


def described(change: ContactChange) -> dict[str, object]:
    return {
        "customer_id": ids.show_id(ids.CUSTOMER, change.customer_id),
        "contact": change.contact,
        "old": change.old_value,
        "new": change.new_value,
        "status": change.status,
        "code_sent": change.has_code,
        "requested_at": show_time(change.requested_at),
        "effective_at": show_or_none(change.effective_at),
    }


COMMANDS = (set_contact, confirm_contact, cancel_contact)
