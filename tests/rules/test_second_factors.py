"""The rules of second factors without a database, in every order of steps."""

import os
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pyotp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laari.rules.actors import Actor
from laari.rules.limits.second_factors import (
    FACTOR_FREE_FAILURES,
    FACTOR_SET_UP_WITHIN,
    RECOVERY_CODES,
)
from laari.rules.master_key import Keys
from laari.rules.people.second_factors import (
    BeginFactor,
    CheckFactor,
    ConfirmFactor,
    RemoveFactor,
    RenewRecoveryCodes,
    TurnOffFactor,
)
from laari.rules.records.people import LogIn, Person, PersonId, SecondFactor
from laari.rules.refusals import Refusal
from laari.rules.world import World

NOW = datetime(2026, 11, 18, 9, tzinfo=UTC)
ALI = Person(UUID(int=8), "ali@shop.mv", NOW, "hash")
WHOSE = PersonId(ALI.id)
ACTOR = Actor("person", ALI.email, "owner")
OWN, OTHER = b"own session", b"another one"


def encrypt(text: bytes, context: bytes) -> bytes:
    return context + b"\n" + text


def decrypt(stored: bytes, context: bytes) -> bytes | None:
    found, _, text = stored.partition(b"\n")
    return text if found == context else None


KEYS = Keys(encrypt, lambda purpose, value: f"{purpose} {value}".encode(), decrypt)


class Book:
    """One person with two sessions, and the factor as the steps before left it."""

    def __init__(self, required: bool = False) -> None:
        self.now = NOW
        self.required = required
        self.factor: SecondFactor | None = None
        self.sessions = {OWN, OTHER}
        self.recovery: list[str] = []
        self.entries: list[Any] = []

    def run(self, command: Any) -> Any:
        world = World(self.now, "http://laari.test", os.urandom, keys=KEYS)
        world.persons.lock(ALI.id, ALI)
        world.places[ALI.id] = {}
        world.factor_required[ALI.id] = self.required
        world.log_ins_of[ALI.id] = frozenset(self.sessions)
        for digest in self.sessions:
            world.log_ins.lock(digest, LogIn(digest, None, ALI.id, []))
        if self.factor is not None:
            world.second_factors.lock(ALI.id, self.factor)
        outcome = command.decide(world)
        self.factor = world.second_factors.get(ALI.id)
        self.sessions -= world.log_ins.removed.keys()
        self.entries += world.journal
        if isinstance(outcome, list):
            self.recovery = outcome
        return outcome

    @property
    def seed(self) -> str:
        assert self.factor is not None
        return self.factor.seed_encrypted.partition(b"\n")[2].decode()

    @property
    def code(self) -> str:
        return pyotp.TOTP(self.seed).at(self.now) if self.factor is not None else "000000"

    def confirm(self, code: str | None = None, session: bytes = OWN) -> Any:
        return self.run(ConfirmFactor(ACTOR, WHOSE, session, code or self.code))

    def check(self, code: str | None = None) -> Any:
        return self.run(CheckFactor(WHOSE, code or self.code))


def turned_on(*, required: bool = False) -> Book:
    book = Book(required)
    book.run(BeginFactor(ACTOR, WHOSE, OWN))
    assert len(book.confirm()) == RECOVERY_CODES
    book.now += timedelta(minutes=5)
    return book


def is_wrong(outcome: Any) -> bool:
    """Whether a code was looked at and refused: the next one may be given at once."""
    return isinstance(outcome, Refusal) and (outcome.field, outcome.retry_after) == ("code", None)


STEPS = {
    "begin": lambda book: book.run(BeginFactor(ACTOR, WHOSE, OWN)),
    "confirm": lambda book: book.confirm(),
    "check": lambda book: book.check(),
    "guess": lambda book: book.check("wrong"),
    "recover": lambda book: book.check(book.recovery[0] if book.recovery else "none"),
    "renew": lambda book: book.run(RenewRecoveryCodes(ACTOR, WHOSE)),
    "off": lambda book: book.run(TurnOffFactor(ACTOR, WHOSE)),
    "a step": lambda book: setattr(book, "now", book.now + timedelta(seconds=30)),
    "an hour": lambda book: setattr(book, "now", book.now + timedelta(hours=1)),
}


@given(st.lists(st.sampled_from([*STEPS]), max_size=20))
def test_in_any_order_no_code_counts_twice(steps: list[str]) -> None:
    book, accepted = Book(), set[tuple[str, int]]()
    for step in steps:
        before = book.factor
        STEPS[step](book)
        after = book.factor
        if before is None or after is None or before.seed_encrypted != after.seed_encrypted:
            continue
        if after.last_step != before.last_step:
            assert (book.seed, after.last_step) not in accepted
            accepted.add((book.seed, after.last_step))
        # A wait neither ends early nor lets a code through.
        blocked = before.blocked_until
        if blocked is not None and blocked > book.now and step != "renew":
            assert after == before
        assert after.failures in (0, before.failures, before.failures + 1)


