"""The balances of the bank's statement: from line to line, and from import to import.

A line leads from the balance before it to the balance after it. Without a gap, the lines form one
path: each balance at which a line ends is one at which the next line begins. This needs no order
within a day, so a statement can be imported in parts, and a missing day later.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple

from msgspec.structs import replace

from laari.rules.banking.bank_statement import StatementError, StatementLine
from laari.rules.money import rufiyaa


def in_order(lines: Sequence[StatementLine]) -> list[StatementLine]:
    """The lines of a file, oldest first, each with its balance if the file has any.

    A bank may write the newest line first, or the balance only at the end of a day. A balance that
    does not follow from the one before refuses the file.
    """
    if not lines:
        return []
    forward, backward = list(lines), list(reversed(lines))
    if lines[0].day > lines[-1].day:
        return _followed(backward)
    try:
        return _followed(forward)
    except StatementError:
        if lines[0].day < lines[-1].day:
            raise
        try:  # the newest line of a single day may be the first
            return _followed(backward)
        except StatementError:
            pass
        raise


def _followed(lines: list[StatementLine]) -> list[StatementLine]:
    total, balance = 0, None
    for line in lines:
        total += line.amount
        if line.balance is not None:
            balance = line.balance - total  # before the first line
            break
    if balance is None:
        return lines
    found = []
    for line in lines:
        balance += line.amount
        if line.balance not in (None, balance):
            given, follows = f"MVR {rufiyaa(line.balance or 0)}", f"MVR {rufiyaa(balance)}"
            message = f"the balance is {given}, but {follows} follows from the lines before"
            raise StatementError(f"line {line.number}: {message}")
        found.append(replace(line, balance=balance) if line.balance is None else line)
    return found


class DayBalances(NamedTuple):
    """The lines of a day as one path, if nothing is missing.

    `begins` are balances at which a line begins and none ends, `ends` the opposite. A day that ends
    with the balance of its beginning has neither, and `around` has its balances.
    """

    day: date
    begins: list[int]
    ends: list[int]
    around: frozenset[int] = frozenset()


class Gap(NamedTuple):
    """Lines are missing on this day or before: the balance jumps."""

    day: date
    before: int
    after: int


class Followed(NamedTuple):
    """The balance after the last day, and the gaps of all days."""

    closing: int | None
    last_day: date | None
    gaps: list[Gap]


def follow(days: Iterable[DayBalances]) -> Followed:
    """Walks through the days in their order."""
    closing: int | None = None
    last_day: date | None = None
    gaps: list[Gap] = []
    for day in days:
        last_day = day.day
        begins, ends = sorted(day.begins), sorted(day.ends)
        if not begins:
            # Any of its balances may be the one at which it began and ended.
            if closing is not None and closing not in day.around:
                gaps.append(Gap(day.day, closing, min(day.around)))
                closing = None
            continue
        if closing in begins:
            begins.remove(closing)
        else:
            first = begins.pop(0)
            gaps += [] if closing is None else [Gap(day.day, closing, first)]
        gaps += [Gap(day.day, ends.pop(0), each) for each in begins]
        closing = ends[0]
    return Followed(closing, last_day, gaps)


class Paths:
    """The balances of days, to which lines of a file are added a few at a time."""

    def __init__(self, stored: Iterable[DayBalances]) -> None:
        self._counts: dict[date, dict[int, int]] = {}  # how many more lines end there than begin
        self._around: dict[date, set[int]] = {}
        for day in stored:
            counted = Counter(day.ends)
            counted.subtract(day.begins)
            self._counts[day.day] = {value: many for value, many in counted.items() if many}
            self._around[day.day] = {*day.begins, *day.ends, *day.around}

    def add(self, lines: Iterable[StatementLine]) -> None:
        for line in lines:
            if line.balance is None:
                continue
            counts = self._counts.setdefault(line.day, {})
            before = line.balance - line.amount
            for value, sign in ((line.balance, 1), (before, -1)):
                many = counts.get(value, 0) + sign
                if many:
                    counts[value] = many
                else:
                    del counts[value]
            self._around.setdefault(line.day, set()).update((before, line.balance))

    def days(self) -> list[DayBalances]:
        return [
            DayBalances(
                day,
                begins=[value for value, many in counts.items() for _ in range(-many)],
                ends=[value for value, many in counts.items() for _ in range(many)],
                around=frozenset(self._around[day]),
            )
            for day, counts in sorted(self._counts.items())
        ]
