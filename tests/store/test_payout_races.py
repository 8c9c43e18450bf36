"""Refunds, payouts and holds at once, from several processes' batches, never pass the limit."""

import asyncio
import random
from typing import Any

import pytest

from laari.rules.banking.merchant_money import Funds, MoveFunds
from laari.rules.banking.payouts import RequestPayout
from laari.rules.payments.refunds import RefundPayment
from laari.rules.records.payouts import Payout
from laari.spine.batches import Spine
from laari.store.batch.runner import BatchRunner
from tests.actors import ANYBODY, OPERATOR
from tests.store.payout_books import a_shop, bank_account

pytestmark = pytest.mark.ci


@pytest.mark.parametrize("seed", range(3))
async def test_64_movements_at_once_never_pass_the_limit(dsn: str, seed: int) -> None:
    async with a_shop(dsn) as shop:
        await bank_account(shop)
        paid = [await shop.pay(1_000) for _ in range(30)]
        commands: list[Any] = [
            *(RefundPayment(shop.tenant, each.id, ANYBODY) for each in paid),
            *(RequestPayout(shop.tenant.id, OPERATOR) for _ in range(14)),
            *(MoveFunds(shop.tenant.id, OPERATOR, "hold", 2_500, "Because") for _ in range(20)),
        ]
        assert len(commands) == 64
        random.Random(seed).shuffle(commands)
        runners = [BatchRunner(dsn, "http://laari.test") for _ in range(4)]
        spines = [Spine(runner.run, 8) for runner in runners]
        for spine in spines:
            spine.start()
        outcomes = await asyncio.gather(
            *(spines[place % 4].submit(command) for place, command in enumerate(commands))
        )
        for spine, runner in zip(spines, runners, strict=True):
            await spine.close()
            await runner.close()
        balance = await shop.balance()
        refunded = await shop.connection.fetchval("SELECT coalesce(sum(amount), 0) FROM refunds")
        payouts = [each for each in outcomes if isinstance(each, Payout)]
        held = 2_500 * sum(isinstance(each, Funds) for each in outcomes)
        taken = refunded + sum(each.amount for each in payouts) + held
        fees = 30 * 10
        assert balance.available == 30_000 - fees - taken
        assert balance.available >= -fees
        assert balance.held == held
        assert taken <= 30_000
        for payout in payouts:
            assert sum(each.amount for each in await shop.movements(payout)) == payout.amount
        await shop.add_up()
        assert await shop.differences() == []
