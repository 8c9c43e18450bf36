"""Lines of the bank's statement about orders: answers of the bank, and those recorded by hand."""

import asyncio
from datetime import date
from typing import Any, Literal

import pytest

from laari.rules.banking.bank_lines import ImportLine
from laari.rules.banking.bank_statement import StatementLine
from laari.rules.banking.manual_matches import MatchLine, UnmatchLine
from laari.rules.banking.open_lines import SendLineBack
from laari.rules.banking.payout_runs import AnswerPayout
from laari.rules.records.bank import BankLine
from laari.rules.records.payouts import Payout
from laari.rules.refusals import Refusal
from laari.store.batch.runner import BatchRunner
from laari.store.reads.money import bank
from tests.actors import OPERATOR
from tests.store.payout_books import Shop, a_shop, bank_account

DAY = date(2026, 11, 18)
FIRST, SECOND = "LP000001R0001", "LP000001R0002"


async def sent(shop: Shop, amount: int = 50_000, most: int = 20_000_000) -> Payout:
    await bank_account(shop)
    await shop.pay(amount)
    run = await shop.open_run()
    payout = await shop.payout(run_id=run.id)
    await shop.send(run.id, most)
    return payout


async def line_of(shop: Shop, reference: str, order: str, amount: int) -> BankLine:
    """Imports a line after the check has said the same."""
    line = StatementLine(2, DAY, reference, f"Payroll {order}", amount, None)
    (seen,) = await bank.expectations(shop.connection, [line])
    booked = await shop.run(ImportLine(OPERATOR, line))
    assert not isinstance(booked, Refusal), booked
    assert booked.line.use == seen.use
    return booked.line  # type: ignore[no-any-return]


async def record(
    shop: Shop, payout: Payout, action: Literal["settle", "return"], order: str = FIRST
) -> Any:
    return await shop.run(AnswerPayout(OPERATOR, payout.id, action, order))


async def test_money_out_of_an_order_that_a_person_returned_stays_open(dsn: str) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        payout = await sent(shop)
        await record(shop, payout, "return")
        out = await line_of(shop, "OUT1", FIRST, -50_000)
        assert (out.use, out.order_reference) == ("none", None)
        [waiting] = await bank.lines(shop.connection, 10, only_open=True)
        assert waiting.reference == "OUT1"
        assert (await shop.balance()).available == 50_000
        assert await shop.differences() == []


async def test_money_out_is_explained_by_the_return_that_the_bank_shows(dsn: str) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        payout = await sent(shop)
        await record(shop, payout, "return")
        await line_of(shop, "OUT1", FIRST, -50_000)
        order: Any = ("order", FIRST)
        assert (await shop.run(MatchLine(OPERATOR, "OUT1", order))).code == "not_found"
        back = await line_of(shop, "IN1", FIRST, 50_000)
        assert (back.use, back.tid) == ("returned", None)
        [found] = await bank.unmatched(shop.connection, [50_000])
        assert (found.kind, found.name) == order
        matched = await shop.run(MatchLine(OPERATOR, "OUT1", order))
        assert (matched.use, matched.order_reference) == ("matched", FIRST)
        assert await bank.unmatched(shop.connection, [50_000]) == []
        # Another line about the same order is not its answer.
        assert (await line_of(shop, "OUT2", FIRST, -50_000)).use == "none"
        assert (await shop.run(MatchLine(OPERATOR, "OUT2", order))).code == "conflict"
        assert await shop.differences() == []


@pytest.mark.parametrize("recorded", [("settle",), ("settle", "return"), ()])
async def test_lines_after_a_recorded_answer_are_that_answer(
    dsn: str, recorded: tuple[Literal["settle", "return"], ...]
) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        payout = await sent(shop)
        for action in recorded:
            await record(shop, payout, action)
        assert (await line_of(shop, "OUT1", FIRST, -50_000)).use == "settled"
        assert (await line_of(shop, "IN1", FIRST, 50_000)).use == "returned"
        assert (await shop.balance()).available == 50_000
        assert (await line_of(shop, "OUT2", FIRST, -50_000)).use == "none"
        assert (await line_of(shop, "IN2", FIRST, 50_000)).use == "receipt"
        assert await shop.differences() == []


async def test_the_line_of_a_return_may_come_before_the_line_of_the_order(dsn: str) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        await sent(shop)
        assert (await line_of(shop, "IN1", FIRST, 50_000)).use == "returned"
        assert (await line_of(shop, "OUT1", FIRST, -50_000)).use == "settled"
        assert (await shop.balance()).available == 50_000
        assert await shop.differences() == []


