"""Trusted people: who asks, agrees and ends, when it ends, and who hears of it."""

import os
from dataclasses import replace as replaced
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from msgspec.structs import replace

from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.limits.trusted import TRUST_END
from laari.rules.messages import TrustContent
from laari.rules.people.trusted import AgreeToTrust, AskTrustedPerson, EndTrust, is_open
from laari.rules.records.messages import Contact, Message
from laari.rules.records.people import Customer, TrustedPerson
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.actors import OPERATOR
from tests.rules.books import KEYS
from tests.rules.test_contact_changes import AISHA, NOW, THEMSELVES

ALI = replace(AISHA, id=UUID(int=8), name="Ali", mobile="7779999", email="ali@example.mv")
ALIS = Actor("customer", ids.show_id(ids.CUSTOMER, ALI.id))
ASK = AskTrustedPerson(THEMSELVES, AISHA.id, "7779999", 100_000)


class Book:
    """Two customers, and what the steps before left."""

    def __init__(self, customer: Customer = AISHA) -> None:
        self.now = NOW
        self.customer = customer
        self.trust: TrustedPerson | None = None
        self.sent: list[tuple[str, str]] = []
        self.messages: list[Message] = []
        self.actions: list[str] = []
        self.reasons: list[str | None] = []
        self.found = True  # whether the number has a wallet

    def run(self, command: Any) -> Any:
        channels = frozenset({"email"})
        world = World(self.now, "http://laari.test", os.urandom, channels, KEYS)
        for each in (self.customer, ALI):
            world.customers.lock(each.id, each)
        if self.found:
            world.recipients["mobile", "7779999"] = Contact(1, ALI.id, ALI.email, ALI.mobile, "en")
        if self.trust is not None:
            world.trusted_people.lock(AISHA.id, self.trust)
        outcome = command.decide(world)
        rows = world.trusted_people
        self.trust = (rows.added | rows.changed).get(AISHA.id, self.trust)
        self.sent += [(each.kind, each.recipient) for each in world.messages]
        self.messages += world.messages
        self.actions += [each.action for each in world.journal]
        self.reasons += [each.reason for each in world.journal]
        return outcome


def end(actor: Actor, trusted_id: UUID | None = ALI.id) -> EndTrust:
    return EndTrust(actor, AISHA.id, trusted_id)


def agreed() -> Book:
    book = Book()
    book.run(ASK)
    book.run(AgreeToTrust(ALIS, AISHA.id, ALI.id))
    return book


def test_both_agree_and_the_customers_own_ending_takes_a_day() -> None:
    book = agreed()
    assert isinstance(book.run(ASK), Refusal)  # one at a time
    ending = book.run(end(THEMSELVES))
    assert (ending.status, ending.ends_at) == ("agreed", NOW + TRUST_END)
    assert isinstance(book.run(end(THEMSELVES)), Refusal)  # nobody moves the moment
    book.now = NOW + TRUST_END - timedelta(seconds=1)
    assert isinstance(book.run(ASK), Refusal)
    book.now = NOW + TRUST_END
    assert not is_open(ending, book.now)
    assert book.run(ASK).status == "asked"
    assert book.actions == [f"trusted_person.{verb}" for verb in ("ask", "agree", "end", "ask")]
    assert book.sent == [
        ("trust_asked", ALI.email),
        ("trust_agreed", AISHA.email),
        ("trust_ending", AISHA.email),
        ("trust_ending", ALI.email),
        ("trust_asked", ALI.email),
    ]


def test_the_asker_is_named_by_the_end_of_the_number_too() -> None:
    book = Book()
    book.run(ASK)
    [asked] = book.messages
    assert asked.object_id == AISHA.id  # by which the next message to the same person is held back
    content = msgspec.json.decode(asked.parameters, type=TrustContent)
    assert (content.customer, content.contact_end) == ("Aisha", "…234")


@pytest.mark.parametrize("answered", [False, True])
def test_the_operator_ends_it_at_once_with_a_reason_and_tells_both(answered: bool) -> None:
    book = agreed() if answered else Book()
    if not answered:
        book.run(ASK)
    before = len(book.sent)
    finance = Actor("operator", "f@laari.mv", "finance")
    refused = book.run(end(finance))
    assert (refused.code, len(book.sent)) == ("insufficient_scope", before)
    assert book.run(replaced(end(OPERATOR), trusted_id=UUID(int=3))).code == "not_found"
    ended = book.run(replaced(end(OPERATOR), reason="Asked by the family"))
    assert (ended.status, ended.ends_at) == ("ended", None)
    assert book.sent[before:] == [
        ("trust_stopped", AISHA.email),
        ("trust_stopped", ALI.email),
    ]
    assert book.reasons[-1] == "Asked by the family"
    assert book.run(end(OPERATOR)).code == "not_found"


def test_the_operator_ends_what_nobody_answers() -> None:
    book = Book()
    book.found = False
    book.run(ASK)
    assert book.run(end(OPERATOR, None)).status == "ended"
    assert book.sent == [("trust_stopped", AISHA.email)]


def test_the_trusted_person_ends_it_at_once() -> None:
    book = agreed()
    assert book.run(end(ALIS)).status == "ended"
    assert book.sent[2:] == [("trust_ended", AISHA.email)]


def test_nobody_learns_whether_a_number_has_a_wallet() -> None:
    book = Book()
    asked = book.run(replace_ask(mobile="7000000"))
    assert (asked.status, asked.trusted_id) == ("asked", None)
    assert book.sent == []
    assert book.run(end(THEMSELVES, None)).status == "ended"  # nobody has agreed: at once


def replace_ask(**changes: Any) -> AskTrustedPerson:
    fields = {"actor": THEMSELVES, "customer_id": AISHA.id, "mobile": "7779999", "above": 1}
    return AskTrustedPerson(**(fields | changes))


@pytest.mark.parametrize(
    ("customer", "command", "code"),
    [
        (AISHA, replace_ask(actor=OPERATOR), "not_found"),
        (AISHA, replace_ask(actor=ALIS), "not_found"),
        (AISHA, replace_ask(mobile=AISHA.mobile), "invalid_request"),
        (replace(AISHA, mode="sandbox"), ASK, "conflict"),
        (AISHA, end(THEMSELVES), "not_found"),
    ],
)
def test_what_cannot_be_asked(customer: Customer, command: Any, code: str) -> None:
    book = Book(customer)
    refused = book.run(command)
    assert isinstance(refused, Refusal)
    assert (refused.code, book.actions) == (code, [])


@pytest.mark.parametrize(
    "command",
    [
        AgreeToTrust(THEMSELVES, AISHA.id, ALI.id),  # for the other
        AgreeToTrust(OPERATOR, AISHA.id, ALI.id),
        AgreeToTrust(ALIS, AISHA.id, None),
        end(THEMSELVES, UUID(int=9)),  # somebody else than on the screen
    ],
)
def test_only_the_two_of_them_decide(command: Any) -> None:
    book = Book()
    book.run(ASK)
    refused = book.run(command)
    assert isinstance(refused, Refusal)
    assert (refused.code, book.actions) == ("not_found", ["trusted_person.ask"])
