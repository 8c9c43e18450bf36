"""The command of an operation, with its options and help."""

import functools
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from inspect import cleandoc
from typing import TypeVar

import click

from laari.cli.terminal.operation import actor, deciding, operation
from laari.cli.terminal.operator_login import deciding_operator, operator_option
from laari.cli.terminal.permission import needs
from laari.cli.terminal.waiting import asked
from laari.errors import LaariError
from laari.operations.fields import Amount, Choice, Field, FieldError, Flag, Switch
from laari.operations.operation import AnyOperation, Context, S, Subject, waits
from laari.process.open import Service
from laari.rules.actors import Actor
from laari.rules.refusals import Refusal
from laari.store.bank_statements import asking
from laari.store.postgres.pool import connection_to

F = TypeVar("F", bound=Callable[..., object])

_NEGATIVE = re.compile(r"-[0-9]+", re.ASCII)


class SignedAmount(click.Command):
    """Accepts a negative amount, which looks like an option: it is moved behind `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with_value = {
            name
            for each in self.params
            if isinstance(each, click.Option) and not each.is_flag
            for name in each.opts
        }
        amounts = [
            place
            for place, (before, arg) in enumerate(zip(["", *args], args, strict=False))
            if _NEGATIVE.fullmatch(arg) and before not in with_value
        ]
        if amounts and "--" not in args:
            others = [arg for place, arg in enumerate(args) if place not in amounts]
            args = [*others, "--", *(args[place] for place in amounts)]
        return super().parse_args(ctx, args)


def add_commands(group: click.Group, *operations: AnyOperation) -> None:
    for each in operations:
        assert each.group == group.name, each.name
        group.add_command(_command(each))


async def subject_of(service: Service, subject: Subject[S], **given: object) -> S:
    async with connection_to(service.dsn) as connection:
        found = await subject.look_up(asking(connection), given)
    if isinstance(found, str):
        raise LaariError(found)
    return found


async def act(
    service: Service,
    declared: AnyOperation,
    subject: object,
    given: Mapping[str, object],
    by: Actor | None = None,
) -> object:
    """Runs the operation, for the system user if nobody logged in, and returns its result."""
    async with connection_to(service.dsn) as connection, deciding(service) as decide:
        context = Context(
            by or actor(), asking(connection), decide, service.settings, datetime.now(UTC)
        )
        result = await declared.act(context, subject, given)
    if isinstance(result, Refusal):
        raise LaariError(result.message)
    return result


async def shown(
    service: Service, declared: AnyOperation, subject: object, result: object
) -> object:
    """The result as programs read it, and each movement that waits for a second person."""
    if isinstance(result, list):
        return [await shown(service, declared, subject, each) for each in result]
    if waits(result):
        return await asked(service, result)
    assert declared.shape is not None, declared.name
    async with connection_to(service.dsn) as connection:
        return await declared.shape(asking(connection), subject, result)


def options_of(declared: AnyOperation) -> Callable[[F], F]:
    """The arguments and options of the operation, for a command with logic of its own."""
    about = () if declared.subject is None else declared.subject.fields
    typed = [each for each in (*about, *declared.fields) if not each.of_page]
    fields = sorted(typed, key=lambda field: not field.positional)  # arguments first

    def add(function: F) -> F:
        if declared.logs_in:
            function = operator_option(function)
        for field in reversed(fields):
            function = _parameter(field)(function)
        return needs(declared.needs)(function)

    return add


def _command(declared: AnyOperation) -> click.Command:
    @operation
    async def run(service: Service, /, **given: object) -> object:
        return await _run(service, declared, given)

    help = cleandoc(declared.about)
    if declared.subject is not None and declared.subject.about:
        help += f"\n\n{declared.subject.about}"
    is_signed = any(isinstance(field.kind, Amount) for field in declared.fields)
    kind = SignedAmount if is_signed else click.Command
    return click.command(declared.verb, cls=kind, help=help)(options_of(declared)(run))


async def _run(service: Service, declared: AnyOperation, given: dict[str, object]) -> object:
    subject, about, found = declared.subject, dict[str, object](), None
    if subject is not None:
        about = {field.name: given.pop(field.name) for field in subject.fields}
        found = await subject_of(service, subject, **about)
    by = None
    if declared.logs_in:
        email = given.pop("email")
        assert email is None or isinstance(email, str)
        by = await deciding_operator(service, email, declared.needs)
    result = await act(service, declared, found, given, by)
    if declared.shape is not None or waits(result):
        return await shown(service, declared, found, result)
    assert subject is not None, declared.name
    assert subject.shape is not None, declared.name
    return subject.shape(await subject_of(service, subject, **about))


def optional(declared: AnyOperation) -> Callable[[F], F]:
    """Its options, for a command that shows something if they are left out."""
    about = () if declared.subject is None else declared.subject.fields

    def add(function: F) -> F:
        for field in reversed(declared.fields):
            function = _parameter(field, is_needed=False)(function)
        for field in reversed(about):
            function = _parameter(field)(function)
        return function

    return add


def _parameter(field: Field, *, is_needed: bool = True) -> Callable[[F], F]:
    required = is_needed and field.required == "always" and field.default is None
    read = functools.partial(_read, field)
    if field.positional:
        name = field.typed_name
        return click.argument(field.name, metavar=name.upper(), required=required, callback=read)
    option = f"--{field.typed_name.replace('_', '-')}"
    if isinstance(field.kind, Flag):
        return click.option(option, field.name, is_flag=True, help=field.about)
    if isinstance(field.kind, Switch) and field.kind.off:
        both = f"{option}/--{field.kind.off}"
        return click.option(both, field.name, default=None, help=field.about)
    make = functools.partial(
        click.option,
        option,
        field.name,
        type=_choice(field),
        required=required,
        callback=read,
        help=field.about,
    )
    # A default of None would be one: the option would not be required.
    return make() if field.default is None else make(default=field.default)


def _choice(field: Field) -> click.Choice[str] | None:
    match field.kind:
        case Choice(values):
            return click.Choice(values)
        case Switch():
            return click.Choice(("on", "off"))
        case _:
            return None


def _read(
    field: Field, context: click.Context, parameter: click.Parameter, written: str | None
) -> object:
    if written is None:
        return None
    try:
        return field.kind.read(written, on_page=False)
    except FieldError as error:
        raise click.BadParameter(str(error)) from None
