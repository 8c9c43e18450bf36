"""The rules of applications: who may decide them, one that is open, and an approval."""

import os
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.merchants.applications import (
    ApproveMerchant,
    LiveTerms,
    RefuseApplication,
    SubmitApplication,
    WithdrawApplication,
)
from laari.rules.records.merchants import Application, ApplicationAnswers
from laari.rules.records.payouts import PayoutTerms
from laari.rules.records.people import Membership
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.actors import OPERATOR
from tests.rules.books import KEYS, a_merchant

NOW = datetime(2026, 11, 18, 9, tzinfo=UTC)
SHOP = "mer_shop"
OWNER = Actor("person", "a@shop.mv", "owner")
ANSWERS = ApplicationAnswers(
    "Boat Pvt Ltd", "C-1", None, "Malé", "BML", "Boat", "7730000012345", 5, "Aisha"
)
TENANT = 7  # the next number


def world_of(role: str = "owner", **settings: Any) -> World:
    """A shop, and a person with this role there."""
    world = World(NOW, "http://laari.test", os.urandom, keys=KEYS)
    world.merchant_settings.lock(SHOP, a_merchant(SHOP, **settings))
    world.new_tenants[SHOP, "live"] = TENANT
    person_id = UUID(int=1)
    world.members[SHOP] = {OWNER.name: person_id}
    membership = Membership(person_id, SHOP, role, None, NOW)  # type: ignore[arg-type]
    world.memberships.show((person_id, SHOP), membership)
    return world


def applied(world: World) -> Application:
    made = SubmitApplication(OWNER, SHOP, ANSWERS).decide(world)
    assert isinstance(made, Application)
    return made


def actions(world: World) -> list[str]:
    return [entry.action for entry in world.journal]


def test_an_application_replaces_the_one_that_is_open() -> None:
    world = world_of()
    first, second = applied(world), applied(world)
    assert (first.answers, first.status) == (ANSWERS, "submitted")
    found = {each.id: each.status for each in world.applications.added.values()}
    assert found == {first.id: "withdrawn", second.id: "submitted"}
    withdraw = WithdrawApplication(OWNER, SHOP)
    assert withdraw.decide(world).status == "withdrawn"
    assert "no open application" in withdraw.decide(world).message  # type: ignore[union-attr]


def test_an_application_with_another_bank_account_than_files_can_have_is_refused() -> None:
    wrong = replace(ANSWERS, bank_account="MV12")
    world = world_of()
    assert isinstance(SubmitApplication(OWNER, SHOP, wrong).decide(world), Refusal)
    assert actions(world) == []


@pytest.mark.parametrize("role", ["manager", "cashier"])
def test_only_an_owner_applies_and_withdraws(role: str) -> None:
    for command in (SubmitApplication(OWNER, SHOP, ANSWERS), WithdrawApplication(OWNER, SHOP)):
        refused = command.decide(world_of(role))
        assert isinstance(refused, Refusal)
        assert refused.status == 403


def test_only_an_admin_decides() -> None:
    world = world_of()
    application_id = applied(world).id
    decisions = (
        ApproveMerchant(Actor("operator", "f@laari.mv", "finance"), SHOP),
        ApproveMerchant(OWNER, SHOP),
        RefuseApplication(Actor("operator", "s@laari.mv", "support"), application_id, "No"),
    )
    for command in decisions:
        refused = command.decide(world)
        assert isinstance(refused, Refusal)
        assert refused.status == 403
    assert actions(world) == ["application.submit"]


def test_a_decided_application_is_not_decided_again() -> None:
    world = world_of()
    application_id = applied(world).id
    refuse = RefuseApplication(OPERATOR, application_id, "No register")
    refused = refuse.decide(world)
    assert (refused.status, refused.reason) == ("refused", "No register")  # type: ignore[union-attr]
    assert "refused already" in refuse.decide(world).message  # type: ignore[union-attr]


def test_an_approval_makes_the_live_side_with_its_terms_and_bank_account() -> None:
    world = world_of(fee_bps=9, fee_fixed=5)
    application_id = applied(world).id
    terms = LiveTerms(minimum=100, hold="First month", max_payment=500, fee_bps=150)
    approve = ApproveMerchant(OPERATOR, SHOP, terms, "Visited", application_id)
    tenant = approve.decide(world)
    assert world.tenant_settings.added == {TENANT: tenant}
    payouts = PayoutTerms(TENANT, minimum=100, paused_reason="First month")
    assert world.payout_terms.added == {TENANT: payouts}
    merchant = world.merchant_settings[SHOP]
    assert (merchant.fee_bps, merchant.fee_fixed) == (150, 5)
    [account] = world.new_bank_accounts
    assert (account.tenant_id, account.account_number) == (TENANT, ANSWERS.bank_account)
    assert account.effective_at > NOW  # its owners have time to object
    assert world.applications[application_id].status == "approved"
    assert actions(world)[1:] == [
        "merchant.approve",
        "payout_terms.change",
        "merchant.update",
        "application.approve",
        "bank_account.add",
    ]
    assert isinstance(approve.decide(world), Refusal)  # it is live


def test_an_approval_of_another_application_changes_nothing() -> None:
    world = world_of()
    applied(world)
    approve = ApproveMerchant(OPERATOR, SHOP, application_id=UUID(int=9))
    assert "Read it again" in approve.decide(world).message  # type: ignore[union-attr]
    assert world.tenant_settings.added == {}
