"""Which passwords may be chosen."""

import secrets

import pytest

from laari.rules.limits.passwords import MIN_PASSWORD_LENGTH
from laari.rules.people.passwords import COMMON, LIST, TOO_LONG, TOO_SHORT, password_problem
from laari.store.people.passwords import new_password


def test_the_length_has_bounds() -> None:
    words = " ".join(secrets.token_hex(4) for _ in range(200))
    assert password_problem("k7qf-m9xw") == TOO_SHORT
    assert password_problem("k7qf-m9xwz") is None
    assert password_problem(words[:1024]) is None
    assert password_problem(words[:1025]) == TOO_LONG


FULL_WIDTH = "1234567890".translate({ord("0") + n: 0xFF10 + n for n in range(10)})


@pytest.mark.parametrize(
    "password", ["1234567890", "QWERTYUIOP", "Password123", " password123 ", FULL_WIDTH]
)
def test_a_common_one_is_refused(password: str) -> None:
    assert password_problem(password) == COMMON


def test_every_password_of_the_list_counts() -> None:
    words = [line for line in LIST.read_text().splitlines() if not line.startswith("#")]
    assert len(words) > 1_000
    assert all(len(word) >= MIN_PASSWORD_LENGTH for word in words)
    assert {password_problem(word) for word in words} == {COMMON}


def test_generated_ones_are_taken() -> None:
    assert all(password_problem(new_password()) is None for _ in range(200))
