"""`laari application`: merchants that signed up and want to go live."""

from typing import get_args
from uuid import UUID

import click
from msgspec import convert
from msgspec.structs import asdict

from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, database_operation, operation
from laari.cli.terminal.operation import submit as decide
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules import ids
from laari.rules.calendar import show as show_time
from laari.rules.calendar import show_or_none
from laari.rules.merchants.applications import RefuseApplication, SubmitApplication
from laari.rules.money import MAX_MONEY
from laari.rules.records.merchants import ApplicationAnswers, ApplicationStatus
from laari.rules.terms import MAX_DECISION
from laari.store.postgres.pool import Connection, connection_to
from laari.store.reads.merchants import applications
from laari.store.reads.merchants.applications import Applied

MOST_LISTED = 1_000
_ID = fields.id_of(ids.APPLICATION, "an application's id")


@click.group()
def application() -> None:
    """Applications of merchants to go live."""


@application.command()
@click.argument("merchant_id")
@click.option("--legal-name", type=fields.text(255), required=True, help="Name in the register.")
@click.option(
    "--registration-number", type=fields.text(100), required=True, help="Of the business."
)
@click.option("--tax-number", type=fields.text(100), help="If it is registered for tax.")
@click.option("--address", type=fields.text(500), required=True, help="Of the business.")
@click.option("--bank-name", type=fields.text(100), required=True, help="Bank for payouts.")
@click.option("--bank-holder", type=fields.text(255), required=True, help="Holder of the account.")
@click.option("--bank-account", type=fields.text(40), required=True, help="Account number.")
@click.option(
    "--monthly-volume",
    type=fields.integer(0, MAX_MONEY),
    required=True,
    help="Expected sales of a month in laari.",
)
@click.option("--contact", type=fields.text(255), required=True, help="Person and phone or email.")
@operation
@needs("merchants.approve")
async def submit(service: Service, /, merchant_id: str, **answers: object) -> dict[str, object]:
    """Apply for a merchant; this replaces its open application."""
    command = SubmitApplication(actor(), merchant_id, convert(answers, ApplicationAnswers))
    return await _shown(service, (await decide(service, command)).id)


@application.command("list")
@click.option(
    "--status",
    type=click.Choice(get_args(ApplicationStatus)),
    default="submitted",
    help="Only applications in this state.",
)
@database_operation
@needs("merchants.read")
async def list_all(connection: Connection, status: ApplicationStatus) -> list[dict[str, object]]:
    """List applications; those that wait longest come first."""
    found = await applications.with_status(connection, status, MOST_LISTED)
    return [described(each) for each in found]


@application.command()
@click.argument("application_id", type=_ID)
@database_operation
@needs("merchants.read")
async def show(connection: Connection, application_id: UUID) -> dict[str, object]:
    """Show an application."""
    return await _described(connection, application_id)


@application.command()
@click.argument("application_id", type=_ID)
@click.option(
    "--reason", type=fields.text(MAX_DECISION), required=True, help="Shown to the merchant."
)
@operation
@needs("merchants.approve")
async def refuse(service: Service, application_id: UUID, reason: str) -> dict[str, object]:
    """Refuse an application; the merchant can apply again.

    `laari merchant approve` approves one.
    """
    await decide(service, RefuseApplication(actor(), application_id, reason))
    return await _shown(service, application_id)


async def _shown(service: Service, application_id: UUID) -> dict[str, object]:
    async with connection_to(service.dsn) as connection:
        return await _described(connection, application_id)


async def _described(connection: Connection, application_id: UUID) -> dict[str, object]:
    found = await applications.find(connection, application_id)
    if found is None:
        shown = ids.show_id(ids.APPLICATION, application_id)
        raise LaariError(f"no application has the id {shown}")
    return described(found)


def described(applied: Applied) -> dict[str, object]:
    merchant_name, found = applied
    return {
        "application_id": ids.show_id(ids.APPLICATION, found.id),
        "merchant_id": found.merchant_id,
        "merchant": merchant_name,
        "status": found.status,
        "submitted_at": show_time(found.submitted_at),
        "submitted_by": found.submitted_by,
        **asdict(found.answers),
        "decided_at": show_or_none(found.decided_at),
        "decided_by": found.decided_by,
        "reason": found.reason,
    }
