"""Balance, ledger, statements, closings and daily figures agree with a list of what happened.

The history is random: payments at several tills, partial refunds, holds, corrections, payouts and
withdrawals, some of them cancelled or returned, over months, in both modes, with a sandbox's clock
that is moved, and figures added up at any time. The wallet and the bank account agree as well.
"""

import random
from collections import defaultdict
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg
import pytest
from msgspec.structs import replace

from laari.rules.actors import Payer
from laari.rules.banking.bank_accounts import AddBankAccount
from laari.rules.banking.merchant_money import MoveFunds
from laari.rules.banking.payout_approval import ApproveRun
from laari.rules.banking.payout_runs import (
    AnswerPayout,
    CancelPayout,
    JoinRun,
    OpenRun,
    SendRun,
)
from laari.rules.banking.payouts import AnswerSandboxPayout, RequestPayout, SandboxPayout
from laari.rules.banking.withdrawals import RequestWithdrawal
from laari.rules.calendar import local_day
from laari.rules.day_ranges import Days, month_of
from laari.rules.merchants.sandbox_clock import MoveClock
from laari.rules.payments.payments import CreatePayment, PaymentDraft, PayPayment
from laari.rules.payments.refunds import RefundPayment
from laari.rules.payments.till_closings import CloseTill
from laari.rules.records.bank_accounts import BankDetails
from laari.rules.records.payouts import BankOrder, Payout
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal
from laari.store.audit import audit
from laari.store.batch.runner import BatchRunner
from laari.store.counters import daily_figures
from laari.store.postgres.pool import connection_to
from laari.store.reads import figures, tenants
from laari.store.reads.figures import Figures, Span
from laari.store.reads.money import balance_history, balances, movements, payouts, statements, tills
from laari.store.reads.money.float_days import float_of
from laari.store.reads.money.movements import MovementKind
from tests import shops as shop_commands
from tests.acting import acting
from tests.actors import ANYBODY, OPERATOR
from tests.making import make_customer, make_merchant

BEGIN = datetime(2026, 1, 30, 18, 58, tzinfo=UTC)  # two minutes before midnight in the Maldives
TILLS = (None, "1", "Bar")
STARTED_WITH = 10**9  # laari of the live customer


class Happened(NamedTuple):
    kind: MovementKind
    day: date
    till: str
    amount: int
    fee: int = 0

    @property
    def effect(self) -> int:
        return {"payment": self.amount - self.fee, "refund": -self.amount}.get(
            self.kind, self.amount
        )


def figured(happened: list[Happened]) -> Figures:
    paid = [each for each in happened if each.kind == "payment"]
    back = [each for each in happened if each.kind == "refund"]
    return Figures(
        len(paid),
        sum(each.amount for each in paid),
        sum(each.fee for each in paid),
        len(back),
        sum(each.amount for each in back),
        sum(each.effect for each in happened if each.kind not in ("payment", "refund")),
    )


