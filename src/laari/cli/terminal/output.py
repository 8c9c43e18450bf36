"""The only module that writes to the terminal; untrusted text goes through `visible` first."""

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
_meanwhile: list[str] = []  # the text that the next line replaces
PIPED_WIDTH = 240  # columns without a terminal: table lines are not wrapped


def path_text(path: Path) -> str:
    """Returns a path as text; bytes that are not UTF-8 are escaped."""
    return os.fsencode(path).decode(errors="backslashreplace")


def say(text: str) -> None:
    click.echo("\n".join(map(visible, text.split("\n"))))


def say_json(encoded: bytes) -> None:
    click.echo(visible_json(encoded))


class Part(NamedTuple):
    """A part of a line; its text may be untrusted."""

    text: str
    colour: str | None = None  # a name of click's colours
    whole: bool = False  # omitted if it does not fit, such as an id

    def __str__(self) -> str:
        is_plain = self.colour is None or os.environ.get("NO_COLOR")  # no-color.org
        if is_plain or not _is_clever_terminal():
            return self.text
        return click.style(self.text, self.colour)


def say_line(*parts: Part) -> None:
    """Prints one line: coloured and cut to fit on a terminal, elsewhere complete and plain."""
    _clear()
    shown = [part._replace(text=visible(part.text)) for part in parts]
    if sys.stdout.isatty():
        shown = _fitted(shown, get_terminal_size().columns)
    click.echo("".join(map(str, shown)))


def say_wrapped(text: str, indent: int) -> None:
    """Prints an explanation below a line, wrapped to the terminal."""
    columns = get_terminal_size().columns if sys.stdout.isatty() else PIPED_WIDTH
    before = " " * indent
    for line in wrap(visible(text), max(columns - indent, 20)):
        click.echo(before + line)


def say_meanwhile(text: str) -> None:
    """Shows the current step on a terminal, until the next line replaces it."""
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


def _fitted(parts: list[Part], width: int) -> list[Part]:
    """Returns the parts that fit into the columns, with an ellipsis if one is cut."""
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415  # rich loads slowly

    left = width
    for place, part in enumerate(parts):
        if cell_len(part.text) > left:
            cut = part._replace(text=f"{set_cell_size(part.text, max(left - 1, 0)).rstrip()}…")
            return parts[:place] if part.whole else [*parts[:place], cut]
        left -= cell_len(part.text)
    return parts


def complain(message: str) -> None:
    _clear()
    click.echo(one_line(message), err=True)


def complain_of_defect(error: BaseException) -> None:
    lines = "".join(traceback.format_exception(error)).splitlines()
    click.echo("\n".join(map(visible, lines)), err=True)


def is_interactive() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def confirm(question: str) -> bool:
    return click.confirm(visible(question), err=True)


def say_table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    from rich.console import Console  # noqa: PLC0415  # rich loads slowly
    from rich.table import Table  # noqa: PLC0415

    table = Table(*map(visible, columns), box=None, pad_edge=False)
    for row in rows:
        table.add_row(*map(visible, row))
    width = None if sys.stdout.isatty() else PIPED_WIDTH
    Console(width=width, markup=False, emoji=False, highlight=False).print(table)
