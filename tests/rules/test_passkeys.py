"""The rules of passkeys without a database: who adds and ends them, and which answers count."""

import hashlib
import os
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json
from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.ids import CUSTOMER, show_id
from laari.rules.journal import SETTINGS, state
from laari.rules.limits.passkeys import PASSKEY_CHALLENGE_LIFE, PASSKEYS
from laari.rules.master_key import Keys
from laari.rules.people.log_ins import ResetPassword, SetPassword
from laari.rules.people.passkey_challenges import (
    RANDOM_BYTES,
    Bound,
    ForAdding,
    ForLogIn,
    made_at,
    new_challenge,
)
from laari.rules.people.passkeys import (
    COPIED,
    KNOWN,
    MAX_CREDENTIAL,
    MAX_NAME,
    MAX_PUBLIC_KEY,
    STALE,
    AddPasskey,
    EndPasskey,
    EndPasskeys,
    UsePasskey,
    goes_on,
)
from laari.rules.records.people import Customer, CustomerId, Passkey
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.actors import OPERATOR
from tests.rules.test_contact_changes import AISHA

NOW = datetime(2026, 11, 18, 9, tzinfo=UTC)
SECOND = timedelta(seconds=1)
OWN = Actor("customer", show_id(CUSTOMER, AISHA.id))
SUPPORT = Actor("operator", "s@laari.mv", "support")
FINANCE = Actor("operator", "f@laari.mv", "finance")
BROWSER = "a browser"
OTHER = UUID(int=9)


def digest(purpose: str, value: str) -> bytes:
    return hashlib.sha256(f"{purpose} {value}".encode()).digest()


KEYS = Keys(lambda text, context: text, digest, lambda stored, context: stored)


def challenge(bound: Bound, now: datetime = NOW) -> bytes:
    return new_challenge(digest, now, os.urandom(RANDOM_BYTES), bound)


class Book:
    """One customer and the passkeys, as the steps before left them."""

    def __init__(self, customer: Customer = AISHA) -> None:
        self.now = NOW
        self.customer = customer
        self.passkeys: dict[UUID, Passkey] = {}
        self.entries: list[Any] = []
        self.messages: list[Any] = []

    def world(self) -> World:
        channels = frozenset({"email", "sms"})
        world = World(self.now, "http://laari.test", os.urandom, channels, KEYS)
        world.customers.lock(self.customer.id, self.customer)
        world.log_ins_of[self.customer.id] = frozenset()
        if self.customer.sandbox_of is not None:
            world.sandbox_shops[self.customer.id] = "mer_shop"
        for passkey in self.passkeys.values():
            world.passkeys.lock(passkey.id, passkey)
            world.passkey_ids[passkey.credential] = passkey.id
        world.passkeys_of[self.customer.id] = frozenset(each.id for each in self.usable)
        world.devices_of[self.customer.id] = frozenset()
        world.wallet_keys_of[self.customer.id] = frozenset()
        return world

    def run(self, *commands: Any) -> Any:
        """The outcome of the last one; all are decided in one batch."""
        world = self.world()
        outcome = [command.decide(world) for command in commands][-1]
        self.passkeys |= world.passkeys.added | world.passkeys.changed
        self.customer = world.customers.changed.get(self.customer.id, self.customer)
        self.entries += world.journal
        self.messages += world.messages
        return outcome

    def end(self, passkey_id: UUID, actor: Actor = OWN) -> Any:
        return self.run(EndPasskey(actor, AISHA.id, passkey_id, b"session"))

    @property
    def usable(self) -> list[Passkey]:
        return [each for each in self.passkeys.values() if each.ended_at is None]

    @property
    def last(self) -> Passkey:
        return [*self.passkeys.values()][-1]

    def add(self, **changes: Any) -> Any:
        assert self.customer.password_hash is not None
        bound = ForAdding(self.customer.id, self.customer.password_hash, BROWSER)
        fields = {
            "actor": OWN,
            "customer_id": self.customer.id,
            "name": "Phone",
            "credential": f"credential {len(self.passkeys)}".encode(),
            "public_key": b"key",
            "counter": 0,
            "challenge": challenge(bound, self.now),
            "browser": BROWSER,
        }
        return self.run(AddPasskey(**{**fields, **changes}))

    def use(self, counter: int, **changes: Any) -> Any:
        bound = ForLogIn(self.customer.mode, None, BROWSER)
        fields = {
            "passkey_id": self.last.id,
            "customer_id": self.customer.id,
            "public_key": self.last.public_key,
            "counter": counter,
            "challenge": challenge(bound, self.now),
            "bound": bound,
        }
        return self.run(UsePasskey(**{**fields, **changes}))


