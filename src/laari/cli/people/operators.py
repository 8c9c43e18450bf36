"""`laari operator`: people who work for the operator of the service."""

from inspect import cleandoc

import click

from laari.cli.people.people import checked_or_new, shown_member
from laari.cli.terminal.declared import act, add_commands, options_of
from laari.cli.terminal.operation import database_operation, operation
from laari.cli.terminal.permission import needs
from laari.cli.terminal.secret_input import password_options, printed
from laari.operations.service_settings import ADD_PERSON, REMOVE, SET_ROLE
from laari.process.open import Service
from laari.rules.people.persons import Enrolled, NewLogin
from laari.rules.records.people import OperatorRole
from laari.store.people.passwords import hash_password
from laari.store.postgres.pool import Connection
from laari.store.reads.people import memberships


@click.group()
def operator() -> None:
    """People who work for the operator of the service."""


@operator.command(help=cleandoc(ADD_PERSON.about))
@options_of(ADD_PERSON)
@password_options
@operation
@needs(ADD_PERSON.needs)
async def create(
    service: Service, email: str, role: OperatorRole, password: str | None
) -> dict[str, object]:
    password = checked_or_new(password)
    login = NewLogin(hash_password(password), must_change=True)
    added = await act(service, ADD_PERSON, None, {"email": email, "role": role, "login": login})
    assert isinstance(added, Enrolled)
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