class Shop:
    """A tenant, and a list of what happened to it."""

    def __init__(self, history: "History", tenant: Tenant, payer: Payer) -> None:
        self.history = history
        self.tenant = tenant
        self.payer = payer
        self.happened: list[Happened] = []
        self.open: dict[str, list[Happened]] = defaultdict(list)  # since the last closing
        self.closings: dict[str, list[Figures]] = defaultdict(list)
        self.paid: dict[UUID, tuple[str, int]] = {}  # till, and what is left
        self.sent: list[tuple[UUID, int]] = []  # payouts without the bank's answer
        self.waiting: list[Payout] = []  # withdrawals and payouts that wait for a run
        self.orders: list[tuple[Payout, BankOrder]] = []  # with the bank; it may return them
        self.withdrawn: list[int] = []  # signed, as in the customer's history
        self.bank: list[tuple[date, int]] = []  # signed movements of the bank account

    def add(self, kind: MovementKind, till: str, amount: int, fee: int = 0) -> None:
        now = self.history.now + timedelta(seconds=self.tenant.clock_offset_seconds)
        each = Happened(kind, local_day(now), till, amount, fee)
        self.happened.append(each)
        if kind in ("payment", "refund"):
            self.open[till].append(each)

    async def pay(self, chance: random.Random) -> None:
        label, amount = chance.choice(TILLS), chance.randrange(1, 50_000)
        draft = PaymentDraft(f"{len(self.happened)} {self.history.step}", amount)
        draft = replace(draft, terminal_label=label)
        made = await self.history.run(CreatePayment(self.tenant, draft))
        paid = await self.history.run(PayPayment(self.tenant, made.id, self.payer))
        self.paid[made.id] = (label or "", amount)
        self.add("payment", label or "", amount, paid.fee)

    async def refund(self, chance: random.Random) -> None:
        if not self.paid:
            return
        id = chance.choice(list(self.paid))
        till, left = self.paid[id]
        amount = chance.choice([left, chance.randrange(1, left + 1)])
        outcome = await self.history.run(
            RefundPayment(self.tenant, id, ANYBODY, amount), allowed=True
        )
        if isinstance(outcome, Refusal):  # not covered, or the clock went back
            return
        self.add("refund", till, amount)
        del self.paid[id]
        if amount < left:
            self.paid[id] = (till, left - amount)

    async def move(self, chance: random.Random) -> None:
        """Refused if less is available or held."""
        kind: Any = chance.choice(["hold", "release", "merchant_adjustment"])
        amount = chance.randrange(1, 900)
        is_less = kind == "merchant_adjustment" and chance.random() < 0.5
        moved = MoveFunds(self.tenant.id, OPERATOR, kind, -amount if is_less else amount, "Reason")
        outcome = await self.history.run(moved, allowed=True)
        if not isinstance(outcome, Refusal):
            self.add(kind, "", -amount if is_less or kind == "hold" else amount)

    async def pay_out(self, chance: random.Random) -> None:
        """All that is available; the bank returns some of them later."""
        if self.tenant.mode == "live":
            days = chance.choice([0, 0, 3])
            cut_off = chance.choice([None, self.history.now - timedelta(days=days)])
            ask = RequestPayout(self.tenant.id, OPERATOR, cut_off)
            made = await self.history.run(ask, allowed=True)
            if not isinstance(made, Refusal):
                self.add("payout", "", -made.amount)
                self.add("payout_fee", "", -made.fee)
                self.waiting.append(made)
            return
        if self.sent and chance.random() < 0.6:
            id, amount = self.sent.pop()
            action: Any = chance.choice(["settle", "return"])
            await self.history.run(AnswerSandboxPayout(self.tenant, id, action))
            if action == "return":
                self.add("payout_returned", "", amount)
            return
        payout = await self.history.run(SandboxPayout(self.tenant, OPERATOR), allowed=True)
        if not isinstance(payout, Refusal):
            self.add("payout", "", -payout.amount)
            self.sent.append((payout.id, payout.amount))

    async def withdraw(self, chance: random.Random) -> None:
        """The customer asks for money of the wallet."""
        amount = chance.randrange(1, 30_000)
        ask = RequestWithdrawal(ANYBODY, self.payer.account, amount)
        made = await self.history.run(ask, allowed=self.tenant.mode == "sandbox")
        assert isinstance(made, Refusal) == (self.tenant.mode == "sandbox")
        if not isinstance(made, Refusal):
            self.withdrawn.append(-amount)
            self.waiting.append(made)

    def came_back(self, payout: Payout, amount: int, fee: int = 0) -> None:
        if payout.tenant_id is None:
            self.withdrawn.append(amount)
            return
        self.add("payout_returned", "", amount)
        if fee:
            self.add("payout_fee", "", fee)

    async def settle_up(self, chance: random.Random) -> None:
        """A run with everything that waits, or a cancellation, or the bank's answer to an order."""
        run = self.history.run
        if self.waiting and chance.random() < 0.2:
            payout = self.waiting.pop(chance.randrange(len(self.waiting)))
            await run(CancelPayout(OPERATOR, payout.id))
            self.came_back(payout, payout.amount, payout.fee)
        elif self.waiting:
            yesterday = local_day(self.history.now) - timedelta(days=1)
            opened = await run(OpenRun(OPERATOR, "live", yesterday))
            rest: list[Payout] = []
            for payout in self.waiting:
                command = JoinRun(OPERATOR, payout.id, opened.id)
                if isinstance(await run(command, allowed=True), Refusal):
                    rest.append(payout)  # one payout of a merchant in each run
            joined = [each.amount for each in self.waiting if each not in rest]
            await run(ApproveRun(OPERATOR, opened.id, 10**12, sum(joined)))
            most = chance.choice([700, 20_000_000])
            sent = await run(SendRun(OPERATOR, opened.id, opened.day, most))
            async with connection_to(self.history.dsn) as connection:
                orders = await payouts.orders(connection, [each.id for each in sent.payouts])
            by_payout = {each.id: each for each in sent.payouts}
            self.orders += [(by_payout[each.payout_id], each) for each in orders]
            self.waiting = rest
        elif self.orders:
            payout, order = self.orders.pop(chance.randrange(len(self.orders)))
            action: Any = chance.choice(["settle", "settle", "return"])
            if action == "settle" and order.status == "settled":
                return
            await run(AnswerPayout(OPERATOR, payout.id, action, order.reference))
            today = local_day(self.history.now)
            if action == "settle":
                self.bank.append((today, -order.amount))
                self.orders.append((payout, replace(order, status="settled")))
                return
            if order.status == "settled":
                self.bank.append((today, order.amount))
            self.came_back(payout, order.amount)

    async def close(self, chance: random.Random) -> None:
        till = chance.choice(TILLS) or ""
        outcome = await self.history.run(CloseTill(self.tenant, till, ANYBODY), allowed=True)
        waiting = self.open.pop(till, [])
        assert isinstance(outcome, Refusal) == (not waiting)
        if waiting:
            assert outcome.number == len(self.closings[till]) + 1
            self.closings[till].append(figured(waiting))


