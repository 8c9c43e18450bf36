"""The books by the bank's day equal the bank's closing, whenever its lines are imported."""

import random
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from laari.rules.banking.bank_balances import in_order
from laari.rules.banking.bank_days import cut_off_of
from laari.rules.banking.bank_lines import ImportLine
from laari.rules.banking.bank_statement import StatementLine
from laari.rules.banking.manual_matches import MatchLine
from laari.rules.banking.merchant_money import SweepFees
from laari.rules.banking.open_lines import AssignLine, ChargeLine, SendLineBack
from laari.rules.banking.payout_runs import AnswerPayout, OpenRun
from laari.rules.banking.payouts import RequestPayout
from laari.rules.banking.wallet_money import MoveMoney
from laari.rules.calendar import local_day
from laari.rules.refusals import Refusal
from laari.store.batch.runner import BatchRunner
from laari.store.reads.money import bank
from laari.store.reads.money import payouts as payout_reads
from laari.store.reads.money.float_days import FloatDay, float_of
from tests.actors import OPERATOR
from tests.sampling import some_of
from tests.store.payout_books import Shop, a_shop, bank_account

DAYS = 6
BALANCE = 1_000_000_000  # of the customer, today, without a line
FIRST = local_day(datetime.now(UTC)) - timedelta(days=DAYS)


@dataclass
class Clocked:
    """A shop, a bank account, and hands that do things at any time of the last days."""

    shop: Shop
    rng: random.Random
    opening: int = 0
    lines: list[StatementLine] = field(default_factory=list)
    imported: int = 0

    async def at(self, moment: datetime, command: Any) -> Any:
        runner = BatchRunner(self.shop.dsn, "http://laari.test", clock=lambda: moment)
        [outcome] = await runner.run([command], 1.0)
        await runner.close()
        assert not isinstance(outcome, Refusal), outcome
        return outcome

    def show(self, day: date, description: str, amount: int, reference: str = "") -> str:
        """The bank's next line."""
        number = len(self.lines) + 2
        before = self.lines[-1].balance if self.lines else self.opening
        reference = reference or f"FT{number}"
        line = StatementLine(number, day, reference, description, amount, (before or 0) + amount)
        self.lines.append(line)
        return reference

    async def load(self, moment: datetime, upto: int | None = None) -> None:
        """Imports the lines that are not imported yet."""
        part = in_order(self.lines[self.imported : upto])
        self.imported = len(self.lines) if upto is None else upto
        for line in part:
            await self.at(moment, ImportLine(OPERATOR, line))

    async def of(self, day: date) -> FloatDay:
        return await float_of(self.shop.connection, day)

    def closing(self, day: date) -> int:
        return self.opening + sum(line.amount for line in self.lines if line.day <= day)


def noon(day: date) -> datetime:
    return cut_off_of(day) - timedelta(hours=12)


async def test_a_statement_of_the_next_morning_belongs_to_its_day(dsn: str) -> None:
    """An ordinary day: it closes without a difference, before and after midnight."""
    async with a_shop(dsn, fee_bps=0) as shop:
        desk = Clocked(shop, random.Random(0))
        account = shop.payer.account
        start = (await desk.of(FIRST)).closing
        desk.opening = start
        desk.show(FIRST, f"Aisha {account}", 5_000)
        desk.show(FIRST, "Nobody knows", 700)
        desk.show(FIRST + timedelta(days=1), f"Aisha {account}", 30)
        await desk.load(noon(FIRST + timedelta(days=1)))
        day = await desk.of(FIRST)
        assert (day.opening, day.closing) == (start, start + 5_700)
        assert day.came_in == {"receipt": 700, "topup": 5_000}
        assert (day.bank_closing, day.statement.gaps) == (start + 5_700, [])
        assert (day.unused, day.unshown) == (0, start)  # money of the test from nowhere
        after = await desk.of(FIRST + timedelta(days=1))
        assert (after.opening, after.came_in, after.went_out) == (start + 5_700, {"topup": 30}, {})


async def test_money_that_a_person_recorded_moves_to_the_day_of_its_line(dsn: str) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        desk, account = Clocked(shop, random.Random(0)), shop.payer.account
        next_day = FIRST + timedelta(days=1)
        desk.opening = start = (await desk.of(FIRST)).closing
        by_hand = MoveMoney(OPERATOR, None, account, "topup", 900, "Slip", slip="SLIP1")
        await desk.at(noon(FIRST), by_hand)
        day = await desk.of(FIRST)
        assert (day.closing, day.unshown) == (start + 900, start + 900)
        desk.show(next_day, "Aisha", 900, "SLIP1")
        await desk.load(noon(next_day + timedelta(days=1)))
        assert [(await desk.of(each)).closing for each in (FIRST, next_day)] == [start, start + 900]
        assert (await desk.of(next_day)).unshown == start


async def test_an_open_line_explains_the_difference(dsn: str) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        desk = Clocked(shop, random.Random(0))
        desk.opening = start = (await desk.of(FIRST)).closing
        charge = desk.show(FIRST, "Charges", -250)
        await desk.load(noon(FIRST + timedelta(days=1)))
        day = await desk.of(FIRST)
        assert (day.closing, day.bank_closing, day.unused) == (start, start - 250, -250)
        await desk.at(noon(FIRST + timedelta(days=3)), ChargeLine(OPERATOR, charge))
        day = await desk.of(FIRST)
        assert (day.closing, day.unused, day.went_out) == (start - 250, 0, {"bank_charge": 250})
        for place in range(1, 5):
            later = await desk.of(FIRST + timedelta(days=place))
            assert (later.opening, later.closing) == (start - 250, start - 250)


