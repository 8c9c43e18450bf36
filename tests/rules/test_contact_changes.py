"""The rules of contact changes without a database: every order of steps, and who may take them."""

import dataclasses
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
from laari.rules.limits.contact_changes import CONTACT_CODE_ATTEMPTS, CONTACT_CODE_LIFE
from laari.rules.people.contact_changes import (
    BY_CUSTOMER,
    STOP_LINK,
    ApplyContactChange,
    CancelContactChange,
    ConfirmContactChange,
    RequestContactChange,
    StopContactChange,
)
from laari.rules.records.people import ContactChange, Customer
from laari.rules.records.second_person import Help
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.actors import OPERATOR
from tests.rules.books import KEYS

NOW = datetime(2026, 11, 18, 9, tzinfo=UTC)
DAY = timedelta(days=1)
AISHA = Customer(
    id=UUID(int=7),
    name="Aisha",
    mode="live",
    sandbox_of=None,
    vpa=None,
    language="en",
    password_hash="hash",
    created_at=NOW,
    password_must_change=False,
    password_first=False,
    mobile="7771234",
    email="a@example.mv",
)
CODE = "000042"


class Book:
    """One customer and the changes of the mobile number, as the steps before left them."""

    def __init__(self) -> None:
        self.now = NOW
        self.above: int | None = None
        self.helps: tuple[Help, ...] = ()
        self.customer = AISHA
        self.changes: dict[UUID, ContactChange] = {}
        self.entries: list[Any] = []

    def world(self) -> World:
        channels = frozenset({"email", "sms"})
        world = World(
            self.now,
            "http://laari.test",
            os.urandom,
            channels,
            KEYS,
            second_operator_above=self.above,
        )
        world.helps[None] = self.helps
        world.new_code = lambda digits: CODE  # type: ignore[method-assign]
        world.customers.lock(AISHA.id, self.customer)
        world.log_ins_of[AISHA.id] = frozenset()
        for change in self.changes.values():
            world.contact_changes.lock(change.id, change)
            if change.ended_at is None:
                world.open_contact_changes[AISHA.id, "mobile"] = change.id
        return world

    def run(self, command: Any) -> Any:
        world = self.world()
        outcome = command.decide(world)
        self.changes |= world.contact_changes.added | world.contact_changes.changed
        self.customer = world.customers.changed.get(AISHA.id, self.customer)
        self.entries += world.journal
        return outcome

    @property
    def last(self) -> ContactChange:
        return [*self.changes.values()][-1]


def request(value: str = "7775678", actor: Actor = OPERATOR) -> RequestContactChange:
    return RequestContactChange(actor, AISHA.id, "mobile", value, "lost phone")


def confirm(code: str | None = CODE, actor: Actor = OPERATOR) -> ConfirmContactChange:
    return ConfirmContactChange(actor, AISHA.id, "mobile", None, code, None, DAY)


def cancel(actor: Actor = OPERATOR) -> CancelContactChange:
    return CancelContactChange(actor, AISHA.id, "mobile", None, "wrong number")


STEPS = {
    "request": lambda book: request(f"777{len(book.changes):04}"),
    "confirm": lambda book: confirm(),
    "guess": lambda book: confirm("999999"),
    "cancel": lambda book: cancel(),
    "stop": lambda book: StopContactChange(
        AISHA.id, book.last.id, book.last.stop_digest or b"", None
    ),
    "apply": lambda book: ApplyContactChange(AISHA.id, book.last.id),
}


@given(st.lists(st.sampled_from([*STEPS, "half an hour", "a day"]), max_size=12))
def test_in_any_order_one_change_is_open_and_its_journal_is_complete(steps: list[str]) -> None:
    book = Book()
    book.run(request("7770000"))
    for step in steps:
        if step in STEPS:
            book.run(STEPS[step](book))
        else:
            book.now += CONTACT_CODE_LIFE if step == "half an hour" else DAY
    every = [*book.changes.values()]
    assert sum(change.ended_at is None for change in every) <= 1
    assert all(change.attempts <= CONTACT_CODE_ATTEMPTS for change in every)
    # Only a change that was confirmed a day ago takes effect.
    done = [change for change in every if change.status == "done"]
    for change in done:
        assert change.confirmed_at is not None
        assert change.ended_at is not None
        assert change.ended_at - change.confirmed_at >= DAY
    assert book.customer.mobile == (done[-1].new_value if done else AISHA.mobile)
    # The last entry of each object is its state, and each begins where the one before ended.
    for record in (*every, book.customer):
        setting = SETTINGS[type(record)]
        object_id = setting.object_id(record)
        entries = [each for each in book.entries if each.object_id == object_id]
        for before, after in pairwise(entries):
            assert after.before == before.after
        if entries:
            assert json.decode(entries[-1].after) == json.decode(json.encode(state(record)))


@pytest.mark.parametrize("changed", [{"new_value": "7770000"}, {"customer_id": UUID(int=8)}])
def test_a_code_proves_the_contact_that_got_it(changed: dict[str, Any]) -> None:
    book = Book()
    change = book.run(request())
    book.changes[change.id] = replace(change, **changed)
    refused = book.run(confirm())
    assert isinstance(refused, Refusal)
    assert "code is wrong" in refused.message


def test_a_wrong_code_is_refused_and_counts() -> None:
    book = Book()
    book.run(request())
    for attempts in range(1, CONTACT_CODE_ATTEMPTS + 1):
        assert book.run(confirm("999999")).field == "code"
        assert book.last.attempts == attempts
    assert "no longer works" in book.run(confirm()).message
    assert [entry.action for entry in book.entries] == ["contact_change.request"]


