"""A debit line of the bank's statement is matched with money that the books have sent already."""

import asyncio
from datetime import date
from typing import Any

import pytest

from laari.rules.banking.bank_lines import ImportLine
from laari.rules.banking.bank_statement import StatementLine
from laari.rules.banking.manual_matches import MatchLine
from laari.rules.banking.merchant_money import SweepFees
from laari.rules.banking.open_lines import ChargeLine, SendLineBack
from laari.rules.records.bank import BankLine, BankMovement
from laari.rules.refusals import Refusal
from laari.store.batch.runner import BatchRunner
from laari.store.reads.money import bank
from tests.actors import OPERATOR
from tests.store.payout_books import Shop, a_shop, until_decided

DAY = date(2026, 11, 18)
RETURNED = ("sent_back", "IN1")
SWEPT = ("sweep", "1")


async def book(shop: Shop, reference: str, amount: int, text: str = "No idea") -> None:
    line = StatementLine(2, DAY, reference, text, amount, None)
    booked = await shop.run(ImportLine(OPERATOR, line))
    assert not isinstance(booked, Refusal), booked


async def send_back(shop: Shop, reference: str, amount: int) -> None:
    await book(shop, reference, amount)
    handled = await shop.run(SendLineBack(OPERATOR, reference))
    assert isinstance(handled, BankLine), handled


async def sweep(shop: Shop, amount: int) -> None:
    await shop.pay(100_000)  # the fee is one percent
    swept = await shop.run(SweepFees(OPERATOR, shop.tenant.mode, amount))
    assert not isinstance(swept, Refusal), swept


async def match(shop: Shop, reference: str, movement: Any) -> Any:
    return await shop.run(MatchLine(OPERATOR, reference, movement))


async def transfers(shop: Shop) -> int:
    return int(await shop.connection.fetchval("SELECT count(*) FROM transfers"))


async def open_lines(shop: Shop) -> list[str]:
    return [each.reference for each in await bank.lines(shop.connection, 100, only_open=True)]


@pytest.mark.parametrize("movement", [RETURNED, SWEPT])
async def test_a_line_is_matched_with_a_movement_and_books_nothing(dsn: str, movement: Any) -> None:
    async with a_shop(dsn) as shop:
        await send_back(shop, "IN1", 700)
        await sweep(shop, 700)
        await book(shop, "OUT1", -700)
        before = await transfers(shop)
        matched = await match(shop, "OUT1", movement)
        assert (matched.use, matched.handled_by) == ("matched", "command_line tester")
        assert await transfers(shop) == before
        assert await open_lines(shop) == []
        row = await shop.connection.fetchrow(
            "SELECT actor_name, before, after FROM journal WHERE action = 'bank_line.match'"
        )
        assert (row["actor_name"], '"none"' in row["before"]) == (OPERATOR.name, True)
        assert f'"{" ".join(movement)}"' in row["after"]
        assert await shop.differences() == []


async def test_a_line_is_matched_with_the_same_amount_only(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await send_back(shop, "IN1", 700)
        await book(shop, "OUT1", -701)
        refused = await match(shop, "OUT1", RETURNED)
        told = "The line is of MVR 7.01, and the movement of MVR 7.00."
        assert (refused.code, refused.message) == ("conflict", told)
        assert await open_lines(shop) == ["OUT1"]


async def test_a_movement_is_matched_once(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await send_back(shop, "IN1", 700)
        for reference in ("OUT1", "OUT2", "OUT3"):
            await book(shop, reference, -700)
        one, other = await shop.together(
            *(MatchLine(OPERATOR, each, RETURNED) for each in ("OUT1", "OUT2"))
        )
        assert (one.use, other.code) == ("matched", "conflict")
        assert "matched with the line OUT1" in other.message
        assert "matched with the line OUT1" in (await match(shop, "OUT3", RETURNED)).message
        assert await open_lines(shop) == ["OUT3", "OUT2"]


async def test_two_processes_match_a_sweep_once(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await sweep(shop, 700)
        lines = [f"OUT{number}" for number in range(4)]
        for reference in lines:
            await book(shop, reference, -700)
        runners = [BatchRunner(dsn, "http://laari.test") for _ in lines]
        commands = [MatchLine(OPERATOR, each, SWEPT) for each in lines]
        done = await asyncio.gather(
            *(
                until_decided(runner, command)
                for runner, command in zip(runners, commands, strict=True)
            )
        )
        for runner in runners:
            await runner.close()
        assert sum(isinstance(each, BankLine) for each in done) == 1
        assert len(await open_lines(shop)) == 3
        assert await shop.differences() == []


async def test_only_an_open_line_that_took_money_out_is_matched(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await send_back(shop, "IN1", 700)
        await book(shop, "IN2", 700)
        await book(shop, "OUT1", -700)
        assert isinstance(await shop.run(ChargeLine(OPERATOR, "OUT1")), BankLine)
        for reference, code in (("IN2", "conflict"), ("OUT1", "conflict"), ("OUT9", "not_found")):
            assert (await match(shop, reference, RETURNED)).code == code
        assert await shop.differences() == []


async def test_only_a_live_movement_that_left_the_bank_account_is_matched(dsn: str) -> None:
    async with a_shop(dsn, "sandbox") as play:
        await sweep(play, 700)
    async with a_shop(dsn) as shop:
        await book(shop, "IN1", 700)  # still unallocated
        await book(shop, "OUT1", -700)
        for movement in (RETURNED, SWEPT, ("sweep", "9"), ("sweep", "x"), ("sent_back", "OUT1")):
            assert (await match(shop, "OUT1", movement)).code == "not_found"


async def test_a_matched_line_is_handled(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await send_back(shop, "IN1", 700)
        await book(shop, "OUT1", -700)
        await match(shop, "OUT1", RETURNED)
        refused = await shop.run(ChargeLine(OPERATOR, "OUT1"))
        assert refused.message == "The line does not wait for this: its use is matched."
        assert (await match(shop, "OUT1", RETURNED)).code == "conflict"


async def test_movements_without_a_line_are_listed_by_their_amount(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        for reference, amount in (("IN1", 700), ("IN2", 700), ("IN3", 701)):
            await send_back(shop, reference, amount)
        await sweep(shop, 700)
        await book(shop, "OUT1", -700)
        await match(shop, "OUT1", RETURNED)
        found = await bank.unmatched(shop.connection, [700])
        assert [(each.kind, each.name) for each in found] == [("sweep", "1"), ("sent_back", "IN2")]
        assert all(isinstance(each, BankMovement) and each.amount == 700 for each in found)
