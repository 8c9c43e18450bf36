"""Secrets that the operator enters: at a prompt, on standard input, in a file or as an argument.

Everybody on the machine can see an argument (`ps`), but scripts and tests need it.
"""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from laari.cli.terminal import fields
from laari.cli.terminal.output import is_interactive
from laari.rules.people.passwords import password_problem

R = TypeVar("R")

ASK = "-"  # instead of the secret
MAX_BYTES = 4096


class Unseen(str):
    """A secret that was not an argument; no command prints it."""

    __slots__ = ()


def printed(secret: str) -> str | None:
    return None if isinstance(secret, Unseen) else secret


def secret_options(
    name: str, help: str, *, required: bool = False, twice: bool = False
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Adds `--NAME` and `--NAME-file`; the command gets `NAME`.

    `-` reads a line of standard input. On a terminal it prompts, `twice` to notice a mistake.
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        @functools.wraps(function)
        def command(**given: str | None) -> R:
            written, file = given.pop(name), given.pop(f"{name}_file")
            value = _taken(name, written, file, twice)
            if value is None and required:
                raise click.BadOptionUsage(name, f"Missing option '--{name}' or '--{name}-file'.")
            try:
                value = None if value is None else fields.secret(value)
            except click.BadParameter as error:  # the message does not show the value
                raise click.BadParameter(error.message, param_hint=f"'--{name}'") from None
            return function(**given, **{name: value})

        add_file = click.option(
            f"--{name}-file", metavar="FILE", help="Read it from a file with one line."
        )
        warning = "Use - to be asked or to read standard input: other users can see an argument"
        add = click.option(f"--{name}", metavar="TEXT|-", help=f"{help}. {warning}.")
        return add(add_file(command))

    return decorate


password_options = secret_options("password", "Generated if omitted", twice=True)


def _taken(name: str, written: str | None, file: str | None, twice: bool) -> str | None:
    if written is not None and file is not None:
        raise click.BadOptionUsage(name, f"Use --{name} or --{name}-file, not both.")
    if file is not None:
        return Unseen(_from_file(name, file))
    if written != ASK:
        return written
    if is_interactive():
        prompt = name.capitalize()
        return Unseen(click.prompt(prompt, hide_input=True, confirmation_prompt=twice, err=True))
    return Unseen(_from_standard_input(name))


def _from_standard_input(name: str) -> str:
    try:
        line = "" if sys.stdin is None else str(sys.stdin.readline(MAX_BYTES))
    except UnicodeDecodeError:
        raise click.BadOptionUsage(
            name, f"--{name} -: standard input is not {sys.stdin.encoding} text."
        ) from None
    if not line:
        raise click.BadOptionUsage(name, f"--{name} -: standard input is empty.")
    return line.rstrip("\r\n")


def _from_file(name: str, file: str) -> str:
    try:
        with Path(file).open("rb") as opened:
            text = opened.read(MAX_BYTES).decode()
    except OSError as error:
        raise click.BadOptionUsage(name, f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise click.BadOptionUsage(name, f"{file} is not UTF-8 text.") from None
    return text.removesuffix("\n").removesuffix("\r")


def refuse_weak_password(password: str) -> None:
    problem = password_problem(password)
    if problem is not None:
        raise click.BadParameter(problem, param_hint="'--password'")
