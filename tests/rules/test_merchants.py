"""The rules of merchants without a database: who may change what, and what the journal gets."""

import os
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from msgspec import json

from laari.rules.actors import Actor
from laari.rules.journal import state
from laari.rules.merchants.merchant_settings import (
    Changes,
    RenameMerchant,
    RequireFactor,
    SetLimit,
    UpdateMerchant,
)
from laari.rules.records.people import Membership
from laari.rules.records.tenants import TenantSettings
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.actors import OPERATOR
from tests.rules.books import KEYS, a_merchant

NOW = datetime(2026, 11, 18, 9, tzinfo=UTC)
SHOP = "mer_shop"
HOOK = "https://shop.mv/hook"
OWNER = Actor("person", "a@shop.mv", "owner")


def world_of(role: str | None = None, *, live: bool = False, **settings: Any) -> World:
    """A shop, and a person with this role there."""
    world = World(NOW, "http://laari.test", os.urandom, keys=KEYS)
    world.merchant_settings.lock(SHOP, a_merchant(SHOP, **settings))
    world.tenant_settings.lock(1, TenantSettings(1, SHOP, "live", 0, None))
    world.members[SHOP] = {}
    if role is not None:
        person_id = UUID(int=1)
        world.members[SHOP]["a@shop.mv"] = person_id
        membership = Membership(person_id, SHOP, role, None, NOW)  # type: ignore[arg-type]
        world.memberships.show((person_id, SHOP), membership)
    if live:
        world.live_tenants[SHOP] = 1
    return world


def update(world: World, actor: Actor = OPERATOR, **changes: Any) -> Any:
    return UpdateMerchant(actor, SHOP, Changes(**changes)).decide(world)


def test_only_the_given_values_change() -> None:
    world = world_of()
    changed = update(world, fee_bps=5, webhook_url=HOOK)
    assert changed == a_merchant(SHOP, fee_bps=5, webhook_url=HOOK)
    [entry] = world.journal
    assert (entry.action, entry.object_type, entry.object_id) == (
        "merchant.update",
        "merchant",
        SHOP,
    )
    assert entry.merchant_id == SHOP
    assert entry.after is not None
    assert json.decode(entry.after) == json.decode(json.encode(state(changed)))
    assert "secret_encrypted" not in entry.after


def test_a_change_of_nothing_has_no_entry() -> None:
    world = world_of(fee_bps=5)
    update(world, fee_bps=5)
    assert (world.journal, world.merchant_settings.changed) == ([], {})


def test_an_empty_text_removes_the_webhook() -> None:
    assert update(world_of(webhook_url=HOOK), webhook_url="").webhook_url is None


def test_the_reason_of_a_pause_goes_with_it() -> None:
    world = world_of()
    assert update(world, active=False, inactive_reason="Fraud").inactive_reason == "Fraud"
    assert world.journal[-1].reason == "Fraud"
    assert update(world, webhooks_enabled=False).inactive_reason == "Fraud"
    assert update(world, active=True).inactive_reason is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inactive_reason": "Fraud"}, "inactive"),
        ({"inactive_reason": "Fraud", "active": True}, "inactive"),
        ({"webhook_url": "http://10.0.0.1/"}, "https://"),
        ({"webhook_url": "http://10.0.0.1/", "mode": "live"}, "https://"),
    ],
)
def test_a_wrong_value_changes_nothing_of_the_others(changes: Any, message: str) -> None:
    world = world_of()
    refused = update(world, fee_bps=5, **changes)
    assert isinstance(refused, Refusal)
    assert message in refused.message
    assert (world.journal, world.merchant_settings.changed) == ([], {})


def test_an_approved_merchant_acts_in_live_mode() -> None:
    assert update(world_of("owner", live=True), OWNER, mode="live").mode == "live"


def test_live_mode_approves_if_the_actor_may_approve() -> None:
    world = world_of("owner")
    assert "not approved" in update(world, OWNER, mode="live").message
    assert world.journal == []
    world.new_tenants[SHOP, "live"] = 7
    assert update(world, mode="live").mode == "live"
    assert world.live_tenants == {SHOP: 7}
    assert [entry.action for entry in world.journal] == ["merchant.approve", "merchant.update"]


def test_a_private_webhook_is_allowed_for_development() -> None:
    changes = Changes(webhook_url="http://10.0.0.1/")
    changed = UpdateMerchant(OPERATOR, SHOP, changes, private_webhooks=True).decide(world_of())
    assert changed.webhook_url == "http://10.0.0.1/"


def may(role: str | None, command: Any) -> bool:
    """Whether a person with this role now may do it: the role of the request does not count."""
    outcome = command(OWNER).decide(world_of(role, live=True))
    assert not isinstance(outcome, Refusal) or outcome.status == 403
    return not isinstance(outcome, Refusal)


@pytest.mark.parametrize(
    ("command", "roles"),
    [
        (lambda who: UpdateMerchant(who, SHOP, Changes(mode="live")), {"owner"}),
        (lambda who: UpdateMerchant(who, SHOP, Changes(webhook_url=HOOK)), {"owner", "manager"}),
        (lambda who: UpdateMerchant(who, SHOP, Changes(webhook_url=HOOK, mode="live")), {"owner"}),
        (lambda who: UpdateMerchant(who, SHOP, Changes(active=False)), set()),
        (lambda who: UpdateMerchant(who, SHOP, Changes(fee_bps=0)), set()),
        (lambda who: UpdateMerchant(who, SHOP, Changes()), set()),
        (lambda who: RequireFactor(who, SHOP, True), {"owner"}),
        (lambda who: SetLimit(who, 1, 5), set()),
    ],
)
def test_a_person_needs_the_role_now(command: Any, roles: set[str]) -> None:
    every = ("owner", "manager", "accountant", "cashier", None)
    assert {role for role in every if may(role, command)} == roles


def test_a_role_of_the_operator_changes_only_what_it_may() -> None:
    finance = Actor("operator", "mariyam@laari.test", "finance")
    assert not isinstance(update(world_of(), finance, fee_bps=5), Refusal)
    assert update(world_of(), finance, fee_bps=5, active=False).status == 403
    assert SetLimit(finance, 1, 5).decide(world_of()).status == 403


def test_the_operator_renames_an_approved_shop() -> None:
    """Its own people only before: it was approved under its name."""
    for live, who, done in ((False, OWNER, True), (True, OWNER, False), (True, OPERATOR, True)):
        world = world_of("owner", live=live)
        outcome = RenameMerchant(who, SHOP, "Bodu Boat").decide(world)
        assert isinstance(outcome, Refusal) != done
        assert (world.merchant_settings[SHOP].name == "Bodu Boat") == done


@pytest.mark.parametrize("name", ["", "x" * 256, "a\nb"])
def test_a_name_is_printable(name: str) -> None:
    assert isinstance(RenameMerchant(OPERATOR, SHOP, name).decide(world_of()), Refusal)


def test_there_is_no_such_merchant() -> None:
    refused = UpdateMerchant(OPERATOR, "mer_none", Changes(active=True)).decide(world_of())
    assert "mer_none" in refused.message


def test_a_limit_is_of_one_mode() -> None:
    world = world_of()
    assert SetLimit(OPERATOR, 1, 5, "New shop").decide(world).max_payment == 5
    [entry] = world.journal
    assert (entry.mode, entry.merchant_id, entry.reason) == ("live", SHOP, "New shop")
