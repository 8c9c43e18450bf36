"""Codes of the second factor: which steps count, how guesses wait, and what a phone is told."""

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pyotp
import pytest

from laari.rules.limits.second_factors import FACTOR_FREE_FAILURES, FACTOR_LONGEST_WAIT
from laari.rules.people.factor_codes import (
    accepted_step,
    otpauth_uri,
    read_code,
    step_at,
    wait_after,
)

SEED = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
NOW = datetime(2027, 7, 1, 18, 59, 59, tzinfo=UTC)  # a second before midnight in the Maldives


def code_at(moment: datetime) -> str:
    return pyotp.TOTP(SEED).at(moment)


@pytest.mark.parametrize(
    ("steps", "fits"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)]
)
def test_a_clock_may_be_one_step_off(steps: int, fits: bool) -> None:
    moment = NOW + timedelta(seconds=30 * steps)
    step = accepted_step(SEED, code_at(moment), NOW, last_step=0)
    assert step == (step_at(moment) if fits else None)


def test_a_step_counts_once_and_none_before_it() -> None:
    now = step_at(NOW)
    assert accepted_step(SEED, code_at(NOW), NOW, last_step=now - 1) == now
    assert accepted_step(SEED, code_at(NOW), NOW, last_step=now) is None
    earlier = code_at(NOW - timedelta(seconds=30))
    assert accepted_step(SEED, earlier, NOW, last_step=now) is None


@pytest.mark.parametrize(
    "code", ["", "12345", "1234567", "٠١٢٣٤٥", "½½½½½½", "\ud800" * 3, "000000 or"]
)
def test_anything_else_is_no_code(code: str) -> None:
    assert accepted_step(SEED, read_code(code.encode("utf-8", "replace").decode()), NOW, 0) is None


def test_codes_are_read_as_people_type_them() -> None:
    assert read_code(" 123 456\n") == "123456"
    assert read_code("K7QFM-9XWPA") == "k7qfm9xwpa"
    assert len(read_code("9" * 10_000)) == 40


def test_guesses_wait_longer_and_longer() -> None:
    waits = [wait_after(failures) for failures in range(30)]
    assert waits[:FACTOR_FREE_FAILURES] == [timedelta(0)] * FACTOR_FREE_FAILURES
    assert waits[FACTOR_FREE_FAILURES] == timedelta(minutes=1)
    assert waits[FACTOR_FREE_FAILURES + 1] == timedelta(minutes=2)
    assert waits == sorted(waits)
    assert waits[-1] == FACTOR_LONGEST_WAIT
    # Three codes of a million are valid at a time: a year of guesses finds one in 200 attempts.
    a_year = timedelta(days=365) / FACTOR_LONGEST_WAIT
    assert a_year * 3 / 1_000_000 < 0.005


def test_an_authenticator_application_reads_the_address() -> None:
    uri = otpauth_uri(SEED, "aisha+till@shop.mv", "Laari")
    assert urlsplit(uri).scheme == "otpauth"
    assert parse_qs(urlsplit(uri).query) == {"secret": [SEED], "issuer": ["Laari"]}
    read = pyotp.parse_uri(uri)
    assert (read.name, read.issuer) == ("aisha+till@shop.mv", "Laari")
    assert isinstance(read, pyotp.TOTP)
    assert read.at(NOW) == code_at(NOW)
