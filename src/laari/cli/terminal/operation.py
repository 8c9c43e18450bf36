"""The common parts of the operator's commands: an open service, one answer, one output."""

import asyncio
import functools
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Concatenate, ParamSpec, Protocol, TypeGuard, TypeVar

import click
import msgspec

from laari.cli.terminal.output import say, say_json, say_table
from laari.cli.terminal.system_user import system_user
from laari.errors import LaariError
from laari.process.open import Service, open_service
from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.refusals import Refusal
from laari.rules.shapes.envelopes import to_json
from laari.settings import read_settings
from laari.spine.batches import OutcomeUnknown, Spine
from laari.store.batch.runner import BatchRunner
from laari.store.merchants.installation import known_public_url
from laari.store.postgres.pool import Connection, connection_to
from laari.store.secrets import keys_of
from laari.visible import visible

P = ParamSpec("P")
T = TypeVar("T")


class Decide(Protocol):
    """Decides one command."""

    async def __call__(self, command: Command[T], /) -> T | Refusal: ...


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON value and nothing else."
)


def operation(
    function: Callable[Concatenate[Service, P], Awaitable[object]],
) -> Callable[..., None]:
    """Runs a command with the service open and prints its result; adds `--json`."""

    @json_option
    @functools.wraps(function)
    def command(as_json: bool, *arguments: P.args, **options: P.kwargs) -> None:
        show(in_service(function, *arguments, **options), as_json)

    return command


def database_operation(
    function: Callable[Concatenate[Connection, P], Awaitable[object]],
) -> Callable[..., None]:
    """An `operation` that needs only a connection to the database."""

    @functools.wraps(function)
    async def connected(service: Service, /, *arguments: P.args, **options: P.kwargs) -> object:
        async with connection_to(service.dsn) as connection:
            return await function(connection, *arguments, **options)

    return operation(connected)


def actor() -> Actor:
    """The system user: a person who can run a command on the machine is the operator."""
    return Actor("command_line", system_user(), "admin")


def in_service(
    function: Callable[Concatenate[Service, P], Awaitable[T]],
    *arguments: P.args,
    **options: P.kwargs,
) -> T:
    async def run() -> T:
        async with open_service(read_settings(os.environ)) as service:
            return await function(service, *arguments, **options)

    return asyncio.run(run())


async def origin_of(service: Service) -> str:
    """Returns the public URL of the environment, or else of the last `laari serve`."""
    if os.environ.get("LAARI_PUBLIC_URL", "").strip():
        return service.settings.public_url
    async with connection_to(service.dsn) as connection:
        return await known_public_url(connection) or service.settings.public_url


@asynccontextmanager
async def deciding(service: Service) -> AsyncIterator[Decide]:
    """Runs write commands as the service would; a refusal is a result of its own."""
    runner = BatchRunner(
        service.dsn,
        await origin_of(service),
        channels=service.settings.channels,
        keys=keys_of(service.master_key),
        second_operator_above=service.settings.second_operator_above,
    )
    spine = Spine(runner.run)
    spine.start()
    try:
        yield spine.submit
    except OutcomeUnknown:
        raise LaariError(
            "the database did not confirm this: check whether it was done before you try again"
        ) from None
    finally:
        await spine.close()
        await runner.close()


async def submit(service: Service, command: Command[T]) -> T:
    """Runs one write command as the service would, and returns its result."""
    async with deciding(service) as decide:
        outcome = await decide(command)
    if isinstance(outcome, Refusal):
        raise LaariError(outcome.message)
    return outcome


def show(answer: object, as_json: bool) -> None:
    """Prints JSON for programs, lines or a table for people."""
    encoded = to_json(answer)
    if as_json:
        say_json(encoded)
        return
    plain = msgspec.json.decode(encoded)
    if isinstance(plain, list):
        show_table(plain)
    else:
        show_lines(plain)


def show_lines(fields: Mapping[str, object]) -> None:
    """Prints a line for each field, then a table for each list of resources."""
    tables = {name: value for name, value in fields.items() if _is_table(value)}
    lines = {name: value for name, value in fields.items() if name not in tables}
    width = max(map(len, lines))
    for name, value in lines.items():
        say(f"{name:<{width}}  {visible(_text(value))}")
    for name, rows in tables.items():
        say(f"\n{name}")
        show_table(rows)


def _is_table(value: object) -> TypeGuard[list[dict[str, object]]]:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def show_table(rows: list[dict[str, object]]) -> None:
    if not rows:
        say("None.")
    else:
        say_table(rows[0], (map(_text, row.values()) for row in rows))


def _text(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case dict():
            return to_json(value).decode()
        case list() if not value or _is_table(value):
            return str(len(value))
        case _:
            return str(value)
