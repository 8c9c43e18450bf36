"""The rules of reusable links without a database."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from laari.rules.limits.payments import MAX_PAYMENT_AMOUNT
from laari.rules.limits.tills import REUSABLE_LINKS
from laari.rules.merchants.links import CreateReusableLink, EndReusableLink
from laari.rules.records.merchants import ReusableLink
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.rules.test_merchants import NOW, world_of
from tests.rules.test_tills import OTHER, PERSON, TENANT


def with_links(role: str | None = "manager", count: int = 0) -> World:
    world = world_of(role)
    world.link_counts[TENANT.id] = count
    return world


def made(world: World, **fields: Any) -> ReusableLink | Refusal:
    return CreateReusableLink(PERSON, TENANT, **{"title": "Swimming course", **fields}).decide(
        world
    )


def test_a_link_has_a_fixed_or_an_open_amount_and_perhaps_an_end() -> None:
    world = with_links()
    end = NOW + timedelta(days=1)
    link = made(world, amount=5000, ends_at=end, if_count=0)
    assert isinstance(link, ReusableLink)
    assert (link.amount, link.ends_at, link.tenant_id) == (5000, end, TENANT.id)
    assert isinstance(made(world, if_count=1), ReusableLink)
    assert [each.action for each in world.journal] == ["reusable_link.create"] * 2


@pytest.mark.parametrize(
    "fields",
    [
        {"title": ""},
        {"title": "x" * 256},
        {"title": "a\u202eb"},
        {"amount": 0},
        {"amount": -1},
        {"amount": MAX_PAYMENT_AMOUNT + 1},
        {"ends_at": NOW},
        {"if_count": 1},
    ],
)
def test_a_link_that_is_not_made(fields: dict[str, Any]) -> None:
    world = with_links()
    assert isinstance(made(world, **fields), Refusal)
    assert (world.reusable_links.added, world.journal) == ({}, [])


@pytest.mark.parametrize(("amount", "is_made"), [(1000, True), (1001, False)])
def test_the_limit_of_the_shop_is_that_of_a_link(amount: int, is_made: bool) -> None:
    tenant = replace(TENANT, max_payment=1000)
    link = CreateReusableLink(PERSON, tenant, "Course", amount).decide(with_links())
    assert isinstance(link, ReusableLink) is is_made


def test_a_shop_has_a_bounded_number_of_links() -> None:
    assert isinstance(made(with_links(count=REUSABLE_LINKS)), Refusal)
    assert isinstance(made(with_links(count=REUSABLE_LINKS - 1)), ReusableLink)


@pytest.mark.parametrize("role", ["accountant", "cashier", None])
def test_only_who_may_manage_links_makes_and_ends_one(role: str | None) -> None:
    link = made(with_links())
    assert isinstance(link, ReusableLink)
    world = with_links(role)
    world.reusable_links.lock(link.id, link)
    assert isinstance(made(world), Refusal)
    assert isinstance(EndReusableLink(PERSON, TENANT, link.id).decide(world), Refusal)
    assert world.journal == []


def test_a_link_is_ended_once() -> None:
    world = with_links()
    link = made(world)
    assert isinstance(link, ReusableLink)
    assert link.takes_payments(NOW)
    for _ in range(2):
        ended = EndReusableLink(PERSON, TENANT, link.id).decide(world)
        assert isinstance(ended, ReusableLink)
        assert not ended.takes_payments(NOW)
    assert [each.action for each in world.journal].count("reusable_link.end") == 1


def test_a_link_of_another_tenant_does_not_exist() -> None:
    world = with_links()
    link = made(world)
    assert isinstance(link, ReusableLink)
    for tenant, link_id in ((OTHER, link.id), (TENANT, UUID(int=1))):
        world.reusable_links.lock(UUID(int=1), None)
        assert isinstance(EndReusableLink(PERSON, tenant, link_id).decide(world), Refusal)
    assert world.reusable_links[link.id].ended_at is None


def test_a_link_takes_payments_until_its_end() -> None:
    link = made(with_links(), ends_at=NOW + timedelta(hours=1))
    assert isinstance(link, ReusableLink)
    assert link.takes_payments(NOW + timedelta(minutes=59, seconds=59))
    assert not link.takes_payments(NOW + timedelta(hours=1))
