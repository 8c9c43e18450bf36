"""Periods that limits count in: two clocks around their edges, a sandbox's clock moved about."""

from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from laari.rules import wallets
from laari.rules.calendar import MALDIVES, Interval, period_start
from laari.rules.merchants.sandbox_clock import MoveClock
from laari.rules.needs import Needs
from laari.rules.payments import authorization_limits
from laari.rules.payments.charges import ChargeAuthorization
from laari.rules.payments.payments import PaymentDraft
from laari.rules.periods import Counted, Moment, Period, running
from laari.rules.records.authorizations import Authorization
from laari.rules.records.wallets import Tier, Wallet
from laari.rules.refusals import Refusal
from laari.rules.shapes.wallet import usage_shape
from laari.rules.world import World
from tests.actors import OPERATOR
from tests.rules.books import ACCOUNT, Books

NEVER = date(1970, 1, 1)
OWNER = UUID(int=7)
# A Sunday and the first of a month: day, week and month begin together, and the first of January
# for the year. Days that begin nothing else are in the property below.
MIDNIGHT = datetime(2026, 3, 1, tzinfo=MALDIVES)
NEW_YEAR = datetime(2027, 1, 1, tzinfo=MALDIVES)
LIMITS = {"day": "daily", "week": "weekly", "month": "monthly"}
INTERVALS: tuple[Interval, ...] = ("day", "week", "month")


def wallet(balance: int = 10**9) -> Wallet:
    return Wallet(ACCOUNT, OWNER, "live", "t", balance, NEVER, 0, NEVER, 0, NEVER, 0)


def tier(interval: str, limit: int) -> Tier:
    return replace(Tier("t", None, None, None, None), **{LIMITS[interval]: limit})


def pay(held: Wallet, limited: Tier, amount: int, now: datetime) -> tuple[Wallet, str]:
    """What take_payment does, without its bookkeeping."""
    moment = Moment(now)
    spending = wallets.spent_now(held, moment)
    block = next(wallets.spending_blocks(held, limited, amount, spending), None)
    if block is not None:
        return held, block.refusal.code
    return wallets.spend(held, amount, spending, moment), "paid"


@pytest.mark.parametrize("interval", INTERVALS)
def test_a_server_whose_clock_is_behind_does_not_forget_what_another_counted(
    interval: Interval,
) -> None:
    ahead, behind = MIDNIGHT + timedelta(seconds=0.2), MIDNIGHT - timedelta(seconds=0.2)
    held, limited = wallet(), tier(interval, 100)
    told = []
    for now, amount in (
        (behind, 100),  # all of the period that ends
        (behind, 1),
        (ahead, 90),  # the new one begins
        (behind, 11),
        (behind, 10),
        (ahead, 1),
        (behind, 1),
    ):
        held, outcome = pay(held, limited, amount, now)
        told.append(outcome)
    over = "wallet_limit_exceeded"
    assert told == ["paid", over, "paid", over, "paid", over, over]
    for now in (behind, ahead):
        shown = usage_shape(held, limited, Moment(now))
        name = LIMITS[interval]
        assert (bytes(getattr(shown.usage, name)), bytes(getattr(shown.remaining, name))) == (
            b"1",
            b"0",
        )
        # The reset that is shown is that of the period which the usage is of.
        assert datetime.fromisoformat(getattr(shown.reset_at, name)) > MIDNIGHT


@given(
    day=st.dates(date(2026, 1, 1), date(2027, 12, 31)),
    interval=st.sampled_from(INTERVALS),
    limit=st.integers(1, 30),
    payments=st.lists(
        st.tuples(st.integers(-900, 900), st.integers(0, 200), st.integers(1, 30)), max_size=25
    ),
)
def test_no_period_passes_its_limit_whatever_the_clocks_say(
    day: date, interval: Interval, limit: int, payments: list[tuple[int, int, int]]
) -> None:
    """Servers up to 0.9 s off either way, over a few seconds around a midnight."""
    real = datetime(day.year, day.month, day.day, tzinfo=MALDIVES) - timedelta(seconds=1)
    held, limited = wallet(), tier(interval, limit)
    begun: date | None = None
    spent = 0
    for skew, pause, amount in payments:
        real += timedelta(milliseconds=pause)
        now = real + timedelta(milliseconds=skew)
        start = period_start(now, interval)
        held_before = held
        held, outcome = pay(held, limited, amount, now)
        # A slow model: the latest period that anybody has spent in is the one that counts.
        counts_in = start if begun is None else max(begun, start)
        fits = (spent if counts_in == begun else 0) + amount <= limit
        assert (outcome == "paid") == fits
        if not fits:
            assert held is held_before
            continue
        spent = (spent if counts_in == begun else 0) + amount
        begun = counts_in
    if begun is not None:
        kept = {each.interval: (each.start, each.spent) for each in wallets.counted(held)}
        assert kept[interval] == (begun, spent)


