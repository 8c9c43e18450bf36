"""All output of the program. Strangers write titles and answers: their control characters are
shown as numbers, so that they cannot act on the terminal."""

from __future__ import annotations

import json
from typing import Sequence

import click

from laari_client.cli._shared.ports import Json, Part

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


def complain(message: str) -> None:
    click.echo(f"{PROGRAM}: {visible(' '.join(message.split()))}", err=True)


class Terminal:
    """The terminal of `laari-client` for the shared `listen` and `trigger`: plain lines."""

    def say(self, text: str) -> None:
        click.echo(visible(text))

    def say_line(self, parts: Sequence[Part]) -> None:
        click.echo(visible("".join(part.text for part in parts)))

    def say_json(self, value: Json) -> None:
        click.echo(json.dumps(value, separators=(",", ":"), default=float))

    def say_meanwhile(self, text: str) -> None:
        """Nothing: lines are not replaced here."""

    def complain(self, message: str) -> None:
        complain(message)
