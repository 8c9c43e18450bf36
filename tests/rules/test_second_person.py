"""The rule of the second person, as a function: whom it names, and what it counts."""

from datetime import date

import pytest

from laari.rules.actors import Actor
from laari.rules.banking.second_person import on_day, person, waits
from laari.rules.people.persons import is_same_person
from laari.rules.records.second_person import PersonDay

ANN = Actor("operator", "ann@laari.test", "finance")
TODAY = date(2026, 11, 18)


@pytest.mark.parametrize(
    ("amount", "alone", "above", "expected"),
    [
        (100, 0, 100, False),
        (101, 0, 100, True),
        (-101, 0, 100, True),
        (1, 99, 100, False),
        (1, 100, 100, True),
        (-1, 100, 100, True),
        (10**12, 10**12, None, False),
        (1, 0, 0, True),
    ],
)
def test_the_day_of_a_person_counts_in_both_directions(
    amount: int, alone: int, above: int | None, expected: bool
) -> None:
    assert waits(amount, alone, above) is expected


def test_a_person_is_the_same_in_other_letters_and_from_the_other_interface() -> None:
    shell, other = Actor("command_line", "Ann", "admin"), Actor("operator", "joann@laari.test")
    for same in (Actor("operator", "Ann@Laari.test"), shell):
        assert person(same) == person(ANN)
    assert person(other) != person(ANN)
    for name in ("operator ANN@laari.TEST", "command_line ann@laari.test", "command_line ANN"):
        assert is_same_person(name, ANN)
    for name in ("operator ANN@laari.test", "command_line ann", "person ann@shop.example"):
        assert is_same_person(name, shell)
    for name in ("operator joann@laari.test", "operator ann@laari.test.mv", "person ann"):
        assert not is_same_person(name, ANN)
    assert not is_same_person("command_line ann", other)


def test_a_clock_that_is_behind_does_not_begin_the_day_again() -> None:
    counted = PersonDay(person(ANN), TODAY, 70, movements=3)
    assert on_day(counted, TODAY) == counted
    assert on_day(counted, date(2026, 11, 17)) == counted
    assert on_day(counted, date(2026, 11, 19)) == PersonDay(
        person(ANN), date(2026, 11, 19), 0, movements=3
    )