def with_one(**fields: Any) -> Book:
    book = Book(replace(AISHA, **fields))
    assert isinstance(book.add(), Passkey)
    return book


# Challenges.

FOR_LOG_IN = ForLogIn("live", "/pay/abc", BROWSER)


def test_a_challenge_says_when_it_was_made() -> None:
    moment = NOW.replace(microsecond=123_456)
    assert made_at(digest, challenge(FOR_LOG_IN, moment), FOR_LOG_IN, NOW) == moment


@pytest.mark.parametrize(
    "other",
    [
        ForLogIn("sandbox", "/pay/abc", BROWSER),
        ForLogIn("live", "/pay/abd", BROWSER),
        ForLogIn("live", None, BROWSER),
        ForLogIn("live", "/pay/abc", "another browser"),
        ForAdding(AISHA.id, "hash", BROWSER),
    ],
)
def test_a_challenge_is_bound_to_its_page_mode_and_browser(other: Bound) -> None:
    assert made_at(digest, challenge(FOR_LOG_IN), other, NOW) is None
    assert made_at(digest, challenge(other), FOR_LOG_IN, NOW) is None


@given(st.integers(0, 55), st.integers(1, 255))
def test_no_byte_of_a_challenge_can_be_another_one(place: int, change: int) -> None:
    changed = bytearray(challenge(FOR_LOG_IN))
    changed[place] ^= change
    assert made_at(digest, bytes(changed), FOR_LOG_IN, NOW) is None


@given(st.binary(max_size=80))
def test_what_is_no_challenge_is_none(value: bytes) -> None:
    assert made_at(digest, value, FOR_LOG_IN, NOW) is None


def test_a_challenge_is_short_lived() -> None:
    life = PASSKEY_CHALLENGE_LIFE
    for age, counts in ((life, True), (life + SECOND, False), (-life - SECOND, False)):
        found = made_at(digest, challenge(FOR_LOG_IN, NOW - age), FOR_LOG_IN, NOW)
        assert (found is not None) == counts


# Adding.


def test_a_new_passkey_is_bound_to_its_customer_and_told() -> None:
    book = with_one()
    assert book.last.binding == digest(
        "binding", f"{b'key'.hex()} {book.last.credential.hex()} {OWN.name}"
    )
    [message] = book.messages
    assert (message.kind, message.recipient) == ("passkey_added", AISHA.email)
    assert json.decode(message.parameters) == {
        "name": "Phone",
        "at": "2026-11-18T09:00:00Z",
        "link": "http://laari.test/app/forgotten",
    }


def test_a_sandbox_customer_gets_no_message() -> None:
    assert with_one(mode="sandbox").messages == []


def test_only_customers_add_their_own() -> None:
    for actor in (OPERATOR, SUPPORT, Actor("customer", show_id(CUSTOMER, UUID(int=9)))):
        assert Book().add(actor=actor).code == "not_found"


def test_a_customer_without_a_password_has_no_passkeys() -> None:
    book = Book(replace(AISHA, password_hash=None))
    command = AddPasskey(OWN, AISHA.id, "Phone", b"c", b"key", 0, b"", BROWSER)
    assert "has no log-in" in book.run(command).message


def test_adding_needs_the_present_password_in_this_browser() -> None:
    """A challenge is made after the password was verified, and names its hash."""
    for bound in (
        ForAdding(AISHA.id, "the hash before", BROWSER),
        ForAdding(AISHA.id, "hash", "another browser"),
        ForAdding(UUID(int=9), "hash", BROWSER),
        ForLogIn("live", None, BROWSER),
    ):
        assert Book().add(challenge=challenge(bound)).message == STALE
    old = challenge(ForAdding(AISHA.id, "hash", BROWSER), NOW - timedelta(minutes=6))
    assert Book().add(challenge=old).message == STALE


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"name": "n" * (MAX_NAME + 1)},
        {"credential": b""},
        {"credential": b"c" * (MAX_CREDENTIAL + 1)},
        {"public_key": b""},
        {"public_key": b"k" * (MAX_PUBLIC_KEY + 1)},
    ],
)
def test_what_does_not_fit_is_refused(fields: dict[str, Any]) -> None:
    assert Book().add(**fields).code == "invalid_request"