class History:
    def __init__(self, dsn: str) -> None:
        self.now = BEGIN
        self.step = 0
        self.dsn = dsn
        self.runner = BatchRunner(dsn, "http://laari.test", clock=lambda: self.now)

    async def run(self, command: Any, *, allowed: bool = False) -> Any:
        self.step += 1
        [outcome] = await self.runner.run([command], 1.0)
        assert allowed or not isinstance(outcome, Refusal), outcome
        return outcome


@pytest.fixture
async def history(dsn: str) -> AsyncIterator[History]:
    made = History(dsn)
    yield made
    await made.runner.close()


async def open_shops(dsn: str, history: History) -> list[Shop]:
    async with connection_to(dsn) as connection:
        made = await make_merchant(
            connection, OPERATOR, bytes(32), name="Shop", mode="live", fee_bps=175, fee_fixed=3
        )
        payer = await make_customer(
            connection, OPERATOR, name="Aisha", mode="live", tier="business", balance=STARTED_WITH
        )
        live = await tenants.of_merchant(connection, made.merchant.id, "live")
        sandbox = await tenants.of_merchant(connection, made.merchant.id, "sandbox")
        async with acting(connection, OPERATOR, "tier.update"):
            await connection.execute(
                "UPDATE tiers SET per_transaction = NULL, daily = NULL, weekly = NULL, "
                "monthly = NULL"
            )
        runner = BatchRunner(dsn, "http://laari.test", clock=lambda: BEGIN)
        for owner in (live.id, payer.account):
            details = BankDetails("Aisha", "BML", "77112233")
            await runner.run([AddBankAccount(ANYBODY, owner, details)], 1.0)
        await runner.close()
        await shop_commands.set_terms(connection, live.id, OPERATOR, fee=25)
        topup = await connection.fetchval(
            "SELECT created_at FROM transfers WHERE debit_account = 3"
        )
    shops = [
        Shop(history, live, Payer(payer.account, "live")),
        Shop(history, sandbox, Payer(sandbox.sandbox_account, "sandbox")),
    ]
    shops[0].bank.append((local_day(topup), STARTED_WITH))
    return shops


