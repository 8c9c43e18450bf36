"""Commands of the second person: the operator logs in for each of them."""

import sys
from datetime import UTC, datetime

import click

from laari.cli.terminal import fields
from laari.cli.terminal.operation import actor
from laari.cli.terminal.output import is_interactive
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules.actors import Actor
from laari.rules.people.permissions import Permission
from laari.store.people import operator_logins
from laari.store.postgres.pool import connection_to

MAX_BYTES = 4096

operator_option = click.option(
    "--operator",
    "email",
    metavar="EMAIL",
    type=fields.email,
    help="The operator who decides. Asks for the password and the code, or reads them as two "
    "lines of standard input.",
)


async def deciding_operator(service: Service, email: str | None, permission: Permission) -> Actor:
    """The operator who logs in now. Without the rule of the second person, the system user."""
    if email is None:
        if service.settings.second_operator_above is None:
            return actor()
        raise LaariError("a second person decides this: use --operator EMAIL to log in")
    password, code = _secrets()
    async with connection_to(service.dsn) as connection:
        return await operator_logins.authenticate(
            connection,
            service.master_key,
            email,
            password,
            code,
            permission=permission,
            now=datetime.now(UTC),
        )


def _secrets() -> tuple[str, str]:
    """Never arguments: everybody on the machine can see those."""
    if is_interactive():
        password = click.prompt("Password", hide_input=True, err=True)
        code = click.prompt("Code of the authenticator app", hide_input=True, err=True)
        return password, code
    try:
        lines = [] if sys.stdin is None else [sys.stdin.readline(MAX_BYTES) for _ in range(2)]
    except UnicodeDecodeError:
        raise LaariError("standard input is not text") from None
    if len(lines) < 2 or not all(lines):
        raise LaariError("standard input must have two lines: the password and the code")
    password, code = (line.rstrip("\r\n") for line in lines)
    return password, code