async def test_two_lines_for_one_order_at_once_are_one_answer(dsn: str) -> None:
    """Both processes know the order before they wait for its payout."""
    async with a_shop(dsn, fee_bps=0) as shop:
        payout = await sent(shop)
        runners = [BatchRunner(dsn, "http://laari.test") for _ in range(2)]
        lines = [
            StatementLine(2, DAY, reference, f"Back {FIRST}", 50_000, None)
            for reference in ("IN1", "IN2")
        ]
        async with shop.connection.transaction():
            await shop.connection.execute("SELECT FROM payouts WHERE id = $1 FOR UPDATE", payout.id)
            importing = [
                asyncio.create_task(runner.run([ImportLine(OPERATOR, line)], 5.0))
                for runner, line in zip(runners, lines, strict=True)
            ]
            await asyncio.sleep(0.3)
        booked = [(await each)[0] for each in importing]
        for runner in runners:
            await runner.close()
        assert sorted(each.line.use for each in booked) == ["receipt", "returned"]
        assert (await shop.balance()).available == 50_000
        assert await shop.differences() == []


async def test_a_wrong_match_is_undone(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        for reference in ("IN1", "IN2"):
            line = StatementLine(2, DAY, reference, "No idea", 700, None)
            await shop.run(ImportLine(OPERATOR, line))
            await shop.run(SendLineBack(OPERATOR, reference))
        await line_of(shop, "OUT1", "rent", -700)
        undo = UnmatchLine(OPERATOR, "OUT1")
        refused = await shop.run(undo)
        assert refused.message == "The line is not matched: its use is none."
        assert (await shop.run(UnmatchLine(OPERATOR, "OUT9"))).code == "not_found"
        assert (await shop.run(UnmatchLine(OPERATOR, "IN1"))).code == "conflict"
        await shop.run(MatchLine(OPERATOR, "OUT1", ("sent_back", "IN1")))
        opened = await shop.run(undo)
        assert (opened.use, opened.tid, opened.handled_by) == ("none", None, None)
        matched = await shop.run(MatchLine(OPERATOR, "OUT1", ("sent_back", "IN2")))
        assert matched.use == "matched"
        entries = await shop.connection.fetch(
            "SELECT action FROM journal WHERE object_id = 'OUT1' ORDER BY id"
        )
        assert [row["action"] for row in entries] == [
            "bank_line.import",
            "bank_line.match",
            "bank_line.unmatch",
            "bank_line.match",
        ]
        assert await shop.differences() == []


async def returned_amounts(shop: Shop) -> list[int]:
    rows = await shop.connection.fetch(
        "SELECT (convert_from(body, 'UTF8')::jsonb -> 'data' ->> 'returned_amount')::int AS amount "
        "FROM events WHERE type = 'payout.returned' ORDER BY id"
    )
    return [row["amount"] for row in rows]


async def test_a_second_return_of_a_split_payout_sends_its_event(dsn: str) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        payout = await sent(shop, 50_000, most=30_000)
        await record(shop, payout, "settle", FIRST)
        await record(shop, payout, "return", SECOND)
        assert await returned_amounts(shop) == [20_000]
        await record(shop, payout, "return", FIRST)
        assert await returned_amounts(shop) == [20_000, 50_000]
        assert await shop.differences() == []
        async with shop.connection.transaction():
            await shop.connection.execute("SET LOCAL session_replication_role = replica")
            await shop.connection.execute(
                "DELETE FROM events WHERE id = (SELECT id FROM events "
                "WHERE type = 'payout.returned' ORDER BY id DESC LIMIT 1)"
            )
        assert any(each.startswith("payout_event") for each in await shop.differences())


@pytest.mark.parametrize("by_line", [False, True])
async def test_parts_that_return_together_send_one_event(dsn: str, by_line: bool) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        payout = await sent(shop, 50_000, most=30_000)
        await shop.run(AnswerPayout(OPERATOR, payout.id, "settle"))
        if by_line:
            lines = [
                StatementLine(2, DAY, f"IN{order}", f"Returned {order}", amount, None)
                for order, amount in ((FIRST, 30_000), (SECOND, 20_000))
            ]
            await shop.together(*(ImportLine(OPERATOR, line) for line in lines))
        else:
            await shop.run(AnswerPayout(OPERATOR, payout.id, "return"))
        assert await returned_amounts(shop) == [50_000]
        assert (await shop.found(payout)).returned_amount == 50_000
        assert await shop.differences() == []
