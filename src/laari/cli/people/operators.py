"""`laari operator`: people who work for the operator of the service."""

from typing import get_args

import click

from laari.cli.people.people import checked_or_new, shown_member
from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor, database_operation
from laari.cli.terminal.permission import needs
from laari.cli.terminal.secret_input import password_options, printed
from laari.rules.people.permissions import OperatorRole
from laari.store.people import memberships
from laari.store.people.passwords import hash_password
from laari.store.people.persons import NewLogin
from laari.store.postgres.pool import Connection

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
@database_operation
@needs("operators.manage")
async def create(
    connection: Connection, email: str, role: OperatorRole, password: str | None
) -> dict[str, object]:
    """Add a person to the operator and print the password.

    The password is not shown again, and the person changes it at the first login. A person who
    exists keeps the password, and `password` is null.
    """
    password = checked_or_new(password)
    login = NewLogin(hash_password(password), must_change=True)
    added = await memberships.add(connection, actor(), None, email, role, None, login)
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


@operator.command("set-role")
@click.argument("email", type=fields.email)
@role_option
@database_operation
@needs("operators.manage")
async def set_role(connection: Connection, email: str, role: OperatorRole) -> dict[str, object]:
    """Change the role of a person of the operator."""
    found = await memberships.find_member(connection, None, email)
    await memberships.set_role(connection, actor(), None, found.person_id, role)
    return {"email": email, "role": role}


@operator.command()
@click.argument("email", type=fields.email)
@database_operation
@needs("operators.manage")
async def remove(connection: Connection, email: str) -> dict[str, object]:
    """End a person's access to the operator's desk at once.

    Sessions end if the person works for nobody else.
    """
    found = await memberships.find_member(connection, None, email)
    ended = await memberships.remove(connection, actor(), None, found.person_id)
    return {"email": email, "sessions_ended": ended}
