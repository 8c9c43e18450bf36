"""The balance column of a statement has no gap, from line to line and from import to import."""

import random
from datetime import date, timedelta

import pytest
from msgspec.structs import replace

from laari.rules.banking.bank_balances import DayBalances, Gap, Paths, follow, in_order
from laari.rules.banking.bank_statement import StatementError, StatementLine

DAY = date(2026, 11, 18)


def with_lines(stored: list[DayBalances], lines: list[StatementLine]) -> list[DayBalances]:
    paths = Paths(stored)
    paths.add(lines)
    return paths.days()


def account(amounts: list[tuple[int, int]], opening: int = 0) -> list[StatementLine]:
    """Lines with (day, amount), as a bank writes them."""
    lines, balance = [], opening
    for number, (day, amount) in enumerate(amounts, 2):
        balance += amount
        when = DAY + timedelta(days=day)
        lines.append(StatementLine(number, when, f"FT{number}", "x", amount, balance))
    return lines


LINES = account([(0, 500), (0, -200), (1, 50), (1, 50), (2, -400)], opening=1_000)


def test_lines_are_taken_oldest_first() -> None:
    assert in_order(LINES) == LINES
    assert in_order(LINES[::-1]) == LINES
    one_day = account([(0, 500), (0, -200), (0, 50)])
    assert in_order(one_day[::-1]) == one_day
    assert in_order([]) == []


def test_missing_balances_follow_from_the_others() -> None:
    """A bank may write the balance only at the end of a day, or never."""
    partly = [replace(line, balance=None) if line.number != 4 else line for line in LINES]
    assert in_order(partly) == LINES
    assert in_order(partly[::-1]) == LINES
    bare = [replace(line, balance=None) for line in LINES]
    assert in_order(bare) == bare
    assert in_order(bare[::-1]) == bare


@pytest.mark.parametrize("wrong", range(5))
def test_a_balance_that_does_not_follow_refuses_the_file(wrong: int) -> None:
    changed = list(LINES)
    changed[wrong] = replace(changed[wrong], balance=1)
    for lines in (changed, changed[::-1]):
        with pytest.raises(StatementError, match=r"line \d+: the balance is MVR .*, but MVR"):
            in_order(lines)
    with pytest.raises(StatementError, match="line 5"):  # a line is missing
        in_order([line for line in LINES if line.number != 4])


def followed(lines: list[StatementLine]) -> tuple[int | None, list[Gap]]:
    found = follow(with_lines([], lines))
    return found.closing, found.gaps


def test_lines_without_a_gap_lead_to_the_closing() -> None:
    assert followed(LINES) == (1_000, [])
    assert followed([]) == (None, [])
    assert followed(LINES[:3]) == (1_350, [])


def test_a_missing_day_is_a_gap() -> None:
    without = [line for line in LINES if line.day != DAY + timedelta(days=1)]
    assert followed(without) == (1_000, [Gap(DAY + timedelta(days=2), 1_300, 1_400)])
    in_the_day = [line for line in LINES if line.number != 4]
    closing, gaps = followed(in_the_day)
    assert (closing, [gap.day for gap in gaps]) == (1_000, [DAY + timedelta(days=1)])


def test_a_day_that_ends_where_it_began_is_no_gap_unless_it_begins_elsewhere() -> None:
    lines = account([(0, 500), (1, 70), (1, -70), (2, 1)])
    assert followed(lines) == (501, [])
    elsewhere = account([(1, 70), (1, -70)], opening=900)
    closing, gaps = followed([lines[0], *elsewhere])
    assert (closing, gaps) == (None, [Gap(DAY + timedelta(days=1), 500, 900)])


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_imports_does_not_matter(seed: int) -> None:
    """Parts of a statement come in any order; gaps are there exactly while a part is missing."""
    rng = random.Random(seed)
    days = sorted(rng.randrange(6) for _ in range(30))
    lines = account([(day, rng.choice((-30, -7, 5, 11, 100))) for day in days], opening=10_000)
    left, stored = list(lines), list[StatementLine]()
    while left:
        start = rng.randrange(len(left))
        part, left = left[start : start + 8], left[:start] + left[start + 8 :]
        half = with_lines([], stored)  # the store sums up what it has
        found = follow(with_lines(half, part))
        stored += part
        assert found == follow(with_lines([], stored))
    closing, gaps = followed(stored)
    assert (closing, gaps) == (lines[-1].balance, [])


def test_the_store_needs_to_know_only_the_ends_of_a_day() -> None:
    stored = [DayBalances(DAY, begins=[0], ends=[500])]
    [day] = with_lines(stored, account([(0, 20)], opening=500))
    assert (day.begins, day.ends) == ([0], [520])
