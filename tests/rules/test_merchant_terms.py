"""The rules of fees, payout terms, bank holidays and tiers without a database."""

from datetime import date, datetime, timedelta
from typing import Any

import pytest
from msgspec import json

from laari.rules.actors import Actor
from laari.rules.banking.holidays import RemoveHoliday, SetHoliday
from laari.rules.banking.tiers import SetLimits
from laari.rules.merchants.fee_terms import CancelFees, SetFees, StartFees
from laari.rules.merchants.payout_terms import ChangePayoutTerms, NewTerms
from laari.rules.records.bank import BankHoliday
from laari.rules.records.payouts import PayoutTerms
from laari.rules.records.tenants import Tenant
from laari.rules.records.wallets import Tier
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.actors import OPERATOR
from tests.rules.test_merchants import NOW, SHOP, world_of

LATER = NOW + timedelta(days=2)
DAY = date(2026, 11, 11)


def with_terms(terms: PayoutTerms | None = None) -> World:
    world = world_of("owner")
    world.tenants[1] = Tenant(1, SHOP, "Shop", "live", 0, 0, 0, 7, True)
    if terms is not None:
        world.payout_terms.lock(1, terms)
    return world


def scheduled(world: World, *, bps: int = 9, starts_at: datetime = LATER) -> Any:
    return SetFees(OPERATOR, SHOP, bps, 0, starts_at=starts_at, reason="New contract").decide(world)


def actions(world: World) -> list[str]:
    return [each.action for each in world.journal]


def test_fees_begin_now_or_later() -> None:
    world = world_of()
    assert SetFees(OPERATOR, SHOP, 5, 100).decide(world) is False
    assert scheduled(world) is True
    merchant = world.merchant_settings[SHOP]
    assert (merchant.fee_bps, merchant.fee_fixed) == (5, 100)
    assert world.scheduled_fees[SHOP, LATER].fee_bps == 9
    assert actions(world) == ["merchant.set_fees", "fees.schedule"]
    assert world.journal[-1].reason == "New contract"
    assert world.journal[-1].object_id == f"{SHOP} {int(LATER.timestamp())}"


def test_the_same_moment_again_replaces_the_fees() -> None:
    world = world_of()
    scheduled(world)
    scheduled(world, bps=8)
    [fees] = world.scheduled_fees.added.values()
    assert fees.fee_bps == 8
    assert world.journal[-1].before == world.journal[-2].after


@pytest.mark.parametrize(("days", "is_refused"), [(0, False), (1, True)])
def test_fees_begin_today_but_not_on_an_earlier_day(days: int, is_refused: bool) -> None:
    world = world_of()
    starts_at = NOW - timedelta(hours=1, days=days)
    assert isinstance(scheduled(world, starts_at=starts_at), Refusal) == is_refused
    assert (world.merchant_settings[SHOP].fee_bps == 9) != is_refused


def test_scheduled_fees_start_at_their_moment_and_once() -> None:
    world = world_of()
    scheduled(world)
    start = StartFees(SHOP, LATER)
    assert isinstance(start.decide(world), Refusal)
    world.now = LATER
    assert not isinstance(start.decide(world), Refusal)
    assert world.merchant_settings[SHOP].fee_bps == 9
    assert isinstance(start.decide(world), Refusal)
    assert actions(world) == ["fees.schedule", "fees.start", "merchant.set_fees"]


def test_cancelled_fees_do_not_start() -> None:
    world = world_of()
    scheduled(world)
    cancel = CancelFees(OPERATOR, SHOP, LATER)
    assert not isinstance(cancel.decide(world), Refusal)
    assert isinstance(cancel.decide(world), Refusal)
    world.now = LATER
    assert isinstance(StartFees(SHOP, LATER).decide(world), Refusal)


def test_terms_that_are_not_given_stay() -> None:
    world = with_terms(PayoutTerms(1, minimum=5, paused_reason="New"))
    changed = ChangePayoutTerms(OPERATOR, 1, NewTerms(fee=7)).decide(world)
    assert changed == PayoutTerms(1, minimum=5, fee=7, paused_reason="New")
    resumed = ChangePayoutTerms(OPERATOR, 1, NewTerms(paused_reason=None)).decide(world)
    assert resumed == PayoutTerms(1, minimum=5, fee=7)
    assert {each.mode for each in world.journal} == {"live"}


def test_the_first_terms_are_new_and_the_reason_of_a_pause_is_in_the_journal() -> None:
    world = with_terms()
    ChangePayoutTerms(OPERATOR, 1, NewTerms(paused_reason="Fraud")).decide(world)
    [entry] = world.journal
    assert (entry.before, entry.reason, entry.merchant_id) == (None, "Fraud", SHOP)
    assert entry.after is not None
    assert json.decode(entry.after)["minimum"] == 1


def test_a_tier_keeps_its_other_limits() -> None:
    world = world_of()
    world.tier_limits.lock("basic", Tier("basic", 1, 2, 3, 4))
    changed = SetLimits(OPERATOR, "basic", {"daily": None, "weekly": 7}).decide(world)
    assert changed == Tier("basic", 1, None, 7, 4)
    assert SetLimits(OPERATOR, "gold", {"daily": 9}).decide(world) == Tier(
        "gold", None, 9, None, None
    )
    assert actions(world) == ["tier.set", "tier.set"]


@pytest.mark.parametrize("name", ["Gold", "", "9", "g" * 41, "gold\n"])
def test_a_tier_has_a_plain_name(name: str) -> None:
    world = world_of()
    assert isinstance(SetLimits(OPERATOR, name, {}).decide(world), Refusal)
    assert world.tier_limits.added == {}


def test_a_holiday_is_added_renamed_and_removed() -> None:
    world = world_of()
    for name in ("Republic", "Republic Day"):
        SetHoliday(OPERATOR, BankHoliday(DAY, name)).decide(world)
    assert world.bank_holidays[DAY].name == "Republic Day"
    assert not isinstance(RemoveHoliday(OPERATOR, DAY).decide(world), Refusal)
    assert isinstance(RemoveHoliday(OPERATOR, DAY).decide(world), Refusal)
    assert [each.object_id for each in world.journal] == [str(DAY)] * 3


@pytest.mark.parametrize(
    ("command", "roles"),
    [
        (lambda who: SetFees(who, SHOP, 5, 0), {"finance"}),
        (lambda who: CancelFees(who, SHOP, LATER), {"finance"}),
        (lambda who: ChangePayoutTerms(who, 1, NewTerms(fee=5)), {"finance"}),
        (lambda who: SetLimits(who, "basic", {}), set()),
        (lambda who: SetHoliday(who, BankHoliday(DAY, "Eid")), {"finance"}),
        (lambda who: RemoveHoliday(who, DAY), {"finance"}),
    ],
)
def test_only_some_of_the_operator_set_terms(command: Any, roles: set[str]) -> None:
    """A merchant's owner sets none."""
    for kind, role in (("operator", "finance"), ("operator", "support"), ("person", "owner")):
        world = with_terms()
        scheduled(world)
        world.bank_holidays.lock(DAY, BankHoliday(DAY, "Republic Day"))
        outcome = command(Actor(kind, "a@shop.mv", role)).decide(world)  # type: ignore[arg-type]
        assert (not isinstance(outcome, Refusal)) == (role in roles), (command, role)
        assert not isinstance(outcome, Refusal) or outcome.status == 403
