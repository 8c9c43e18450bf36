"""Balance, ledger, statements, closings and daily figures agree with a list of what happened.

The history is random: payments at several tills, partial refunds, holds, corrections and payouts,
some of them returned, over months, in both modes, with a sandbox's clock that is moved, and
figures added up at any time.
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
from laari.rules.calendar import local_day
from laari.rules.day_ranges import Days, month_of
from laari.rules.merchant_money import MoveFunds
from laari.rules.payments import CreatePayment, PaymentDraft, PayPayment
from laari.rules.payouts import AnswerSandboxPayout, SandboxPayout
from laari.rules.records import Tenant
from laari.rules.refunds import RefundPayment
from laari.rules.refusals import Refusal
from laari.rules.tills import CloseTill
from laari.store.audit import audit
from laari.store.batch.runner import BatchRunner
from laari.store.people import customers, merchants
from laari.store.people.acting import acting
from laari.store.postgres.pool import connection_to
from laari.store.reads import balances, figures, money, movements, statements, tenants, tills
from laari.store.reads.figures import Figures, Span
from laari.store.reads.movements import MovementKind
from tests.actors import OPERATOR, PERSON

BEGIN = datetime(2026, 1, 30, 18, 58, tzinfo=UTC)  # two minutes before midnight in the Maldives
TILLS = (None, "1", "Bar")


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
            RefundPayment(self.tenant, id, PERSON, amount), allowed=True
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
        moved = MoveFunds(self.tenant, OPERATOR, kind, -amount if is_less else amount, "Reason")
        outcome = await self.history.run(moved, allowed=True)
        if not isinstance(outcome, Refusal):
            self.add(kind, "", -amount if is_less or kind == "hold" else amount)

    async def pay_out(self, chance: random.Random) -> None:
        """All that is available, in the sandbox; the bank returns some of them later."""
        if self.tenant.mode == "live":
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

    async def close(self, chance: random.Random) -> None:
        till = chance.choice(TILLS) or ""
        outcome = await self.history.run(CloseTill(self.tenant, till, PERSON), allowed=True)
        waiting = self.open.pop(till, [])
        assert isinstance(outcome, Refusal) == (not waiting)
        if waiting:
            assert outcome.number == len(self.closings[till]) + 1
            self.closings[till].append(figured(waiting))


class History:
    def __init__(self, dsn: str) -> None:
        self.now = BEGIN
        self.step = 0
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
        made = await merchants.create(
            connection, OPERATOR, bytes(32), name="Shop", mode="live", fee_bps=175, fee_fixed=3
        )
        payer = await customers.create(
            connection, OPERATOR, name="Aisha", mode="live", tier="business", balance=10**9
        )
        live = await tenants.of_merchant(connection, made.merchant.id, "live")
        sandbox = await tenants.of_merchant(connection, made.merchant.id, "sandbox")
        async with acting(connection, OPERATOR, "tier.update"):
            await connection.execute(
                "UPDATE tiers SET per_transaction = NULL, daily = NULL, weekly = NULL, "
                "monthly = NULL"
            )
    return [
        Shop(history, live, Payer(payer.account, "live")),
        Shop(history, sandbox, Payer(sandbox.sandbox_account, "sandbox")),
    ]


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
        lines = (await money.of_span(connection, span, 10_000)).lines
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


async def play(dsn: str, history: History, seed: int, steps: int) -> None:
    chance = random.Random(seed)
    shops = await open_shops(dsn, history)
    async with connection_to(dsn) as connection:
        for step in range(steps):
            history.now += timedelta(seconds=chance.choice([1, 70, 4_000, 90_000, 400_000]))
            shop = chance.choice(shops)
            if shop.tenant.mode == "sandbox" and chance.random() < 0.3:
                offset = chance.choice([-1, 1]) * chance.randrange(40 * 86_400)
                shop.tenant = replace(shop.tenant, clock_offset_seconds=offset)
            ways = [shop.pay, shop.refund, shop.move, shop.close, shop.pay_out]
            what = chance.choices(ways, [6, 3, 1, 2, 1])[0]
            await what(chance)
            if chance.random() < 0.15:
                async with connection.transaction():
                    await figures.add_up(connection, chance.choice([5, figures.STEP]))
            if step % 20 == 19:
                for each in shops:
                    await compare(connection, each, chance)
        report = await audit(connection)
        assert report.differences == []


@pytest.mark.parametrize("seed", [1, 2])
async def test_all_sums_agree_with_what_happened(dsn: str, history: History, seed: int) -> None:
    await play(dsn, history, seed, 100)


@pytest.mark.ci
@pytest.mark.parametrize("seed", range(10, 22))
async def test_all_sums_agree_in_long_histories(dsn: str, history: History, seed: int) -> None:
    await play(dsn, history, seed, 400)