async def test_a_missing_day_is_shown_until_it_is_imported(dsn: str) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        desk = Clocked(shop, random.Random(0))
        for place in range(3):
            desk.show(FIRST + timedelta(days=place), "Nobody knows", 100 + place)
        first, missing, last = desk.lines
        for part in (first, last):
            desk.lines, desk.imported = [part], 0
            await desk.load(noon(FIRST + timedelta(days=3)))
        day = await desk.of(last.day)
        assert [(gap.day, gap.before, gap.after) for gap in day.statement.gaps] == [
            (last.day, 100, 201)
        ]
        assert (await desk.of(first.day)).statement.gaps == []
        assert (await desk.of(last.day + timedelta(days=1))).bank_closing is None
        desk.lines, desk.imported = [missing], 0
        await desk.load(noon(FIRST + timedelta(days=4)))
        assert (await desk.of(last.day)).statement.gaps == []


async def _one_thing(desk: Clocked, day: date, number: int) -> None:
    """Something happens at the bank, and perhaps in the books before it."""
    shop, rng, amount = desk.shop, desk.rng, desk.rng.randrange(1, 5_000)
    account = shop.payer.account
    match rng.choice(["topup", "slip", "receipt", "charge", "sweep", "payout"]):
        case "topup":
            desk.show(day, f"Aisha {account}", amount)
        case "slip":
            command = MoveMoney(OPERATOR, None, account, "topup", amount, "Slip", slip=f"S{number}")
            await desk.at(noon(day) - timedelta(hours=rng.randrange(20)), command)
            desk.show(day, "Aisha", amount, f"S{number}")
        case "receipt" | "charge" as kind:
            desk.show(day, "Nobody knows", amount if kind == "receipt" else -amount)
        case "sweep":
            await shop.pay(100 * amount)
            await desk.at(noon(day), SweepFees(OPERATOR, "live", amount))
            desk.show(day + timedelta(days=rng.randrange(2)), "Sweep", -amount)
        case "payout":
            await _payout(desk, day, 100_000 + amount)


async def _payout(desk: Clocked, day: date, amount: int) -> None:
    """The bank pays and perhaps returns it; a person may record either before its line."""
    shop, rng = desk.shop, desk.rng
    await shop.pay(amount)
    run = await shop.run(OpenRun(OPERATOR, "live", day))
    payout = await shop.run(RequestPayout(shop.tenant.id, OPERATOR, run_id=run.id))
    await shop.send(run.id)
    [order] = await payout_reads.orders(shop.connection, [payout.id])
    returns = rng.random() < 0.5
    actions: list[Any] = ["settle", "return"] if returns else ["settle"]
    if returns and rng.random() < 0.3:
        actions = ["return"]  # a person knows of the return before the line of the order
    for action in actions[: rng.randrange(3)]:
        await desk.at(noon(day), AnswerPayout(OPERATOR, payout.id, action))
    desk.show(day, f"Payroll {order.reference}", -order.amount)
    if returns:
        desk.show(day + timedelta(days=rng.randrange(3)), f"Back {order.reference}", order.amount)


async def _handle_open(desk: Clocked, moment: datetime) -> None:
    shop = desk.shop
    for line in await bank.lines(shop.connection, 1_000, only_open=True):
        if line.use == "receipt":
            if desk.rng.random() < 0.7:
                account = shop.payer.account
                await desk.at(moment, AssignLine(OPERATOR, line.reference, account))
            else:
                await desk.at(moment, SendLineBack(OPERATOR, line.reference))
                desk.show(local_day(moment), "Sent back", -line.amount)
        else:
            found = await bank.unmatched(shop.connection, [-line.amount])
            command: Any = ChargeLine(OPERATOR, line.reference)
            if found:
                command = MatchLine(OPERATOR, line.reference, (found[0].kind, found[0].name))
            await desk.at(moment, command)


@pytest.mark.parametrize("seed", some_of(list(range(12)), 6))
async def test_every_day_equals_the_bank_whenever_its_lines_are_imported(
    dsn: str, seed: int
) -> None:
    rng = random.Random(seed)
    async with a_shop(dsn) as shop:
        await bank_account(shop)
        desk = Clocked(shop, rng)
        desk.opening = (await desk.of(FIRST - timedelta(days=1))).closing
        for number in range(14):
            day = FIRST + timedelta(days=number * DAYS // 14)
            await _one_thing(desk, day, number)
            desk.lines[desk.imported :] = _in_order_of_days(desk)
            if rng.random() < 0.3:
                upto = rng.randrange(desk.imported, len(desk.lines) + 1)
                await desk.load(noon(day + timedelta(days=rng.randrange(3))), upto)
        end = noon(FIRST + timedelta(days=DAYS + 3))
        for _ in range(2):  # the second time for lines of money that was sent back the first time
            await desk.load(end)
            await _handle_open(desk, end)
        for place in range(-1, DAYS + 6):
            found = await desk.of(FIRST + timedelta(days=place))
            created = BALANCE if found.day >= FIRST + timedelta(days=DAYS) else 0
            assert found.closing == desk.closing(found.day) + created, found
            assert found.unused == 0
            assert found.statement.gaps == []
            if found.is_covered and found.statement.closing is not None:
                assert found.bank_closing == desk.closing(found.day)
        await shop.add_up()
        assert await shop.differences() == []


def _in_order_of_days(desk: Clocked) -> list[StatementLine]:
    """Lines that were not imported yet, as the bank writes them."""
    waiting = sorted(desk.lines[desk.imported :], key=lambda line: line.day)
    balance = desk.lines[desk.imported - 1].balance if desk.imported else desk.opening
    found = []
    for number, line in enumerate(waiting, desk.imported + 2):
        balance = (balance or 0) + line.amount
        reference = line.reference
        found.append(
            StatementLine(number, line.day, reference, line.description, line.amount, balance)
        )
    return found