def test_a_credential_counts_once_for_ever() -> None:
    book = with_one()
    again = {"credential": book.last.credential}
    assert book.add(**again).message == KNOWN
    book.end(book.last.id)
    assert book.add(**again).message == KNOWN
    assert book.usable == []


def test_of_the_same_credential_twice_in_a_batch_one_is_added() -> None:
    book = Book()
    bound = ForAdding(AISHA.id, "hash", BROWSER)
    both = [
        AddPasskey(OWN, AISHA.id, "Phone", b"c", b"key", 0, challenge(bound), BROWSER)
        for _ in range(2)
    ]
    assert book.run(*both).message == KNOWN
    assert len(book.usable) == 1


def test_a_customer_has_a_number_of_passkeys() -> None:
    book = Book()
    for _ in range(PASSKEYS):
        assert isinstance(book.add(), Passkey)
    assert book.add(credential=b"more").code == "rate_limited"
    book.end(book.usable[0].id)
    assert isinstance(book.add(), Passkey)


# Using.


def test_a_use_is_noted_without_an_entry() -> None:
    book = with_one()
    book.now += SECOND
    count = len(book.entries)
    assert isinstance(book.use(7), Passkey)
    assert (book.last.counter, book.last.used_at) == (7, NOW + SECOND)
    assert len(book.entries) == count


def test_an_answer_counts_once() -> None:
    book = with_one()
    answered = challenge(ForLogIn("live", None, BROWSER))
    assert isinstance(book.use(0, challenge=answered), Passkey)
    assert book.use(0, challenge=answered).message == STALE


def test_of_the_same_answer_twice_in_a_batch_one_counts() -> None:
    book, bound = with_one(), ForLogIn("live", None, BROWSER)
    used = UsePasskey(book.last.id, AISHA.id, b"key", 0, challenge(bound), bound)
    assert book.run(used, used).message == STALE


def test_an_answer_that_is_older_than_the_last_one_does_not_count() -> None:
    book, bound = with_one(), ForLogIn("live", None, BROWSER)
    before = challenge(bound, NOW - SECOND)
    assert isinstance(book.use(1), Passkey)
    assert book.use(2, challenge=before).message == STALE


def test_an_answer_counts_only_where_it_was_asked_for() -> None:
    book = with_one()
    at_shop = challenge(ForLogIn("live", "/pay/abc", BROWSER))
    assert book.use(1, challenge=at_shop).message == STALE
    elsewhere = challenge(ForLogIn("live", None, "another browser"))
    assert book.use(1, challenge=elsewhere).message == STALE
    assert book.last.used_at is None


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [(0, 0, True), (0, 1, True), (5, 6, True), (5, 5, False), (5, 4, False), (5, 0, False)],
)
def test_the_counter_goes_on_or_never_counts(before: int, now: int, expected: bool) -> None:
    assert goes_on(before, now) == expected


def test_a_copy_of_an_authenticator_is_refused() -> None:
    book = with_one()
    assert isinstance(book.use(5), Passkey)
    book.now += SECOND
    for counter in (5, 4, 0):
        assert book.use(counter).message == COPIED
    assert book.last.counter == 5
    assert isinstance(book.use(6), Passkey)


def test_modes_do_not_mix() -> None:
    book = with_one()
    sandbox = ForLogIn("sandbox", None, BROWSER)
    assert book.use(1, bound=sandbox, challenge=challenge(sandbox)).code == "not_found"


@pytest.mark.parametrize(
    "tampered",
    [{"customer_id": UUID(int=9)}, {"public_key": b"mine"}, {"credential": b"mine"}],
)
def test_a_row_that_was_changed_in_the_database_opens_nothing(tampered: dict[str, Any]) -> None:
    book = with_one()
    book.passkeys[book.last.id] = replace(book.last, **tampered)
    found = book.last
    assert book.use(1, customer_id=found.customer_id, public_key=found.public_key).code == (
        "not_found"
    )


