"""Which passwords may be chosen."""

from __future__ import annotations

import secrets
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laari.rules.passwords import (
    COMMON,
    LIST,
    MIN_LENGTH,
    OWN,
    TOO_LONG,
    TOO_SHORT,
    password_problem,
)
from laari.store.passwords import new_password


@pytest.mark.parametrize("password", ["", "x", "k7qf-m9xw", "123456789"])
def test_a_short_one_is_refused(password: str) -> None:
    assert password_problem(password) == TOO_SHORT


def test_a_password_has_an_end() -> None:
    words = " ".join(secrets.token_hex(4) for _ in range(200))
    assert password_problem(words[:1024]) is None
    assert password_problem(words[:1025]) == TOO_LONG


@pytest.mark.parametrize(
    "password",
    """1234567890 qwertyuiop 0987654321 q1w2e3r4t5 password123 PASSWORD123 Password123! P@ssw0rd123
    passw0rd2026 2026welcome! Manchester realmadrid dragonball12 aaaaaaaaaa abcabcabcabc abcdefghij
    zyxwvutsrqponm passwordpassword 1111111112 asdfghjkl1 letmein1234 maldives2026 !!iloveyou!!
    dragon1234567890 1q2w3e4r5t6y""".split(),
)
def test_a_common_one_is_refused(password: str) -> None:
    assert password_problem(password) == COMMON


@pytest.mark.parametrize(
    "password",
    [
        "correct horse",
        "a better password",
        "two flat whites",
        "k7qf-m9xw-abcd-2345",
        "dragon 8 moonlit reefs",
        "ދިވެހި ރާއްޖެ އެއްވަރު",
        "love-83920-reef",
    ],
)
def test_others_are_taken(password: str) -> None:
    assert password_problem(password, "Aishath Ibrahim", "7771234", "aishath@example.mv") is None


@pytest.mark.parametrize(
    "password",
    [
        "aishath ibrahim",
        "AishathIbrahim99",
        "9607771234",
        "+960 777-1234",
        "aisha.ib@example.mv",
        "aisha.ib2026",
        "moonreef@2026",
    ],
)
def test_what_everybody_knows_of_its_owner_is_refused(password: str) -> None:
    others = ("Aishath Ibrahim", "7771234", "aisha.ib@example.mv", "moonreef", None, "")
    assert password_problem(password, *others) == OWN
    assert password_problem(password) is None or password == "9607771234"


def test_generated_ones_are_taken() -> None:
    assert all(password_problem(new_password()) is None for _ in range(200))


def test_every_word_of_the_list_is_refused_as_it_is_and_decorated() -> None:
    words = [line for line in LIST.read_text().splitlines() if not line.startswith("#")]
    assert len(words) > 9_000
    for word in words[::7]:
        if len(word) >= MIN_LENGTH:
            assert password_problem(word.upper()) == COMMON
        if word.isalpha() and len(word) >= 7:
            assert password_problem(f"{word.title()}!26") is not None


@given(st.text(max_size=1100), st.lists(st.text(max_size=30), max_size=3))
def test_any_text_has_an_answer(password: str, others: list[str]) -> None:
    problem = password_problem(password, *others)
    assert (problem is None) <= (len(password) >= MIN_LENGTH)


def test_a_long_one_takes_no_time() -> None:
    began = time.process_time()
    for text in ("a" * 1024, "ab" * 512, "1" * 1023 + "x", "-" * 512 + "a" + "-" * 511):
        password_problem(text, "a" * 300)
    assert time.process_time() - began < 0.5
