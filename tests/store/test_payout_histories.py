"""Random histories: balance, movements, payouts, float and audit agree to the laari."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from laari.rules.banking.payout_runs import AnswerPayout, CancelPayout, JoinRun
from laari.rules.banking.payouts import AnswerSandboxPayout, SandboxPayout
from laari.rules.calendar import local_day
from laari.rules.records.payouts import Payout
from laari.rules.records.tenants import Mode
from laari.rules.refusals import Refusal
from laari.store.reads.money.float_days import float_of
from tests import shops
from tests.actors import OPERATOR
from tests.store.payout_books import SECOND, Shop, a_shop, bank_account

pytestmark = pytest.mark.ci

STEPS = 60
_LINES = """
SELECT t.id, t.kind, CASE WHEN t.credit_account = $1 THEN t.amount ELSE -t.amount END AS amount
FROM transfers t WHERE $1 IN (t.credit_account, t.debit_account)
"""


class History:
    """Takes random steps with one shop, and remembers what it may do."""

    def __init__(self, shop: Shop, seed: int) -> None:
        self.shop = shop
        self.random = random.Random(seed)
        self.paid: list[Any] = []
        self.payouts: list[Payout] = []
        self.withdrawals: list[Payout] = []

    async def step(self) -> None:
        steps = [
            self.pay,
            self.pay,
            self.pay,
            self.refund,
            self.refund,
            self.hold,
            self.release,
            self.adjust,
            self.pay_out,
            self.pay_out,
            self.answer,
            self.answer,
            self.cancel,
            self.add_up,
            self.move_clock,
            self.change_fee,
            self.withdraw,
            self.withdraw,
        ]
        await self.random.choice(steps)()

    async def pay(self) -> None:
        self.paid.append(await self.shop.pay(self.random.randint(1, 50_000)))

    async def refund(self) -> None:
        if self.paid:
            payment = self.random.choice(self.paid)
            await self.shop.refund(payment.id, self.random.randint(1, payment.amount))

    async def hold(self) -> None:
        await self.shop.funds("hold", self.random.randint(1, 20_000))

    async def release(self) -> None:
        await self.shop.funds("release", self.random.randint(1, 20_000))

    async def adjust(self) -> None:
        amount = self.random.randint(-5_000, 5_000) or 1
        below_zero = self.random.random() < 0.3
        await self.shop.funds("merchant_adjustment", amount, below_zero=below_zero)

    async def pay_out(self) -> None:
        shop = self.shop
        if shop.tenant.mode == "sandbox":
            made = await shop.run(SandboxPayout(shop.tenant, OPERATOR))
        else:
            run = await reads_open(shop)
            ago = timedelta(seconds=self.random.choice([0, 0, 0.05, 3600]))
            cut_off = self.random.choice([None, datetime.now(UTC) - ago])
            made = await shop.request(cut_off, run_id=run)
            joined = [await shop.run(JoinRun(OPERATOR, id, run)) for id in await self.asked()]
            if isinstance(made, Payout) or joined:
                await shop.send(run, most=self.random.choice([500, 7_000, 20_000_000]))
        if isinstance(made, Payout):
            self.payouts.append(made)

    async def withdraw(self) -> None:
        """The next run takes it, unless it is cancelled at once."""
        made = await self.shop.withdraw(self.random.randint(1, 30_000))
        if isinstance(made, Payout):
            self.withdrawals.append(made)
            if self.random.random() < 0.2:
                await self.shop.run(CancelPayout(OPERATOR, made.id))

    async def asked(self) -> list[Any]:
        rows = await self.shop.connection.fetch(
            "SELECT id FROM payouts WHERE account IS NOT NULL AND run_id IS NULL "
            "AND status = 'requested'"
        )
        return [row["id"] for row in rows]

    async def answer(self) -> None:
        sent = self.payouts + self.withdrawals
        if not sent:
            return
        shop, payout = self.shop, self.random.choice(sent)
        action: Any = self.random.choice(["settle", "return"])
        if shop.tenant.mode == "sandbox":
            await shop.run(AnswerSandboxPayout(shop.tenant, payout.id, action))
            return
        found = await shop.connection.fetch(
            "SELECT reference FROM bank_orders WHERE payout_id = $1 ORDER BY place", payout.id
        )
        reference = self.random.choice([None, *(row["reference"] for row in found)])
        await shop.run(AnswerPayout(SECOND, payout.id, action, reference))

    async def cancel(self) -> None:
        made = None
        if self.shop.tenant.mode == "live":
            made = await self.shop.request()
        if isinstance(made, Payout):
            self.payouts.append(made)
            done = await self.shop.run(CancelPayout(OPERATOR, made.id))
            assert not isinstance(done, Refusal), done

    async def add_up(self) -> None:
        await self.shop.add_up()

    async def move_clock(self) -> None:
        if self.shop.tenant.mode == "sandbox":
            offset = self.random.choice([0, 86_400 * 40, -86_400 * 3, 3_600])
            await self.shop.connection.execute(
                "UPDATE tenants SET clock_offset_seconds = $2 WHERE id = $1",
                self.shop.tenant.id,
                offset,
            )
            self.shop.tenant = replace(self.shop.tenant, clock_offset_seconds=offset)

    async def change_fee(self) -> None:
        fee = self.random.choice([0, 25, 400])
        await shops.set_terms(self.shop.connection, self.shop.tenant.id, OPERATOR, fee=fee)


async def reads_open(shop: Shop) -> Any:
    found = await shop.connection.fetchval("SELECT id FROM payout_runs WHERE status = 'requested'")
    return found or (await shop.open_run()).id


async def agree(shop: Shop, history: History) -> None:
    rows = await shop.connection.fetch(_LINES, 1_000_000_000 + shop.tenant.id)
    balance = await shop.balance()
    assert sum(row["amount"] for row in rows) == balance.available
    assert balance.held >= 0
    listed: Counter[Any] = Counter()
    for payout in history.payouts:
        moved = await shop.movements(payout, history.random.choice([1, 3, 1_000]))
        assert sum(each.amount for each in moved) == payout.amount
        listed.update(each.id for each in moved)
    assert set(listed.values()) <= {1}, "a movement belongs to two payouts"
    left = [row for row in rows if row["id"] not in listed and row["kind"] != "payout"]
    assert sum(row["amount"] for row in left) == balance.available
    assert {row["id"] for row in rows} >= set(listed)
    if shop.tenant.mode == "live":
        withdrawn = 0
        for each in history.withdrawals:
            now = await shop.found(each)
            withdrawn += 0 if now.status == "cancelled" else now.amount - now.returned_amount
        spent = "SELECT coalesce(sum(amount), 0) FROM transactions WHERE account = $1 AND type = $2"
        told = await shop.connection.fetchval(spent, shop.payer.account, "withdraw")
        assert -told == withdrawn
        today = await float_of(shop.connection, local_day(datetime.now(UTC)))
        settled = await shop.connection.fetchval(
            "SELECT coalesce(sum(CASE WHEN debit_account = 3 THEN amount ELSE -amount END), 0) "
            "FROM transfers WHERE 3 IN (debit_account, credit_account)"
        )
        assert today.closing == settled
    await shop.add_up()
    assert await shop.differences() == []


@pytest.mark.parametrize("mode", ["live", "sandbox"])
@pytest.mark.parametrize("seed", range(2))
async def test_everything_agrees_after_any_history(dsn: str, mode: Mode, seed: int) -> None:
    async with a_shop(dsn, mode) as shop:
        await bank_account(shop)
        if mode == "live":
            await bank_account(shop, of_wallet=True)
        history = History(shop, seed)
        for number in range(STEPS):
            await history.step()
            if number % 20 == 19:
                await agree(shop, history)
    assert history.payouts
    assert bool(history.withdrawals) == (mode == "live")
