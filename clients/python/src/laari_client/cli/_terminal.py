"""All output of the program. Strangers write titles and answers: their control characters are
shown as numbers, so that they cannot act on the terminal."""

from __future__ import annotations

import json
from typing import Any

import click

PROGRAM = "laari-client"
_INVISIBLE_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")


def visible(text: str) -> str:
    """The text on one line: `\\x1b[2J` for the sequence that clears a terminal."""
    return "".join(
        each
        if each.isprintable() and each not in _INVISIBLE_LETTERS
        else each.encode("unicode_escape").decode()
        for each in text
    )


def say(line: str) -> None:
    click.echo(visible(line))


def say_json(value: Any) -> None:
    click.echo(json.dumps(value, separators=(",", ":"), default=float))


def complain(message: str) -> None:
    click.echo(f"{PROGRAM}: {visible(' '.join(message.split()))}", err=True)