def test_a_seed_counts_from_its_first_code_on_in_its_own_session() -> None:
    book = Book()
    book.run(BeginFactor(ACTOR, WHOSE, OWN))
    first = book.seed
    book.now += timedelta(seconds=1)
    book.run(BeginFactor(ACTOR, WHOSE, OWN))
    assert book.seed != first
    assert is_wrong(book.check())
    assert "Start again" in book.confirm(session=OTHER).message
    assert is_wrong(book.confirm("000000"))
    assert isinstance(book.confirm(), list)
    assert book.sessions == {OWN}
    assert is_wrong(book.check())  # the code of the set-up is used up
    again = book.run(BeginFactor(ACTOR, WHOSE, OWN))
    assert "Start again" in again.message
    assert [each.action for each in book.entries] == [
        *["second_factor.begin"] * 2,
        "second_factor.confirm",
    ]


def test_a_set_up_expires() -> None:
    book = Book()
    assert "Start again" in book.confirm().message
    book.run(BeginFactor(ACTOR, WHOSE, OWN))
    book.now += FACTOR_SET_UP_WITHIN
    assert "Start again" in book.confirm().message
    assert book.sessions == {OWN, OTHER}


def test_a_code_is_accepted_once_and_has_no_entry() -> None:
    book = turned_on()
    count = len(book.entries)
    assert book.check() is None
    assert is_wrong(book.check())
    book.now += timedelta(seconds=30)
    assert book.check() is None
    assert len(book.entries) == count


def test_guesses_wait_and_a_right_code_does_not_end_the_wait() -> None:
    book = turned_on()
    for _ in range(FACTOR_FREE_FAILURES - 1):
        assert is_wrong(book.check("wrong"))
    assert book.check("wrong").retry_after == 60
    assert "Wait a minute" in book.check().message
    assert book.check(book.recovery[0]).code == "rate_limited"
    book.now += timedelta(minutes=1)
    assert book.check("wrong").retry_after == 120
    book.now += timedelta(minutes=2)
    assert book.check() is None
    assert is_wrong(book.check("wrong"))


def test_a_recovery_code_works_once_and_takes_no_step() -> None:
    book = turned_on()
    first = book.recovery[0]
    assert book.check(first.upper().replace("-", " ")) is None
    assert is_wrong(book.check(first))
    assert book.check() is None
    assert book.factor is not None
    assert len(book.factor.recovery_codes) == RECOVERY_CODES - 1
    book.run(RenewRecoveryCodes(ACTOR, WHOSE))
    assert is_wrong(book.check(first))
    assert book.check(book.recovery[1]) is None


def test_without_a_factor_there_are_no_codes() -> None:
    book = Book()
    assert is_wrong(book.check("000000"))
    assert "Start again" in book.run(RenewRecoveryCodes(ACTOR, WHOSE)).message
    book.run(BeginFactor(ACTOR, WHOSE, OWN))
    assert "Start again" in book.run(RenewRecoveryCodes(ACTOR, WHOSE)).message


def test_a_seed_of_another_key_fits_no_code() -> None:
    book = turned_on()
    assert book.factor is not None
    code = book.code
    book.factor = SecondFactor(ALI.id, b"another context\n" + book.seed.encode(), NOW, NOW)
    assert is_wrong(book.check(code))


@pytest.mark.parametrize("required", [False, True])
def test_a_required_factor_is_not_turned_off(required: bool) -> None:
    book = turned_on(required=required)
    outcome = book.run(TurnOffFactor(ACTOR, WHOSE))
    assert isinstance(outcome, Refusal) == required
    assert (book.factor is None) != required


@pytest.mark.parametrize(
    ("actor", "may"),
    [
        (Actor("operator", "a@laari.mv", "admin"), True),
        (Actor("operator", "s@laari.mv", "support"), False),
        (ACTOR, False),
    ],
)
def test_only_an_admin_removes_the_factor_of_somebody_else(actor: Actor, may: bool) -> None:
    book = turned_on(required=True)
    assert (book.run(RemoveFactor(actor, WHOSE)) is True) == may
    assert (book.factor is None) == may
    if may:
        assert book.run(RemoveFactor(actor, WHOSE)) is False
        actions = [each.action for each in book.entries[-2:]]
        assert actions == ["second_factor.remove", "log_in.help"]
