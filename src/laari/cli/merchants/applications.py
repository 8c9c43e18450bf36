"""`laari application`: merchants that signed up and want to go live."""

from typing import get_args
from uuid import UUID

import click

from laari.cli.terminal import fields
from laari.cli.terminal.declared import add_commands, subject_of
from laari.cli.terminal.operation import database_operation, operation
from laari.cli.terminal.permission import needs
from laari.operations.applications import APPLICATION, REFUSE, SUBMIT, WITHDRAW, described
from laari.process.open import Service
from laari.rules import ids
from laari.rules.records.merchants import ApplicationStatus
from laari.store.postgres.pool import Connection
from laari.store.reads.merchants import applications

MOST_LISTED = 1_000


@click.group()
def application() -> None:
    """Applications of merchants to go live."""


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
@click.argument("application_id", type=fields.id_of(ids.APPLICATION, "an application's id"))
@operation
@needs("merchants.read")
async def show(service: Service, application_id: UUID) -> dict[str, object]:
    """Show an application."""
    return described(await subject_of(service, APPLICATION, application_id=application_id))


add_commands(application, SUBMIT, WITHDRAW, REFUSE)
