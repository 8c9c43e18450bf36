"""The rules of passwords and password links without a database, in every order of steps."""

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
from laari.rules.journal import SETTINGS, state
from laari.rules.limits.password_links import PASSWORD_CODE_ATTEMPTS, PASSWORD_LINK_LIFE
from laari.rules.people.log_ins import EndSessions, ResetPassword, SetPassword
from laari.rules.people.password_links import (
    LINK,
    REQUEST,
    AskPasswordLink,
    Delivery,
    ExchangeCode,
    HandOverPasswordLink,
    UsePasswordLink,
)
from laari.rules.records.people import Customer, CustomerId, LogIn, Person, PersonId, Whose
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.actors import OPERATOR
from tests.rules.books import KEYS

NOW = datetime(2026, 11, 18, 9, tzinfo=UTC)
AISHA = Customer(
    id=UUID(int=7),
    name="Aisha",
    mode="live",
    sandbox_of=None,
    vpa=None,
    language="en",
    password_hash="first",
    created_at=NOW,
    password_must_change=False,
    password_first=True,
    mobile="7771234",
    email=None,
)
ALI = Person(UUID(int=8), "ali@shop.mv", NOW, "first", proven=False)
CUSTOMER, PERSON = CustomerId(AISHA.id), PersonId(ALI.id)
CODE = "00000042"
HANDLE = "a handle"
TABLES = ("customers", "persons", "log_ins", "password_links")


class Book:
    """One customer with a mobile number and one person, as the steps before left them."""

    def __init__(self, customer: Customer = AISHA) -> None:
        self.now = NOW
        self.rows: dict[str, dict[Any, Any]] = {name: {} for name in TABLES}
        self.rows["customers"][AISHA.id] = customer
        self.rows["persons"][ALI.id] = ALI
        self.channels = frozenset({"email", "sms"})
        self.entries: list[Any] = []
        self.messages: list[Any] = []
        self.token = "none"

    def world(self) -> World:
        world = World(self.now, "http://laari.test", os.urandom, self.channels, KEYS)
        world.new_code = lambda digits: CODE  # type: ignore[method-assign]
        for name, rows in self.rows.items():
            for key, row in rows.items():
                getattr(world, name).lock(key, row)
        for whose in (CUSTOMER, PERSON):
            world.log_ins_of[whose.id] = frozenset(self.log_ins(whose))
            world.passkeys_of[whose.id] = frozenset()
            world.devices_of[whose.id] = frozenset()
            world.wallet_keys_of[whose.id] = frozenset()
        world.places[ALI.id] = {}
        if self.rows["customers"][AISHA.id].sandbox_of is not None:
            world.sandbox_shops[AISHA.id] = "mer_shop"
        for link in self.rows["password_links"].values():
            world.link_owners[link.digest] = link.owner
        return world

    def log_ins(self, whose: Whose) -> list[bytes]:
        found = self.rows["log_ins"].items()
        return [key for key, row in found if whose.id in (row.customer_id, row.person_id)]

    def log_in(self, whose: Whose) -> None:
        digest = os.urandom(32)
        owner = (None, whose.id) if isinstance(whose, PersonId) else (whose.id, None)
        self.rows["log_ins"][digest] = LogIn(digest, *owner, [])

    def run(self, *commands: Any) -> Any:
        """The outcome of the last one; all are decided in one batch."""
        world = self.world()
        outcome = [command.decide(world) for command in commands][-1]
        for name in TABLES:
            rows = getattr(world, name)
            assert not rows.removed.keys() & (rows.added | rows.changed).keys()
            self.rows[name] |= rows.added | rows.changed
            for key in rows.removed:
                del self.rows[name][key]
        self.entries += world.journal
        self.messages += world.messages
        return outcome

    def password_of(self, whose: Whose) -> str:
        name = "persons" if isinstance(whose, PersonId) else "customers"
        password_hash: str = self.rows[name][whose.id].password_hash
        return password_hash

    def link(self, whose: Whose) -> UsePasswordLink:
        made = self.run(HandOverPasswordLink(OPERATOR, whose, "shown"))
        self.token = made.link.rpartition("/")[2]
        return use(self.token)

    def exchange(self, code: str = CODE) -> Any:
        return self.run(ExchangeCode(KEYS.digest(REQUEST, HANDLE), HANDLE, code))


def use(token: str, password_hash: str = "by link") -> UsePasswordLink:
    return UsePasswordLink(KEYS.digest(LINK, token), password_hash, "192.0.2.1")


def ask(whose: Whose = CUSTOMER) -> AskPasswordLink:
    return AskPasswordLink(whose, HANDLE)


