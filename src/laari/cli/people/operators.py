"""`laari operator`: people who work for the operator of the service."""

from typing import get_args

import click

from laari.cli.people.people import checked_or_new, shown_member
from laari.cli.terminal import fields
from laari.cli.terminal.declared import add_commands
from laari.cli.terminal.operation import actor, database_operation, operation, submit
from laari.cli.terminal.permission import needs
from laari.cli.terminal.secret_input import password_options, printed
from laari.operations.settings import REMOVE, SET_ROLE
from laari.process.open import Service
from laari.rules.people.memberships import AddMember
from laari.rules.people.persons import NewLogin
from laari.rules.records.people import OperatorRole
from laari.store.people.passwords import hash_password
from laari.store.postgres.pool import Connection
from laari.store.reads.people import memberships

role_option = click.option(
    "--role", type=click.Choice(get_args(OperatorRole)), required=True, help="The person's role."
)


@click.group()
def operator() -> None:
    """People who work for the operator of the service."""


@operator.command()
@click.argument("email", type=fields.email)
@role_option
@password_options
@operation
@needs("operators.manage")
async def create(
    service: Service, email: str, role: OperatorRole, password: str | None
) -> dict[str, object]:
    """Add a person to the operator and print the password.

    The password is not shown again, and the person changes it at the first login. A person who
    exists keeps the password, and `password` is null.
    """
    password = checked_or_new(password)
    login = NewLogin(hash_password(password), must_change=True)
    added = await submit(service, AddMember(actor(), None, email, role, None, login))
    shown = printed(password) if added.has_new_password else None
    return {"email": email, "role": role, "password": shown}


@operator.command("list")
@database_operation
@needs("operators.manage")
async def list_operators(connection: Connection) -> list[dict[str, object]]:
    """List the operator's people, roles and sessions."""
    found = await memberships.list_members(connection, None)
    rows = [shown_member(each) for each in found]
    return [{name: row[name] for name in row if name != "till"} for row in rows]


add_commands(operator, SET_ROLE, REMOVE)
