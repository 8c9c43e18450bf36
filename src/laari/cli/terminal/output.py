"""The one place that writes to the operator's terminal.

Text of strangers goes through `visible` first. Nothing else in the command line prints; a test
holds it to that.
"""

import os
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import NamedTuple

import click

from laari.visible import one_line, visible, visible_json

_CLEAR_LINE = "\x1b[2K"
_meanwhile: list[str] = []  # what stands where the next line begins
PIPED_WIDTH = 240  # columns: tables that are not read on a terminal keep their lines whole


def path_text(path: Path) -> str:
    """A path as text, also where its name is not: the bytes then stand as their numbers."""
    return os.fsencode(path).decode(errors="backslashreplace")


def say(text: str) -> None:
    """Prints lines of our own; values within them that strangers wrote go through `visible`."""
    click.echo("\n".join(map(visible, text.split("\n"))))


def say_json(encoded: bytes) -> None:
    click.echo(visible_json(encoded))


class Part(NamedTuple):
    """A part of a line, whoever wrote its text."""

    text: str
    colour: str | None = None  # by click's names
    whole: bool = False  # left out if it does not fit, such as an id: half of one is of no use

    def __str__(self) -> str:
        return click.style(self.text, self.colour) if _is_coloured(self.colour) else self.text


def say_line(*parts: Part) -> None:
    """One line: on a terminal in colours and not wider than it, elsewhere whole and plain."""
    _clear()
    shown = [part._replace(text=visible(part.text)) for part in parts]
    if sys.stdout.isatty():
        shown = _fitted(shown, get_terminal_size().columns)
    click.echo("".join(map(str, shown)))


def say_wrapped(text: str, indent: int) -> None:
    """An explanation of our own below a line, in as many lines as a terminal needs."""
    columns = get_terminal_size().columns if sys.stdout.isatty() else PIPED_WIDTH
    before = " " * indent
    for line in wrap(visible(text), max(columns - indent, 20)):
        click.echo(before + line)


def say_meanwhile(text: str) -> None:
    """What is being waited for: on a terminal only, until the next line takes its place."""
    if not _is_clever_terminal():
        return
    _clear()
    (shown,) = _fitted([Part(visible(text))], get_terminal_size().columns - 1)
    click.echo(f"{shown}\r", nl=False)
    _meanwhile.append(shown.text)


def _clear() -> None:
    if _meanwhile:
        _meanwhile.clear()
        click.echo(_CLEAR_LINE, nl=False)


def _is_clever_terminal() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _is_coloured(colour: str | None) -> bool:
    """Nobody asked for none (no-color.org), and there is a terminal that can show it."""
    return colour is not None and not os.environ.get("NO_COLOR") and _is_clever_terminal()


def _fitted(parts: list[Part], width: int) -> list[Part]:
    """The parts as far as they fit into the columns, with an ellipsis if one is cut."""
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415  # only a terminal pays for it

    left = width
    for place, part in enumerate(parts):
        if cell_len(part.text) > left:
            cut = part._replace(text=f"{set_cell_size(part.text, max(left - 1, 0)).rstrip()}…")
            return parts[:place] if part.whole else [*parts[:place], cut]
        left -= cell_len(part.text)
    return parts


def complain(message: str) -> None:
    """One line on standard error, whatever it quotes."""
    _clear()
    click.echo(one_line(message), err=True)


def complain_of_defect(error: BaseException) -> None:
    """What Python would print of an exception that nobody foresaw, whatever it quotes."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    click.echo("\n".join(map(visible, lines)), err=True)


def is_interactive() -> bool:
    """Whether somebody is there to be asked."""
    return sys.stdin is not None and sys.stdin.isatty()


def confirm(question: str) -> bool:
    """Asks, and takes nothing but a yes for a yes."""
    return click.confirm(visible(question), err=True)


def say_table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    from rich.console import Console  # noqa: PLC0415  # only a table pays for these
    from rich.table import Table  # noqa: PLC0415

    table = Table(*map(visible, columns), box=None, pad_edge=False)
    for row in rows:
        table.add_row(*map(visible, row))
    width = None if sys.stdout.isatty() else PIPED_WIDTH
    Console(width=width, markup=False, emoji=False, highlight=False).print(table)
