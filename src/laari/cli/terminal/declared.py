"""The command of an operation, with its options and help."""

import functools
from collections.abc import Callable
from inspect import cleandoc

import click

from laari.cli.terminal.operation import actor, operation, submit
from laari.cli.terminal.permission import needs
from laari.cli.terminal.waiting import asked
from laari.errors import LaariError
from laari.operations.fields import Field, FieldError, Flag
from laari.operations.operation import AnyOperation, S, Subject
from laari.process.open import Service
from laari.rules.records import PendingMovement
from laari.store.postgres.pool import connection_to


def add_commands(group: click.Group, *operations: AnyOperation) -> None:
    for each in operations:
        assert each.group == group.name, each.name
        group.add_command(_command(each))


async def subject_of(service: Service, subject: Subject[S], written: str) -> S:
    async with connection_to(service.dsn) as connection:
        found = await subject.find(connection, written)
    if found is None:
        raise LaariError(f"{subject.missing} {written!r}")
    return found


def _command(declared: AnyOperation) -> click.Command:
    @operation
    @needs(declared.needs)
    async def run(service: Service, /, **given: object) -> object:
        return await _run(service, declared, given)

    function = run
    for field in reversed(declared.fields):
        function = _parameter(field)(function)
    help = cleandoc(declared.about)
    if declared.subject is not None:
        function = click.argument(declared.subject.name)(function)
        help += f"\n\n{declared.subject.about}"
    return click.command(declared.verb, help=help)(function)


async def _run(service: Service, declared: AnyOperation, given: dict[str, object]) -> object:
    subject, about, written = declared.subject, [], ""
    if subject is not None:
        written = str(given.pop(subject.name))
        about = [await subject_of(service, subject, written)]
    outcome = await submit(service, declared.command(actor(), *about, **given))
    if isinstance(outcome, PendingMovement):
        return await asked(service, outcome)
    if declared.shape is not None:
        return declared.shape(outcome)
    assert subject is not None, declared.name
    return subject.shape(await subject_of(service, subject, written))


def _parameter(field: Field) -> Callable[[Callable[..., None]], Callable[..., None]]:
    required, read = field.required == "always", functools.partial(_read, field)
    if field.positional:
        return click.argument(field.name, required=required, callback=read)
    option = f"--{field.name.replace('_', '-')}"
    if isinstance(field.kind, Flag):
        return click.option(option, is_flag=True, help=field.about)
    return click.option(option, required=required, callback=read, help=field.about)


def _read(
    field: Field, context: click.Context, parameter: click.Parameter, written: str | None
) -> object:
    if written is None:
        return None
    try:
        return field.kind.read(written)
    except FieldError as error:
        raise click.BadParameter(str(error)) from None
