"""Identifiers: shown and read back exactly, never confused, never repeated."""

import base64
import os
import re
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import and_, or_
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laari.rules import ids

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PREFIXES = [ids.PAYMENT, ids.PAYMENT_REQUEST, ids.AUTHORIZATION, ids.EVENT]
HEX = "0195c2a400007abc8def0123456789ab"


@given(st.uuids(), st.sampled_from(PREFIXES))
def test_shown_ids_read_back_under_their_own_prefix_only(value: UUID, prefix: str) -> None:
    text = ids.show_id(prefix, value)
    for other in PREFIXES:
        assert ids.read_id(other, text) == (value if other == prefix else None)


@given(st.text(max_size=40) | st.text("pay_0123456789abcdefABCDEF-", max_size=40))
def test_only_the_exact_form_counts(text: str) -> None:
    value = ids.read_id(ids.PAYMENT, text)
    assert value is None or ids.show_id(ids.PAYMENT, value) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "pay_",
        HEX,
        f"PAY_{HEX}",
        f"pay_{HEX.upper()}",
        f"pay_{UUID(HEX)}",
        f"pay_{{{HEX[2:]}}}",
        f"pay_urn:uuid:{HEX[9:]}",
        f"pay_{HEX[:-1]}",
        f"pay_{HEX}0",
        f"pay_{HEX}\n",
        f" pay_{HEX}",
        f"pay_{HEX[:-1]}g",
        f"pay_{HEX[:-1]}\u0661",
        f"pay_pay_{HEX[4:]}",
        f"pay_0x{HEX[2:]}",
        f"pay_{HEX[:10]}_{HEX[11:]}",
        f"pay_ {HEX[2:]} ",
    ],
)
def test_near_misses(text: str) -> None:
    assert ids.read_id(ids.PAYMENT, text) is None


def test_new_ids_follow_time_and_do_not_repeat() -> None:
    moments = [NOW + timedelta(milliseconds=n) for n in range(1_000)]
    made = [ids.new_id(moment, os.urandom) for moment in moments]
    stamps = [value.int >> 80 for value in made]
    assert stamps == [round(moment.timestamp() * 1_000) for moment in moments]
    assert len({value.int & (2**80 - 1) for value in made}) == 1_000


def test_the_same_moment_and_bytes_give_the_same_identifiers() -> None:
    for make in (ids.new_id, ids.new_token, ids.new_tid):
        assert make(NOW, bytes) == make(NOW, bytes)


def test_tokens_carry_128_random_bits_fit_for_an_address() -> None:
    made = {ids.new_token(NOW, os.urandom) for _ in range(3_000)}
    assert len(made) == 3_000
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{24}", token) for token in made)
    assert all(map(ids.is_token, made))
    # Behind the clock every bit is sometimes set and sometimes not: none is stuck.
    random_parts = [int.from_bytes(base64.urlsafe_b64decode(token)[2:], "big") for token in made]
    assert reduce(and_, random_parts) == 0
    assert reduce(or_, random_parts) == 2**128 - 1


def test_what_is_made_together_stands_together() -> None:
    assert len({ids.new_token(NOW, os.urandom)[:2] for _ in range(1_000)}) <= 2
    assert len({ids.new_tid(NOW, os.urandom)[:3] for _ in range(1_000)}) <= 2


def test_nothing_but_a_token_is_looked_up() -> None:
    assert ids.is_token(ids.new_token(NOW, os.urandom))
    assert not any(ids.is_token("a" * length) for length in (0, 22, 23, 25, 26))
    assert not ids.is_token("a" * 22 + "==")


def test_transaction_references_are_readable_and_random_behind_the_clock() -> None:
    made = {ids.new_tid(NOW, os.urandom) for _ in range(1_000)}
    assert len(made) == 1_000
    assert all(re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{16}", tid) for tid in made)
    assert all(len({tid[place] for tid in made}) == 32 for place in range(4, 16))
