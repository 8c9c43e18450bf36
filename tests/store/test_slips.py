"""A bank transfer brings its money in once: by hand with its slip, or by the bank's statement."""

import asyncio
from datetime import date
from typing import Any

from laari.rules.banking.bank_lines import ImportLine, expected
from laari.rules.banking.bank_statement import StatementLine
from laari.rules.banking.open_lines import AssignLine, SendLineBack
from laari.rules.banking.wallet_money import MoveMoney
from laari.rules.money import MAX_MONEY
from laari.rules.refusals import Refusal
from laari.store.batch.runner import BatchRunner
from laari.store.reads.money import bank
from tests.actors import OPERATOR
from tests.store.payout_books import Shop, a_shop, until_decided

BALANCE = 1_000_000_000
DAY = date(2026, 11, 18)


async def line(shop: Shop, reference: str, text: str, amount: int) -> Any:
    read = StatementLine(2, DAY, reference, text, amount, None)
    [target] = await bank.targets(shop.connection, [read])
    seen = expected(read, target, None)
    outcome = await shop.run(ImportLine(OPERATOR, read))
    if isinstance(outcome, Refusal):
        assert seen.conflict == outcome.message  # as the dry run said
    else:
        assert (seen.use, seen.conflict) == (outcome.line.use, None)
    return outcome


async def by_hand(shop: Shop, slip: str, amount: int) -> Any:
    command = MoveMoney(OPERATOR, None, shop.payer.account, "topup", amount, "By hand", slip=slip)
    return await shop.run(command)


async def in_bank(shop: Shop) -> int:
    moved = "SELECT sum(CASE debit_account WHEN 3 THEN amount ELSE -amount END) FROM transfers"
    where = "WHERE 3 IN (debit_account, credit_account)"
    return int(await shop.connection.fetchval(f"{moved} {where}"))


async def test_a_line_without_a_number_is_the_top_up_that_was_entered_by_hand(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await by_hand(shop, "FT1", 500)
        booked = (await line(shop, "FT1", "Money from Aisha", 500)).line
        assert (booked.use, booked.account) == ("topup", shop.payer.account)
        assert (await shop.wallet(), await in_bank(shop)) == (BALANCE + 500, BALANCE + 500)
        await by_hand(shop, "FT2", 500)
        [read, other] = [StatementLine(2, DAY, "FT2", "Money", each, None) for each in (500, 501)]
        assert (await shop.run(ImportLine(OPERATOR, other))).code == "conflict"
        assert (await shop.run(ImportLine(OPERATOR, read))).line.use == "topup"
        assert await in_bank(shop) == BALANCE + 1_000
        assert await shop.differences() == []


async def test_a_line_and_a_slip_of_the_same_moment_count_once(dsn: str) -> None:
    """No index covers both tables, so both processes lock the slip."""
    async with a_shop(dsn) as shop:
        runners = [BatchRunner(dsn, "http://laari.test") for _ in range(2)]
        for number in range(20):
            slip, account = f"FT{number}", shop.payer.account
            read = StatementLine(2, DAY, slip, "Money", 500, None)
            commands = (
                ImportLine(OPERATOR, read),
                MoveMoney(OPERATOR, None, account, "topup", 500, "By hand", slip=slip),
            )
            pairs = zip(runners, commands, strict=True)
            await asyncio.gather(*(until_decided(*pair) for pair in pairs))
        for runner in runners:
            await runner.close()
        assert await in_bank(shop) == BALANCE + 20 * 500


async def test_the_dry_run_knows_every_conflict_with_a_slip(dsn: str) -> None:
    async with a_shop(dsn) as shop, a_shop(dsn) as other:
        named, stranger = f"To {shop.payer.account}", f"To {other.payer.account}"
        both = f"{named} {stranger}"
        for number, (text, amount, fits) in enumerate(
            (
                (named, 500, True),
                ("Money", 500, True),
                (both, 500, True),
                (named, 501, False),
                ("Money", 499, False),
                (both, 501, False),
                (stranger, 500, False),
                ("Money", -500, True),
            )
        ):
            await by_hand(shop, f"FT{number}", 500)
            booked = await line(shop, f"FT{number}", text, amount)
            assert isinstance(booked, Refusal) is not fits, (text, amount)
        assert await shop.differences() == []


async def test_an_imported_line_is_not_entered_by_hand_again(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        assert (await line(shop, "FT1", "Money from Aisha", 500)).line.use == "receipt"
        refused = await by_hand(shop, "FT1", 500)
        told = "The bank's statement has a line FT1: assign it instead."
        assert (refused.code, refused.message) == ("conflict", told)
        await shop.run(SendLineBack(OPERATOR, "FT1"))
        assert "its use is sent_back" in (await by_hand(shop, "FT1", 500)).message
        assert (await shop.wallet(), await in_bank(shop)) == (BALANCE, BALANCE)
        assert await shop.differences() == []
    async with a_shop(dsn, "sandbox") as shop:  # the statement is of the live bank account
        assert (await by_hand(shop, "FT1", 500)).after == BALANCE + 500


async def test_no_line_makes_a_balance_too_large(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        named = f"To {shop.payer.account}"
        read = StatementLine(2, DAY, "FT1", named, MAX_MONEY, None)
        assert (await shop.run(ImportLine(OPERATOR, read))).line.use == "receipt"
        refused = await shop.run(AssignLine(OPERATOR, "FT1", shop.payer.account))
        assert refused.message == "The balance would be too large."
        assert await shop.wallet() == BALANCE
        assert await shop.differences() == []