@given(
    moments=st.lists(
        st.tuples(st.integers(-(10**6), 10**6), st.integers(1, 50)), min_size=1, max_size=12
    ),
    interval=st.sampled_from(INTERVALS),
)
def test_wallets_and_authorizations_count_in_the_same_period(
    moments: list[tuple[int, int]], interval: Interval
) -> None:
    held, given_leave = wallet(), authorization(interval)
    for seconds, amount in moments:
        moment = Moment(MIDNIGHT + timedelta(seconds=seconds))
        held = wallets.spend(held, amount, wallets.spent_now(held, moment), moment)
        period = authorization_limits.current_period(given_leave, moment)
        usage = authorization_limits.usage_after(given_leave, amount, period, moment)
        given_leave = replace(given_leave, **usage)
        spent = dict(zip(INTERVALS, wallets.spent_now(held, moment), strict=True))[interval]
        assert authorization_limits.current_period(given_leave, moment) == spent


def authorization(interval: Interval) -> Authorization:
    return Books(10**9, period_interval=interval, period_amount=10**9).authorization


@pytest.mark.parametrize("interval", ["day", "week", "month", "year"])
def test_a_moved_sandbox_clock_is_not_a_server_that_is_behind(interval: Interval) -> None:
    later = period_start(NEW_YEAR, interval)
    counted = Counted(OWNER, interval, later, 90, offset_seconds=86_400)
    before = NEW_YEAR - timedelta(seconds=1)
    earlier = period_start(before, interval)
    if earlier == later:  # a week goes on over New Year
        return
    aside = {(OWNER, interval, earlier): 40}
    assert running(counted, Moment(before, 86_400, aside)) == Period(later, 90)
    assert running(counted, Moment(before, 0, aside)) == Period(earlier, 40)
    assert running(counted, Moment(before)) == Period(later, 90)  # live: there is no other offset


def test_a_period_that_was_not_looked_up_is_a_defect_and_not_an_empty_one() -> None:
    counted = Counted(OWNER, "day", NEVER, 5, 0)
    with pytest.raises(KeyError):
        running(counted, Moment(MIDNIGHT, 0, {}))


def test_moving_the_clock_asks_for_nothing_but_the_clock() -> None:
    books = Books(10**6, period_interval="month", period_amount=100)
    needs = Needs()
    MoveClock(books.tenant, OPERATOR, 60).needs(needs)
    assert {*needs.locks, *needs.reads} == {World.tenant_settings}
    assert needs.locked(World.tenant_settings) == {1}
    followed = (needs.followers, needs.wallets_of_authorizations)
    assert not any((*followed, needs.sandbox_charging, needs.sandbox_spending))
    world = books.world()
    MoveClock(books.tenant, OPERATOR, 60).decide(world)
    assert (world.wallets.changed, world.authorizations.changed) == ({}, {})


def spend_all(books: Books, offset: int, amounts: list[int]) -> list[Any]:
    books.move_clock(offset)
    outcomes = [
        books.run(ChargeAuthorization(books.tenant, books.id, PaymentDraft(f"{uuid4()}", amount)))
        for amount in amounts
    ]
    return [each.code if isinstance(each, Refusal) else each.status for each in outcomes]


def test_a_moved_clock_finds_the_wallets_usage_of_that_time_again() -> None:
    books, over = Books(10**9, tier="basic"), "wallet_limit_exceeded"  # 1,000,000 a day
    day = 86_400
    assert spend_all(books, 0, [500_000, 300_000]) == ["paid", "paid"]
    assert spend_all(books, day, [400_000, 400_000]) == ["paid", "paid"]
    assert spend_all(books, 0, [200_001, 200_000, 1]) == [over, "paid", over]
    assert spend_all(books, day, [200_001, 200_000]) == [over, "paid"]
    # Real time comes to the day that was spent in ahead of it.
    books.move_clock(0)
    books.real += timedelta(days=1)
    assert spend_all(books, 0, [1]) == [over]