def test_a_signature_of_another_key_or_customer_does_not_count() -> None:
    book = with_one()
    assert book.use(1, public_key=b"another").code == "not_found"
    assert book.use(1, customer_id=UUID(int=9)).code == "not_found"
    assert book.use(1, passkey_id=UUID(int=9)).code == "not_found"


# Ending.


def test_an_ended_passkey_opens_nothing() -> None:
    book = with_one()
    assert isinstance(book.end(book.last.id), Passkey)
    assert book.last.ended_at == NOW
    assert book.use(1).code == "not_found"
    assert book.end(book.last.id).code == "not_found"
    assert [each.kind for each in book.messages] == ["passkey_added", "passkey_ended"]


def test_only_customers_end_their_own() -> None:
    book = with_one()
    for actor in (OPERATOR, Actor("customer", show_id(CUSTOMER, UUID(int=9)))):
        assert book.end(book.last.id, actor).code == "not_found"
    assert book.end(OTHER).code == "not_found"
    assert len(book.usable) == 1


@pytest.mark.parametrize("command", [SetPassword, ResetPassword])
def test_a_new_password_ends_all_passkeys(command: Any) -> None:
    """Somebody who knew the old one may have added them."""
    book = with_one()
    book.add()
    whose = CustomerId(AISHA.id)
    given = (OWN, whose, "new", "hash") if command is SetPassword else (OPERATOR, whose, "new")
    world = book.world()
    assert not isinstance(command(*given).decide(world), Refusal)
    assert {each.ended_at for each in world.passkeys.changed.values()} == {NOW}
    assert world.passkeys_of[AISHA.id] == frozenset()


@pytest.mark.parametrize(
    ("actor", "may"), [(OPERATOR, True), (SUPPORT, True), (FINANCE, False), (OWN, False)]
)
def test_the_role_of_an_operator_decides(actor: Actor, may: bool) -> None:
    book = with_one()
    book.now += SECOND
    book.add(name="Computer")
    outcome = book.run(EndPasskeys(actor, AISHA.id))
    assert isinstance(outcome, Refusal) != may
    assert len(book.usable) == (0 if may else 2)
    told = [json.decode(each.parameters)["name"] for each in book.messages[2:]]
    assert told == (["Phone, Computer"] if may else [])


def test_without_passkeys_the_operator_ends_none() -> None:
    book = Book()
    assert book.run(EndPasskeys(OPERATOR, AISHA.id)) == 0
    assert (book.entries, book.messages) == ([], [])


STEPS = {
    "add": lambda book, number: book.add(),
    "use": lambda book, number: book.use(number) if book.passkeys else None,
    "end": lambda book, number: book.end(
        [*book.passkeys][number] if number < len(book.passkeys) else OTHER
    ),
    "end all": lambda book, number: book.run(EndPasskeys(OPERATOR, AISHA.id)),
}


@given(
    st.lists(st.tuples(st.sampled_from([*STEPS]), st.integers(0, 3)), max_size=20), st.booleans()
)
def test_in_any_order_the_journal_is_complete(steps: list[Any], in_sandbox: bool) -> None:
    book = Book(replace(AISHA, mode="sandbox", sandbox_of=1) if in_sandbox else AISHA)
    ended: set[UUID] = set()
    for step, number in steps:
        STEPS[step](book, number)
        book.now += SECOND
        assert ended.isdisjoint(each.id for each in book.usable)
        ended |= {each.id for each in book.passkeys.values() if each.ended_at is not None}
    setting = SETTINGS[Passkey]
    for passkey in book.passkeys.values():
        entries = [each for each in book.entries if each.object_id == setting.object_id(passkey)]
        for before, after in pairwise(entries):
            assert after.before == before.after
        assert json.decode(entries[-1].after) == json.decode(json.encode(state(passkey)))
        owner = "mer_shop" if in_sandbox else None
        assert {(each.merchant_id, each.mode) for each in entries} == {(owner, book.customer.mode)}
