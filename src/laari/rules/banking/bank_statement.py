"""A bank's statement as CSV, read strictly: one wrong line, and the whole file is refused.

Its columns are date, reference, description, debit, credit and balance, in any order. Amounts are
rufiyaa. `reference` is the bank's own name for the line, by which it is imported once.
"""

import csv
import io
import re
from datetime import date

from msgspec import Struct

from laari.rules.money import MAX_MONEY, read_rufiyaa
from laari.visible import visible

COLUMNS = ("date", "reference", "description", "debit", "credit", "balance")
MAX_LINES = 10_000
MAX_BYTES = 4 * 1024 * 1024
MAX_REFERENCE = 100  # like a slip of a top-up
MAX_DESCRIPTION = 500
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


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


def read_statement(content: bytes) -> list[StatementLine]:
    """All lines of the file, in its order."""
    rows = csv.reader(io.StringIO(_decoded(content), newline=""), strict=True)
    found: dict[str, StatementLine] = {}
    names: list[str] | None = None
    try:
        for row in rows:
            if not row or row == [""]:
                continue
            if names is None:
                names = _header(row, rows.line_num)
            else:
                _add(found, _line(names, row, rows.line_num))
    except csv.Error as error:
        raise StatementError(f"line {rows.line_num}: not CSV ({error})") from None
    if names is None:
        raise StatementError("line 1: the file is empty")
    return list(found.values())


def _decoded(content: bytes) -> str:
    if len(content) > MAX_BYTES:
        raise StatementError(f"the file is longer than {MAX_BYTES // 1024 // 1024} MiB")
    null = content.find(b"\0")
    if null >= 0:
        number = content.count(b"\n", 0, null) + 1
        raise StatementError(f"line {number}: a null byte")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise StatementError(f"line {number}: not UTF-8 text") from None


def _add(found: dict[str, StatementLine], line: StatementLine) -> None:
    first = found.setdefault(line.reference, line)
    if first is not line:
        same = f"line {first.number} has the same reference, {visible(line.reference)!r}"
        raise StatementError(f"line {line.number}: {same}")
    if len(found) > MAX_LINES:
        raise StatementError(f"the file has more than {MAX_LINES} lines")


def _header(row: list[str], number: int) -> list[str]:
    names = [name.strip().lower() for name in row]
    if sorted(names) != sorted(COLUMNS):
        raise StatementError(f"line {number}: the columns must be {', '.join(COLUMNS)}")
    return names


def _line(names: list[str], row: list[str], number: int) -> StatementLine:
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
        day=_day(cells["date"], number),
        reference=_text(cells, "reference", MAX_REFERENCE, number),
        description=_text(cells, "description", MAX_DESCRIPTION, number),
        amount=amount,
        balance=_balance(cells["balance"], number),
    )


def _day(text: str, number: int) -> date:
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise StatementError(f"line {number}: the date {visible(text)!r} is not like 2027-07-01")


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
