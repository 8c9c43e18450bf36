"""The money for payouts: exact at every cut-off, in one statement for all merchants."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from laari.rules.calendar import local_day, start_of
from laari.rules.merchants.sandbox_clock import MoveClock
from laari.store.reads.money import dues
from laari.store.reads.money import payouts as reads
from laari.store.reads.money.dues import Wanted
from tests import shops
from tests.actors import OPERATOR
from tests.making import make_merchant
from tests.store.payout_books import MASTER_KEY, Shop, a_shop, bank_account, now

DAY = timedelta(days=1)


async def play(shop: Shop) -> None:
    """Three days, by the clock of the sandbox: every kind of movement, some not added up."""
    await bank_account(shop)
    await shops.set_terms(shop.connection, shop.tenant.id, OPERATOR, fee=5)
    for day in range(3):
        ahead = day * 86_400 - shop.tenant.clock_offset_seconds
        await shop.run(MoveClock(shop.tenant, OPERATOR, ahead))
        shop.tenant = replace(shop.tenant, clock_offset_seconds=day * 86_400)
        paid = await shop.pay(1_000 + day)
        await shop.refund(paid.id, 10 + day)
        await shop.funds("hold", 100 + day)
        await shop.funds("release", 50)
        await shop.funds("merchant_adjustment", -7)
        if day < 2:
            await shop.pay(2_000)
            await shop.payout()
        if day == 1:
            await shop.add_up()


async def later(shop: Shop, since: datetime) -> int:
    """The movements from a moment on, one by one; payouts and their fees are none."""
    account = 1_000_000_000 + shop.tenant.id
    found: int = await shop.connection.fetchval(
        "SELECT coalesce(sum(CASE WHEN credit_account = $1 THEN amount ELSE -amount END), 0) "
        "FROM transfers WHERE $1 IN (debit_account, credit_account) AND created_at >= $2 "
        "AND kind NOT IN ('payout', 'payout_fee')",
        account,
        since,
    )
    return found


async def test_later_movements_are_exact_at_every_cut_off(dsn: str) -> None:
    async with a_shop(dsn, "sandbox") as shop:
        await play(shop)
        moments = await shop.connection.fetch("SELECT DISTINCT created_at FROM transfers")
        cut_offs = {moment for (moment,) in moments}
        cut_offs |= {each + timedelta.resolution for each in cut_offs}
        cut_offs |= {start_of(local_day(each)) + DAY for each in cut_offs}
        wanted = [Wanted(shop.tenant.id, each) for each in sorted(cut_offs)]
        found = await dues.of(shop.connection, wanted)
        balance = (await shop.balance()).available
        for each, due in zip(wanted, found, strict=True):
            assert each.cut_off is not None
            expected = (balance, await later(shop, each.cut_off), each.cut_off)
            assert (due.balance, due.later, due.cut_off) == expected, each


async def test_a_cut_off_is_never_before_that_of_the_last_payout(dsn: str) -> None:
    async with a_shop(dsn, "sandbox") as shop:
        await play(shop)
        last = await shop.connection.fetchval("SELECT max(cut_off) FROM payouts")
        early = Wanted(shop.tenant.id, last - DAY, last)
        every = Wanted(shop.tenant.id, None, last)
        first, second = await dues.of(shop.connection, [early, every])
        assert (first.cut_off, first.later) == (last, await later(shop, last))
        assert (second.cut_off > last, second.later) == (True, 0)


@pytest.mark.parametrize("number", [0, 3])
async def test_a_preview_is_five_statements_for_any_number_of_merchants(
    dsn: str, number: int
) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        await bank_account(shop)
        await shop.pay(1_000)
        for _ in range(number):
            await make_merchant(shop.connection, OPERATOR, MASTER_KEY, name="More", mode="live")
        await reads.preview(shop.connection, "live", now(), now())  # the driver learns the types
        asked: list[Any] = []
        shop.connection.add_query_logger(asked.append)
        (seen,) = await reads.preview(shop.connection, "live", now(), now())
        await asyncio.sleep(0)  # the driver logs a statement when it has answered
        assert (seen.tenant.id, seen.amount) == (shop.tenant.id, 1_000)
        assert len(asked) == 5, [each.query for each in asked]