def _exchange(book: Book, whose: Whose) -> None:
    token = book.exchange()
    if not isinstance(token, Refusal):
        book.token = token


STEPS = {
    "log in": lambda book, whose: book.log_in(whose),
    "ask": lambda book, whose: book.run(ask(whose)),
    "guess": lambda book, whose: book.exchange("99999999"),
    "exchange": _exchange,
    "hand over": lambda book, whose: book.link(whose),
    "use": lambda book, whose: book.run(use(book.token, f"hash {len(book.entries)}")),
    "change": lambda book, whose: book.run(
        SetPassword(OPERATOR, whose, f"hash {len(book.entries)}", book.password_of(whose))
    ),
    "reset": lambda book, whose: book.run(
        ResetPassword(OPERATOR, whose, f"hash {len(book.entries)}")
    ),
    "end": lambda book, whose: book.run(EndSessions(OPERATOR, whose)),
    "wait": lambda book, whose: setattr(book, "now", book.now + PASSWORD_LINK_LIFE),
}


@given(
    st.lists(st.tuples(st.sampled_from([*STEPS]), st.sampled_from([CUSTOMER, PERSON])), max_size=12)
)
def test_in_any_order_a_new_password_ends_sessions_and_links(steps: list[Any]) -> None:
    book = Book()
    for step, whose in steps:
        before = {each: book.password_of(each) for each in (CUSTOMER, PERSON)}
        STEPS[step](book, whose)
        for each in (CUSTOMER, PERSON):
            if book.password_of(each) != before[each]:
                assert book.log_ins(each) == []
                assert each.id not in book.rows["password_links"]
    for link in book.rows["password_links"].values():
        assert link.attempts <= PASSWORD_CODE_ATTEMPTS
    # The last entry of each object is its state, and each begins where the one before ended.
    for record in (book.rows["customers"][AISHA.id], book.rows["persons"][ALI.id]):
        setting = SETTINGS[type(record)]
        entries = [
            each
            for each in book.entries
            if each.object_id == setting.object_id(record)
            and each.object_type == setting.object_type
        ]
        for earlier, later in pairwise(entries):
            assert later.before == earlier.after
        if entries:
            assert json.decode(entries[-1].after) == json.decode(json.encode(state(record)))


def test_a_link_works_once_and_until_its_end() -> None:
    for whose in (CUSTOMER, PERSON):
        book = Book()
        using = book.link(whose)
        book.now += PASSWORD_LINK_LIFE - timedelta(seconds=1)
        assert book.run(using) == whose
        assert book.password_of(whose) == "by link"
        assert isinstance(book.run(using), Refusal)
        late = book.link(whose)
        book.now += PASSWORD_LINK_LIFE
        assert isinstance(book.run(late), Refusal)


def test_a_link_that_was_used_in_the_same_batch_can_be_replaced() -> None:
    book = Book()
    using = book.link(CUSTOMER)
    book.run(using, ask())
    assert book.password_of(CUSTOMER) == "by link"
    assert not isinstance(book.exchange(), Refusal)


def test_a_link_moved_to_another_owner_sets_nothing() -> None:
    book = Book()
    using = book.link(CUSTOMER)
    [link] = book.rows["password_links"].values()
    book.rows["password_links"] = {ALI.id: replace(link, whose=ALI.id, kind="person")}
    assert isinstance(book.run(using), Refusal)
    assert book.password_of(PERSON) == "first"


def test_three_wrong_codes_end_the_code() -> None:
    book = Book()
    book.run(ask())
    for _ in range(PASSWORD_CODE_ATTEMPTS):
        assert isinstance(book.exchange("99999999"), Refusal)
    assert isinstance(book.exchange(), Refusal)
    book.run(ask())  # a new code counts anew
    assert not isinstance(book.exchange(), Refusal)


def test_a_code_needs_its_request_and_becomes_a_link_once() -> None:
    book = Book()
    book.run(ask())
    other = ExchangeCode(KEYS.digest(REQUEST, HANDLE), "another", CODE)
    assert isinstance(book.run(other), Refusal)
    assert isinstance(book.run(use(HANDLE)), Refusal)
    token = book.exchange()
    assert isinstance(book.exchange(), Refusal)
    assert book.run(use(token)) == CUSTOMER


