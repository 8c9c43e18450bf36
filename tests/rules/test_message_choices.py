"""The choice of messages, without a database: everybody chooses for themselves alone."""

import os
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from laari.rules.actors import Actor
from laari.rules.money import MAX_MONEY
from laari.rules.needs import Needs
from laari.rules.people.message_choices import ChooseMessages
from laari.rules.records.messages import MessageChoice
from laari.rules.records.people import CustomerId, CustomerMessages, Person, PersonId, show_whose
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.actors import OPERATOR
from tests.rules.test_password_links import AISHA

NOW = datetime(2026, 11, 18, 9, tzinfo=UTC)
SHOP = Person(UUID(int=8), "owner@shop.mv", NOW, "hash")
CUSTOMER, PERSON = CustomerId(AISHA.id), PersonId(SHOP.id)
OWN = {CUSTOMER: Actor("customer", show_whose(CUSTOMER)), PERSON: Actor("person", SHOP.email)}
CHOICE = MessageChoice("sms", 500)


def world() -> World:
    made = World(NOW, "http://laari.test", os.urandom)
    made.customers.lock(AISHA.id, AISHA)
    made.persons.lock(SHOP.id, SHOP)
    return made


def chosen(world: World) -> list[Any]:
    return [*world.customer_messages.added.values(), *world.person_messages.added.values()]


@pytest.mark.parametrize("whose", [CUSTOMER, PERSON])
def test_somebody_chooses_and_the_last_choice_stays(whose: Any) -> None:
    made = world()
    for choice in (MessageChoice("none"), CHOICE):
        assert ChooseMessages(OWN[whose], whose, choice).decide(made) == choice
    [row] = chosen(made)
    assert (row.channel, row.least) == ("sms", 500)
    assert isinstance(row, CustomerMessages) == (whose is CUSTOMER)
    assert not made.journal


@pytest.mark.parametrize("whose", [CUSTOMER, PERSON])
def test_nobody_chooses_for_another_one(whose: Any) -> None:
    others = [actor for other, actor in OWN.items() if other is not whose]
    for actor in (OPERATOR, Actor("operator", SHOP.email, "admin"), *others):
        made = world()
        assert isinstance(ChooseMessages(actor, whose, CHOICE).decide(made), Refusal)
        assert not chosen(made)


@pytest.mark.parametrize("least", [-1, MAX_MONEY + 1])
def test_the_smallest_amount_is_money(least: int) -> None:
    made = world()
    choice = MessageChoice("email", least)
    assert isinstance(ChooseMessages(OWN[CUSTOMER], CUSTOMER, choice).decide(made), Refusal)
    assert not chosen(made)


@pytest.mark.parametrize("whose", [CUSTOMER, PERSON])
def test_somebody_who_was_removed_chooses_nothing(whose: Any) -> None:
    empty = World(NOW, "http://laari.test", os.urandom)
    assert isinstance(ChooseMessages(OWN[whose], whose, CHOICE).decide(empty), Refusal)
    assert not chosen(empty)


@pytest.mark.parametrize("whose", [CUSTOMER, PERSON])
def test_a_choice_holds_its_owner_until_it_is_kept(whose: Any) -> None:
    needs = Needs()
    ChooseMessages(OWN[whose], whose, CHOICE).needs(needs)
    assert needs.locked(World.customers if whose is CUSTOMER else World.persons) == {whose.id}