@pytest.mark.parametrize("role", ["finance", "owner", "nonsense", None])
def test_the_role_of_the_actor_decides(role: str | None) -> None:
    stranger = Actor("operator", "eve@laari.test", role)
    book = Book()
    book.run(request())
    for command in (request("7770009", stranger), confirm(CODE, stranger), cancel(stranger)):
        assert book.run(command).status == 403
    assert book.last.status == "waiting"
    support = replace(stranger, role="support")
    assert not isinstance(book.run(cancel(support)), Refusal)


def test_a_link_stops_its_own_change_only() -> None:
    book = Book()
    book.run(request())
    book.run(confirm())
    mine = book.last.stop_digest
    assert mine is not None
    assert mine.startswith(STOP_LINK.encode())
    for other in (b"", mine[:-1]):
        assert book.run(StopContactChange(AISHA.id, book.last.id, other, None)).status == 404
    assert book.run(StopContactChange(AISHA.id, book.last.id, mine, None)).status == "stopped"


THEMSELVES = Actor("customer", f"cus_{AISHA.id.hex}")


def of_their_own(*, value: str = "7779999", lost: bool = False) -> RequestContactChange:
    return RequestContactChange(
        THEMSELVES, AISHA.id, "mobile", value, reason=BY_CUSTOMER, lost=lost
    )


def sent(world: World) -> list[tuple[str, str]]:
    return [(message.kind, message.recipient) for message in world.messages]


def test_customers_change_their_own_contacts_and_no_others() -> None:
    book = Book()
    assert book.run(of_their_own()).status == "waiting"
    other = Actor("customer", f"cus_{UUID(int=8).hex}")
    for command in (
        confirm(CODE, other),
        cancel(other),
        dataclasses.replace(of_their_own(), actor=other),
    ):
        assert book.run(command).status == 403
    assert book.run(confirm(CODE, THEMSELVES)).effective_at == NOW + DAY
    assert book.run(cancel(THEMSELVES)).status == "cancelled"


def test_a_lost_contact_gets_a_notice_without_the_link() -> None:
    book = Book()
    book.run(of_their_own(lost=True))
    world = book.world()
    confirm(CODE, THEMSELVES).decide(world)
    assert sent(world) == [("contact_lost", "+9607771234"), ("contact_change", "a@example.mv")]
    lost, link = (json.decode(message.parameters) for message in world.messages)
    assert "link" not in lost
    assert "/app/contact/" in link["link"]


@pytest.mark.parametrize("channels", [{"sms"}, {"email"}, set()])
def test_a_change_alone_needs_a_code_and_a_link_that_arrives(channels: set[str]) -> None:
    book = Book()
    world = book.world()
    world.channels = frozenset(channels)
    assert of_their_own(lost=True).decide(world).code == "conflict"
    book.customer = replace(AISHA, email=None)
    assert book.run(of_their_own(lost=True)).code == "conflict"
    assert book.run(of_their_own()).status == "waiting"


def test_a_customer_does_not_learn_whose_a_contact_is() -> None:
    book = Book()
    world = book.world()
    world.contact_holders["live", "mobile", "7779999"] = UUID(int=8)
    change = of_their_own().decide(world)
    assert isinstance(change, ContactChange)
    assert change.has_code
    assert sent(world) == [("contact_taken", "+9607779999")]


def test_only_an_operator_confirms_without_a_code() -> None:
    book = Book()
    world = book.world()
    world.channels = frozenset()
    request().decide(world)
    book.changes |= world.contact_changes.added
    without = ConfirmContactChange(THEMSELVES, AISHA.id, "mobile", None, None, "it is me", DAY)
    assert book.run(without).status == 403
    assert book.run(dataclasses.replace(without, actor=OPERATOR)).status == "confirmed"


SUPPORT = Actor("operator", "ann@laari.test", "support")
OTHER = Actor("operator", "bea@laari.test", "support")
NEEDS_ANOTHER = "Another operator has to confirm this change"


def controlled(*, asked_by: Actor = SUPPORT, lost: bool = True) -> Book:
    """A waiting change, with the rule of the second person."""
    book = Book()
    book.above = 0
    changed = dataclasses.replace(request(actor=asked_by), lost=lost)
    assert book.run(changed).status == "waiting"
    return book


@pytest.mark.parametrize("asked_by", [SUPPORT, Actor("command_line", "ann", "admin")])
def test_a_lost_contact_is_confirmed_by_another_operator_than_the_one_who_asked(
    asked_by: Actor,
) -> None:
    book = controlled(asked_by=asked_by)
    for code in (CODE, "999999"):
        assert NEEDS_ANOTHER in book.run(confirm(code, SUPPORT)).message
    assert book.last.attempts == 0
    book.helps = (Help(OTHER.name, "operator ann@laari.test", NOW),)
    assert "got a role or log-in" in book.run(confirm(CODE, OTHER)).message
    book.helps = ()
    assert book.run(confirm(CODE, OTHER)).status == "confirmed"


def test_a_change_that_nobody_can_stop_needs_another_operator_too() -> None:
    book = controlled(lost=False)
    book.customer = replace(AISHA, mobile=None, email=None)
    assert NEEDS_ANOTHER in book.run(confirm(CODE, SUPPORT)).message
    book.customer = AISHA
    assert book.run(confirm(CODE, SUPPORT)).status == "confirmed"


def test_without_the_rule_and_for_customers_one_operator_confirms() -> None:
    alone = controlled()
    alone.above = None
    assert alone.run(confirm(CODE, SUPPORT)).status == "confirmed"
    assert controlled().run(confirm(CODE, THEMSELVES)).status == "confirmed"
    asked = Book()
    asked.above = 0
    asked.run(of_their_own(lost=True))
    assert asked.run(confirm(CODE, SUPPORT)).status == "confirmed"