async def compare(connection: asyncpg.Connection, shop: Shop, chance: random.Random) -> None:
    tenant_id, happened = shop.tenant.id, shop.happened
    if not happened:
        return
    assert (await balances.of_tenant(connection, tenant_id)).available == sum(
        each.effect for each in happened
    )
    every = sorted({each.day for each in happened})
    first, last = sorted(chance.choices(every, k=2))
    months = [month_of(chance.choice(every)), Days(first, last), Days(every[0], every[-1])]
    for days in [*months, Days(first - timedelta(days=3), first - timedelta(days=1))]:
        within = [each for each in happened if days.first <= each.day <= days.last]
        opening = sum(each.effect for each in happened if each.day < days.first)
        found = await statements.of_days(connection, tenant_id, days)
        assert found.opening == opening
        assert found.moved.figures == figured(within)
        assert found.opening + found.moved.change == found.closing
        assert found.closing == opening + sum(each.effect for each in within)
        assert found.moved.others == {
            kind: (
                sum(each.kind == kind for each in within),
                sum(each.effect for each in within if each.kind == kind),
            )
            for kind in {each.kind for each in within} - {"payment", "refund"}
        }
        balance = opening
        for day in found.by_day:
            assert day.opening == balance
            balance += sum(each.effect for each in within if each.day == day.day)
            assert day.closing == balance
        assert balance == found.closing
        # The ledger's lines, the movements, and the figures by day and till.
        span = Span(tenant_id, days.first, days.last)
        lines = (await balance_history.of_span(connection, span, 10_000)).lines
        assert sorted(line.movement.effect for line in lines) == sorted(
            each.effect for each in within
        )
        if lines:
            assert lines[0].balance == found.closing
            assert lines[-1].balance == found.opening + lines[-1].movement.effect
        sales = (await movements.of_span(connection, span, 10_000)).rows
        assert sum(row.effect for row in sales) == found.moved.figures.net
        by_till = await figures.of_days(connection, span)
        for each in by_till:
            assert each.figures == figured(
                [one for one in within if (one.day, one.till) == (each.day, each.terminal_label)]
            )
    closings, _ = await tills.closings(connection, tenant_id, None, 10_000)
    assert {
        (each.till, each.number): (
            each.payments,
            each.gross,
            each.fees,
            each.refunds,
            each.refunded,
        )
        for each in closings
    } == {
        (till, number): tuple(sums)[:5]
        for till, all_of_till in shop.closings.items()
        for number, sums in enumerate(all_of_till, 1)
    }
    for waiting in await tills.show_open(connection, tenant_id):
        now = figured(shop.open.get(waiting.till, []))
        assert (waiting.payments, waiting.net) == (now.payments, now.net)


async def compare_wallet(connection: asyncpg.Connection, shop: Shop) -> None:
    """The customer's wallet and history, and the bank account on each day."""
    sales = figured(shop.happened)
    wallet = "SELECT balance FROM wallets WHERE account = $1"
    moved = STARTED_WITH - sales.gross + sales.refunded + sum(shop.withdrawn)
    assert await connection.fetchval(wallet, shop.payer.account) == moved
    told = "SELECT amount FROM transactions WHERE account = $1 AND type = 'withdraw'"
    rows = await connection.fetch(told, shop.payer.account)
    assert sorted(row["amount"] for row in rows) == sorted(shop.withdrawn)
    for day in {day for day, _ in shop.bank}:
        found = await float_of(connection, day)
        assert found.opening == sum(amount for at, amount in shop.bank if at < day)
        assert found.closing == sum(amount for at, amount in shop.bank if at <= day)


async def play(dsn: str, history: History, seed: int, steps: int) -> None:
    chance = random.Random(seed)
    shops = await open_shops(dsn, history)
    async with connection_to(dsn) as connection:
        for step in range(steps):
            history.now += timedelta(seconds=chance.choice([1, 70, 4_000, 90_000, 400_000]))
            shop = chance.choice(shops)
            if shop.tenant.mode == "sandbox" and chance.random() < 0.3:
                offset = chance.choice([-1, 1]) * chance.randrange(40 * 86_400)
                ahead = offset - shop.tenant.clock_offset_seconds
                await history.run(MoveClock(shop.tenant, OPERATOR, ahead))
                shop.tenant = replace(shop.tenant, clock_offset_seconds=offset)
            ways = [shop.pay, shop.refund, shop.move, shop.close, shop.pay_out]
            ways += [shop.withdraw, shop.settle_up]
            what = chance.choices(ways, [6, 3, 1, 2, 1, 1, 3])[0]
            await what(chance)
            if chance.random() < 0.15:
                async with connection.transaction():
                    await daily_figures.add_up(connection, chance.choice([5, daily_figures.STEP]))
            if step % 20 == 19:
                for each in shops:
                    await compare(connection, each, chance)
                await compare_wallet(connection, shops[0])
        report = await audit(connection)
        assert report.differences == []


@pytest.mark.parametrize("seed", [1, 2])
async def test_all_sums_agree_with_what_happened(dsn: str, history: History, seed: int) -> None:
    await play(dsn, history, seed, 100)


@pytest.mark.ci
@pytest.mark.parametrize("seed", [10, 11])
async def test_all_sums_agree_in_long_histories(dsn: str, history: History, seed: int) -> None:
    await play(dsn, history, seed, 400)
