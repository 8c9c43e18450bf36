"""`laari customer set-contact`: changes of mobile numbers and email addresses."""

from datetime import timedelta
from typing import get_args
from uuid import UUID

import click

from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, operation, submit
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules import ids
from laari.rules.calendar import show as show_time
from laari.rules.calendar import show_or_none
from laari.rules.people.contact_changes import (
    CancelContactChange,
    ConfirmContactChange,
    RequestContactChange,
)
from laari.rules.people.factor_codes import read_code
from laari.rules.records.people import ContactChange, ContactKind

_customer_id = click.argument("customer_id", type=fields.id_of(ids.CUSTOMER, "a customer id"))
_contact = click.argument("contact", type=click.Choice(get_args(ContactKind)))


@click.command("set-contact")
@_customer_id
@click.option("--mobile", type=fields.mobile, help="Seven digits, with or without +960.")
@click.option("--email", type=fields.email, help="The new email address.")
@click.option("--reason", type=fields.reason, required=True, help="Only operators see it.")
@click.option("--lost", is_flag=True, help="The present one is lost: it gets no link.")
@operation
@needs("customers.change")
async def set_contact(
    service: Service,
    customer_id: UUID,
    mobile: str | None,
    email: str | None,
    reason: str,
    *,
    lost: bool,
) -> dict[str, object]:
    """Request a new mobile number or email address.

    A code is sent to the new contact. Confirm it with `confirm-contact`. The change takes effect
    after LAARI_CONTACT_DELAY_HOURS, and the present contacts get a link that stops it. If a
    contact is lost, use --lost: a finder could use the link.
    """
    if (mobile is None) == (email is None):
        raise LaariError("give either --mobile or --email")
    contact: ContactKind = "mobile" if mobile is not None else "email"
    value = mobile or email or ""
    command = RequestContactChange(actor(), customer_id, contact, value, reason=reason, lost=lost)
    return described(await submit(service, command))


@click.command("confirm-contact")
@_customer_id
@_contact
@click.option("--code", help="The code that the customer got at the new contact.")
@click.option("--reason", type=fields.reason, help="Without a transport: how you verified it.")
@operation
@needs("customers.change")
async def confirm_contact(
    service: Service,
    customer_id: UUID,
    contact: ContactKind,
    code: str | None,
    reason: str | None,
) -> dict[str, object]:
    """Confirm a requested change by its code.

    If the service could not send a code, give a reason instead.
    """
    command = ConfirmContactChange(
        actor(),
        customer_id,
        contact,
        change_id=None,
        code=None if code is None else read_code(code),
        reason=reason,
        delay=timedelta(hours=service.settings.contact_delay_hours),
    )
    return described(await submit(service, command))


@click.command("cancel-contact")
@_customer_id
@_contact
@click.option("--reason", type=fields.reason, required=True, help="Only operators see it.")
@operation
@needs("customers.change")
async def cancel_contact(
    service: Service, customer_id: UUID, contact: ContactKind, reason: str
) -> dict[str, object]:
    """Cancel a change that has no effect yet."""
    command = CancelContactChange(actor(), customer_id, contact, None, reason)
    return described(await submit(service, command))


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
