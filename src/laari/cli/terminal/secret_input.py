"""Secrets that the operator gives: from a prompt, standard input or a file.

An argument is seen by everybody on the machine (`ps`) and stays in the shell's history. It is
accepted, because tests are written so, and its help says what it costs.
"""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from laari.rules.passwords import password_problem

R = TypeVar("R")

ASK = "-"  # in the place of the secret
MAX_BYTES = 4096


class Unseen(str):
    """A secret that was given out of sight, and is not to be printed."""

    __slots__ = ()


def printed(secret: str) -> str | None:
    """What a command prints of a secret: nothing of one that its operator kept out of sight."""
    return None if isinstance(secret, Unseen) else secret


def secret_options(
    name: str,
    help: str,
    check: Callable[[str], str],
    *,
    required: bool = False,
    twice: bool = False,
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Adds `--NAME` and `--NAME-file`, of which one may be given; the command gets `NAME`.

    `-` reads a line of standard input; on a terminal it asks for it, `twice` where a mistake
    would not be noticed.
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        @functools.wraps(function)
        def command(**given: str | None) -> R:
            written, file = given.pop(name), given.pop(f"{name}_file")
            value = _taken(name, written, file, twice)
            if value is None and required:
                raise click.BadOptionUsage(name, f"Missing option '--{name}' or '--{name}-file'.")
            if value is not None:
                value = _checked(name, value, check)
            return function(**given, **{name: value})

        seen = "others on this machine see an argument, so rather - (asks, or reads standard input)"
        command = click.option(
            f"--{name}-file", metavar="FILE", help="The same, from the one line of a file."
        )(command)
        return click.option(f"--{name}", metavar="TEXT|-", help=f"{help}; {seen}.")(command)

    return decorate


def _taken(name: str, written: str | None, file: str | None, twice: bool) -> str | None:
    if written is not None and file is not None:
        raise click.BadOptionUsage(name, f"--{name} and --{name}-file exclude each other.")
    if file is not None:
        return Unseen(_from_file(name, file))
    if written == ASK:
        return Unseen(_from_standard_input(name, twice))
    return written


def _from_standard_input(name: str, twice: bool) -> str:
    if sys.stdin is not None and sys.stdin.isatty():
        asked: str = click.prompt(
            name.capitalize(), hide_input=True, confirmation_prompt=twice, err=True
        )
        return asked
    try:
        line = "" if sys.stdin is None else str(sys.stdin.readline(MAX_BYTES))
    except UnicodeDecodeError:
        raise click.BadOptionUsage(
            name, f"--{name} -: standard input is not text in {sys.stdin.encoding}."
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


def _checked(name: str, value: str, check: Callable[[str], str]) -> str:
    """The value never shows in the message."""
    try:
        return check(value)
    except click.BadParameter as error:
        raise click.BadParameter(error.message, param_hint=f"'--{name}'") from None


def refuse_weak_password(password: str) -> None:
    """The rule of the pages."""
    problem = password_problem(password)
    if problem is not None:
        raise click.BadParameter(problem, param_hint="'--password'")
