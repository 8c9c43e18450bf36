"""The one place that writes to the operator's terminal, and what makes text safe for it.

Names, titles, URLs and what receivers replied were written by strangers. On a terminal such text
can be a command: it clears the screen, sets the clipboard, turns the direction of what follows, or
begins a line that looks like ours. So characters that are not seen are shown by their numbers.
Nothing else in the command line prints; a test holds it to that.
"""

from __future__ import annotations

import os
import sys
import traceback
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import click

# Control characters (C0, DEL, C1), what turns or joins text without being seen, halves of pairs
# (which stand for bytes of an argument that were not UTF-8), separators of lines: by Unicode's
# category. Spaces are seen; those letters are not.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_UNSEEN_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
_NAMED = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
PIPED_WIDTH = 240  # columns: tables that are not read on a terminal keep their lines whole


def visible(text: str) -> str:
    """The text on one line, with what is not seen in it shown: `\\x1b[2J`."""
    return "".join(_shown(c) if _is_unseen(c) else c for c in text)


def visible_json(encoded: bytes) -> str:
    """JSON of the same value. Encoders escape only what JSON itself forbids: not DEL, C1, bidi."""
    return "".join(_escaped_for_json(c) if _is_unseen(c) else c for c in encoded.decode())


def path_text(path: Path) -> str:
    """A path as text, also where its name is not: the bytes then stand as their numbers."""
    return os.fsencode(path).decode(errors="backslashreplace")


def say(text: str) -> None:
    """Prints lines of our own; values within them that strangers wrote go through `visible`."""
    click.echo("\n".join(map(visible, text.split("\n"))))


def say_json(encoded: bytes) -> None:
    click.echo(visible_json(encoded))


def complain(message: str) -> None:
    """One line on standard error, whatever it quotes."""
    click.echo(f"laari: {visible(' '.join(message.split()))}", err=True)


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


def _is_unseen(character: str) -> bool:
    if character.isascii() and character.isprintable():
        return False  # nearly all of them
    return unicodedata.category(character) in _UNSEEN or character in _UNSEEN_LETTERS


def _shown(character: str) -> str:
    number = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _escaped_for_json(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
