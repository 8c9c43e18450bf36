"""`laari customer set-identity|view-identity|remove-identity`: identity data of customers."""

from datetime import UTC, datetime
from uuid import UUID

import click
import msgspec

from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, operation, submit
from laari.cli.terminal.permission import needs
from laari.cli.terminal.secret_input import secret_options
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules import ids
from laari.rules.calendar import local_day
from laari.rules.calendar import show as show_time
from laari.rules.people.identities import (
    EnterIdentity,
    RemoveIdentity,
    ViewIdentity,
    read_identity,
)

_customer_id = click.argument("customer_id", type=fields.id_of(ids.CUSTOMER, "a customer id"))
_reason = click.option("--reason", type=fields.reason, required=True, help="Kept in the journal.")


@click.command("set-identity")
@_customer_id
@secret_options("identity", "JSON with document, number, born and address", required=True)
@_reason
@operation
@needs("identity.change")
async def set_identity(
    service: Service, customer_id: UUID, identity: str, reason: str
) -> dict[str, object]:
    """Enter a customer's identity data.

    The document is national_id, passport or work_permit. Earlier data is replaced.
    """
    try:
        given = msgspec.json.decode(identity.encode(), type=dict[str, str])
    except msgspec.DecodeError:  # its message may quote the data
        raise LaariError("--identity must be a JSON object of texts") from None
    read = read_identity(given, local_day(datetime.now(UTC)))
    if isinstance(read, str):
        raise LaariError(read)
    entered = await submit(service, EnterIdentity(actor(), customer_id, read, reason))
    return {
        "customer_id": ids.show_id(ids.CUSTOMER, customer_id),
        "entered_at": show_time(entered.entered_at),
    }


@click.command("view-identity")
@_customer_id
@_reason
@operation
@needs("identity.read")
async def view_identity(service: Service, customer_id: UUID, reason: str) -> dict[str, object]:
    """Show a customer's identity data.

    The journal keeps who viewed it and why.
    """
    found = await submit(service, ViewIdentity(actor(), customer_id, reason))
    return msgspec.structs.asdict(found)


@click.command("remove-identity")
@_customer_id
@_reason
@operation
@needs("identity.change")
async def remove_identity(service: Service, customer_id: UUID, reason: str) -> dict[str, object]:
    """Delete a customer's identity data."""
    await submit(service, RemoveIdentity(actor(), customer_id, reason))
    return {"customer_id": ids.show_id(ids.CUSTOMER, customer_id), "removed": True}


COMMANDS = (set_identity, view_identity, remove_identity)
