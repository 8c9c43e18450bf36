"""A bank's statement as CSV, read strictly: one wrong line, and the whole file is refused.

It is read in slices, so that a long file holds nothing up. Its columns are date, reference,
description, debit, credit and balance, in any order. Amounts are rufiyaa. `reference` is the bank's
own name for the line, by which it is imported once.
"""

import codecs
import csv
import io
from collections.abc import Iterator
from datetime import date, timedelta

from msgspec import Struct

from laari.rules.calendar import read_date
from laari.rules.money import MAX_MONEY, read_rufiyaa
from laari.visible import visible

COLUMNS = ("date", "reference", "description", "debit", "credit", "balance")
MAX_LINES = 10_000  # without the header
SLICE = 100  # lines, read in about 2 ms
MAX_BYTES = 10 * 1024 * 1024
MAX_LINE = 16 * 1024  # bytes; the longest texts of a line have 2,400
MAX_REFERENCE = 100  # like a slip of a top-up
MAX_DESCRIPTION = 500
# A file of another year is a mistake. A bank may date a line with its next working day.
_PAST, _AHEAD = timedelta(days=731), timedelta(days=7)


class StatementLine(Struct, frozen=True):
    """Money that came to the bank account, or left it if the amount is negative."""

    number: int  # of the line in the file, counted from 1
    day: date
    reference: str
    description: str
    amount: int
    balance: int | None  # after this line


class StatementError(Exception):
    """The file cannot be read; the message names the line."""


def statement_slices(content: bytes, today: date) -> Iterator[list[StatementLine]]:
    """The lines of the file in its order, in slices. Only the end accepts the file."""
    numbers: dict[str, int] = {}  # of lines, by their reference
    names: list[str] | None = None
    found: list[StatementLine] = []
    for number, row in _rows(content):
        if number % SLICE == 0:
            yield found
            found = []
        if not row or row == [""]:
            continue
        if names is None:
            names = _header(row, number)
            continue
        line = _line(names, row, number, today)
        first = numbers.setdefault(line.reference, number)
        if first != number:
            same = f"line {first} has the same reference, {visible(line.reference)!r}"
            raise StatementError(f"line {number}: {same}")
        found.append(line)
    if names is None:
        raise StatementError("line 1: the file is empty")
    yield found


def _rows(content: bytes) -> Iterator[tuple[int, list[str]]]:
    """Each line of the file with its number. No cell has a line break."""
    if len(content) > MAX_BYTES:
        raise StatementError(f"the file is longer than {MAX_BYTES // 1024 // 1024} MiB")
    file = io.BytesIO(content)
    if content.startswith(codecs.BOM_UTF8):
        file.seek(len(codecs.BOM_UTF8))
    for number in range(1, MAX_LINES + 2):
        line = file.readline(MAX_LINE + 1)
        if not line:
            return
        if len(line) > MAX_LINE:
            raise StatementError(f"line {number}: longer than {MAX_LINE // 1024} KiB")
        if b"\0" in line:
            raise StatementError(f"line {number}: a null byte")
        try:
            yield number, next(csv.reader([line.decode()], strict=True))
        except UnicodeDecodeError:
            raise StatementError(f"line {number}: not UTF-8 text") from None
        except csv.Error as error:
            raise StatementError(f"line {number}: not CSV ({error})") from None
    if file.read(1):
        raise StatementError(f"the file has more than {MAX_LINES} lines")


def _header(row: list[str], number: int) -> list[str]:
    names = [name.strip().lower() for name in row]
    if sorted(names) != sorted(COLUMNS):
        raise StatementError(f"line {number}: the columns must be {', '.join(COLUMNS)}")
    return names


def _line(names: list[str], row: list[str], number: int, today: date) -> StatementLine:
    if len(row) != len(names):
        raise StatementError(f"line {number}: {len(row)} fields instead of {len(names)}")
    cells = {name: cell.strip() for name, cell in zip(names, row, strict=True)}
    debit, credit = (_amount(cells, name, number) for name in ("debit", "credit"))
    if (debit is None) == (credit is None):
        raise StatementError(f"line {number}: exactly one of debit and credit must be an amount")
    amount = credit if debit is None else -debit
    assert amount is not None
    return StatementLine(
        number=number,
        day=_day(cells["date"], number, today),
        reference=_text(cells, "reference", MAX_REFERENCE, number),
        description=_text(cells, "description", MAX_DESCRIPTION, number),
        amount=amount,
        balance=_balance(cells["balance"], number),
    )


def _day(text: str, number: int, today: date) -> date:
    shown = f"line {number}: the date {visible(text)!r}"
    day = read_date(text)
    if day is None:
        raise StatementError(f"{shown} is not like 2027-07-01")
    if day < today - _PAST:
        raise StatementError(f"{shown} is more than two years ago")
    if day > today + _AHEAD:
        raise StatementError(f"{shown} is more than a week ahead")
    return day


def _text(cells: dict[str, str], name: str, longest: int, number: int) -> str:
    text = cells[name]
    if not 1 <= len(text) <= longest or not text.isprintable():
        raise StatementError(f"line {number}: the {name} must have 1 to {longest} characters")
    return text


def _amount(cells: dict[str, str], name: str, number: int) -> int | None:
    """An amount above zero; None if the cell is empty or zero."""
    laari = _laari(cells[name], name, number)
    if laari is not None and laari < 0:
        raise StatementError(f"line {number}: the {name} is negative")
    return laari or None


def _balance(text: str, number: int) -> int | None:
    return _laari(text, "balance", number)


def _laari(text: str, name: str, number: int) -> int | None:
    if not text:
        return None
    laari = read_rufiyaa(text)
    if laari is None or abs(laari) > MAX_MONEY:
        raise StatementError(
            f"line {number}: the {name} {visible(text)!r} is not an amount such as 1,250.00"
        )
    return laari