@pytest.mark.parametrize(
    ("delivery", "channels", "sent_to", "shown"),
    [
        ("shown", {"email", "sms"}, None, True),
        ("message", {"email", "sms"}, "+9607771234", False),
        ("message or shown", {"sms"}, "+9607771234", False),
        ("message or shown", {"email"}, None, True),
    ],
)
def test_a_sent_link_is_not_shown(
    delivery: Delivery, channels: set[str], sent_to: str | None, shown: bool
) -> None:
    book = Book()
    book.channels = frozenset(channels)
    made = book.run(HandOverPasswordLink(OPERATOR, CUSTOMER, delivery))
    assert (made.sent_to, made.link is not None) == (sent_to, shown)
    assert len(book.messages) == (sent_to is not None)
    assert [each.action for each in book.entries] == ["password_link.issue"]


def test_a_link_that_cannot_be_sent_replaces_none() -> None:
    book = Book()
    using = book.link(CUSTOMER)
    book.channels = frozenset({"email"})
    assert isinstance(book.run(HandOverPasswordLink(OPERATOR, CUSTOMER, "message")), Refusal)
    assert book.run(ask()) is None
    assert book.run(using) == CUSTOMER


def test_a_sandbox_customer_gets_no_message_and_no_link_of_an_operator() -> None:
    sandbox = replace(AISHA, mode="sandbox")
    book = Book(sandbox)
    book.run(ask())
    assert book.messages == []
    assert book.rows["password_links"] == {}
    book = Book(replace(sandbox, sandbox_of=1))
    for command in (
        HandOverPasswordLink(OPERATOR, CUSTOMER, "shown"),
        ResetPassword(OPERATOR, CUSTOMER, "new"),
    ):
        assert "has no log-in" in book.run(command).message
    # In a demo, the customer logs in and changes the password: the merchant reads it.
    book.run(SetPassword(Actor("customer", "cus"), CUSTOMER, "new", "first"))
    assert [(each.merchant_id, each.mode) for each in book.entries] == [("mer_shop", "sandbox")]


def test_of_two_changes_at_once_one_is_refused() -> None:
    book = Book()
    changes = [SetPassword(OPERATOR, CUSTOMER, new, "first") for new in ("second", "third")]
    assert isinstance(book.run(*changes), Refusal)
    assert book.password_of(CUSTOMER) == "second"


def test_a_real_person_changes_the_password_of_an_operator() -> None:
    for customer in (AISHA, replace(AISHA, mode="sandbox")):
        book = Book(customer)
        book.run(ResetPassword(OPERATOR, CUSTOMER, "new"), ResetPassword(OPERATOR, PERSON, "new"))
        assert book.rows["customers"][AISHA.id].password_must_change == (customer.mode == "live")
        assert not book.rows["customers"][AISHA.id].password_first
        assert book.rows["persons"][ALI.id].password_must_change


@pytest.mark.parametrize("way", ["link", "reset"])
def test_a_link_or_an_operators_password_proves_the_address(way: str) -> None:
    book = Book()
    book.run(book.link(PERSON) if way == "link" else ResetPassword(OPERATOR, PERSON, "new"))
    assert book.rows["persons"][ALI.id].proven


@pytest.mark.parametrize(
    ("actor", "may"),
    [
        (OPERATOR, {"customer", "person", "sessions"}),
        (Actor("operator", "s@laari.mv", "support"), {"customer", "sessions"}),
        (Actor("operator", "f@laari.mv", "finance"), set()),
        (Actor("person", "o@shop.mv", "owner"), set()),
        (Actor("customer", "cus"), set()),
    ],
)
def test_the_role_of_the_actor_decides(actor: Actor, may: set[str]) -> None:
    commands = {
        "customer": (
            HandOverPasswordLink(actor, CUSTOMER, "shown"),
            ResetPassword(actor, CUSTOMER, "new"),
        ),
        "person": (
            HandOverPasswordLink(actor, PERSON, "shown"),
            ResetPassword(actor, PERSON, "new"),
        ),
        "sessions": (EndSessions(actor, CUSTOMER), EndSessions(actor, PERSON)),
    }
    for name, each in commands.items():
        for command in each:
            assert isinstance(Book().run(command), Refusal) == (name not in may), command


def test_sessions_that_an_operator_ends_are_in_the_journal() -> None:
    book = Book()
    assert book.run(EndSessions(OPERATOR, PERSON)) == 0
    assert book.entries == []
    book.log_in(PERSON)
    book.log_in(PERSON)
    book.log_in(CUSTOMER)
    assert book.run(EndSessions(OPERATOR, PERSON)) == 2
    assert [(each.action, each.after) for each in book.entries] == [("sessions.end", '{"ended":2}')]
    assert len(book.rows["log_ins"]) == 1
    assert "has no log-in" in book.run(EndSessions(OPERATOR, PersonId(UUID(int=9)))).message
