"""Withdrawals of customers, in the same runs, files and answers as payouts of merchants."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from laari.rules.banking.bank_accounts import AddBankAccount
from laari.rules.banking.bank_lines import ImportLine
from laari.rules.banking.bank_statement import StatementLine
from laari.rules.banking.open_lines import ChargeLine, SendLineBack
from laari.rules.banking.payout_runs import (
    AnswerPayout,
    CancelPayout,
    CancelRun,
    JoinRun,
    SendRun,
)
from laari.rules.banking.wallet_controls import FreezeWallet, UnfreezeWallet
from laari.rules.banking.withdrawals import CancelWithdrawal, RequestWithdrawal
from laari.rules.calendar import local_day
from laari.rules.records.bank import BankLine
from laari.rules.records.bank_accounts import BankAccount, BankDetails
from laari.rules.records.payouts import Payout
from laari.spine.batches import Spine
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.pool import connection_to
from laari.store.reads.money import bank_files
from laari.store.reads.money.float_days import float_of
from tests.acting import acting
from tests.actors import ANYBODY, OPERATOR, PERSON
from tests.bank_accounts import enter
from tests.days import today
from tests.store.payout_books import SECOND, Shop, a_shop, bank_account

BALANCE = 1_000_000_000


async def history(shop: Shop) -> list[tuple[str, str, int]]:
    rows = await shop.connection.fetch(
        "SELECT type, details, amount FROM transactions WHERE account = $1 AND type = 'withdraw' "
        "ORDER BY recorded",
        shop.payer.account,
    )
    return [tuple(row) for row in rows]


async def statement_line(shop: Shop, reference: str, text: str, amount: int) -> Any:
    line = StatementLine(2, today(), reference, text, amount, None)
    return await shop.run(ImportLine(OPERATOR, line))


async def test_a_run_sends_withdrawals_and_payouts_in_one_file(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await bank_account(shop)
        await bank_account(shop, "99887766", of_wallet=True)
        await shop.pay(10_000)
        one, two = await shop.withdraw(700), await shop.withdraw(900)
        assert (one.number, two.number, two.tenant_id) == (1, 2, None)
        assert await shop.wallet() == BALANCE - 10_000 - 1_600
        spent = "SELECT day_spent FROM wallets WHERE account = $1"
        # The limits of the tier count payments only.
        assert await shop.connection.fetchval(spent, shop.payer.account) == 10_000
        run = await shop.open_run()
        for each in (one, two):
            assert (await shop.run(JoinRun(OPERATOR, each.id, run.id))).run_id == run.id
        paid = await shop.payout(datetime.now(UTC), run_id=run.id)
        await shop.send(run.id, most=500)
        made = await bank_files.handed_out(shop.connection, run.id)
        assert made is not None
        assert made.total == 700 + 900 + paid.amount
        assert made.content.count(b"99887766") == 4
        events = "SELECT count(*) FROM events WHERE object_id = ANY($1)"
        assert await shop.connection.fetchval(events, [one.id, two.id]) == 0
        # One order of the first is returned before, and one after the bank has paid it.
        steps: list[tuple[Any, int]] = [("settle", 1), ("settle", 2), ("return", 2)]
        for action, reference in steps:
            name = f"LP000001R{reference:04}"
            answered = await shop.run(AnswerPayout(OPERATOR, one.id, action, name))
            assert isinstance(answered, Payout), answered
        assert (answered.status, answered.returned_amount) == ("returned", 200)
        [line] = [await statement_line(shop, "FT1", "Returned LP000001R0003", 500)]
        assert line.line.use == "returned"
        assert (await shop.found(two)).returned_amount == 500
        assert await shop.wallet() == BALANCE - 10_000 - 1_600 + 700
        assert await history(shop) == [
            ("withdraw", "To your bank account", -700),
            ("withdraw", "To your bank account", -900),
            ("withdraw", "Returned by the bank", 200),
            ("withdraw", "Returned by the bank", 500),
        ]
        await shop.add_up()
        assert await shop.differences() == []


async def test_a_cancelled_withdrawal_is_available_again(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await bank_account(shop, of_wallet=True)
        alone, joined = await shop.withdraw(700), await shop.withdraw(900)
        for _ in range(2):  # the second time changes nothing
            done = await shop.run(CancelPayout(OPERATOR, alone.id))
            assert done.status == "cancelled"
        run = await shop.open_run()
        await shop.run(JoinRun(OPERATOR, joined.id, run.id))
        # The customer is too late.
        late = await shop.run(CancelWithdrawal(PERSON, shop.payer.account, joined.id))
        assert late.code == "payout_conflict"
        await shop.run(CancelRun(OPERATOR, run.id))
        assert await shop.wallet() == BALANCE
        assert [amount for _, _, amount in await history(shop)] == [-700, -900, 700, 900]
        assert await shop.differences() == []


async def test_only_money_of_a_live_wallet_with_a_bank_account_is_withdrawn(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        assert "no bank account" in (await shop.withdraw(1)).message
        await bank_account(shop, of_wallet=True)
        for amount, told in ((0, "smallest"), (-5, "smallest"), (99, "smallest")):
            assert told in (await shop.withdraw(amount, minimum=100)).message
        assert "At most MVR 10000000.00" in (await shop.withdraw(BALANCE + 1)).message
        first = await shop.withdraw(BALANCE, if_last=0)
        assert first.amount == BALANCE
        again = await shop.withdraw(1, if_last=0)  # the same form again
        assert (again.code, await shop.wallet()) == ("conflict", 0)
        assert (await shop.withdraw(1)).code == "insufficient_balance"
    async with a_shop(dsn, "sandbox") as shop:
        account = AddBankAccount(ANYBODY, shop.payer.account, BankDetails("Aisha", "BML", "1111"))
        assert "Only customers with real money" in (await shop.run(account)).message
        assert (await shop.withdraw(1)).code == "not_found"


async def test_nothing_leaves_a_frozen_wallet(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        account = shop.payer.account
        await bank_account(shop, of_wallet=True)
        waiting = await shop.withdraw(700)
        await shop.run(FreezeWallet(OPERATOR, account, "Stolen phone"))
        assert (await shop.withdraw(1)).code == "wallet_limit_exceeded"
        run = await shop.open_run()
        join = JoinRun(OPERATOR, waiting.id, run.id)
        assert "frozen" in (await shop.run(join)).message
        # Money still comes back to it.
        assert (await shop.run(CancelPayout(OPERATOR, waiting.id))).status == "cancelled"
        assert await shop.wallet() == BALANCE
        await shop.run(UnfreezeWallet(OPERATOR, account))
        other = await shop.withdraw(700)
        assert (await shop.run(JoinRun(OPERATOR, other.id, run.id))).run_id == run.id
        # Frozen after the run was approved.
        await shop.run(await shop.approval(run.id))
        await shop.run(FreezeWallet(OPERATOR, account, "Stolen phone"))
        refused = await shop.run(SendRun(SECOND, run.id, today(), 1_000))
        assert refused.message.startswith("The wallet is frozen. Cancel po_")
        assert (await shop.found(other)).status == "approved"


async def test_the_bank_answers_a_withdrawal_by_its_statement(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await bank_account(shop, of_wallet=True)
        made, run = await shop.withdraw(700), await shop.open_run()
        await shop.run(JoinRun(OPERATOR, made.id, run.id))
        await shop.send(run.id)
        assert (await statement_line(shop, "FT1", "LP000001R0001", -700)).line.use == "settled"
        assert (await shop.found(made)).status == "settled"
        late = await statement_line(shop, "FT2", "LP000001R0001 closed account", 700)
        assert late.line.use == "returned"
        assert (await shop.found(made)).status == "returned"
        assert await shop.wallet() == BALANCE
        today = await float_of(shop.connection, local_day(made.created_at))
        assert (today.came_in["withdrawal"], today.went_out) == (700, {"payout_settled": 700})
        assert await shop.differences() == []


async def test_without_a_bank_account_in_effect_nothing_is_sent(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await bank_account(shop, of_wallet=True)
        made, run = await shop.withdraw(700), await shop.open_run()
        await shop.run(JoinRun(OPERATOR, made.id, run.id))
        await bank_account(shop, "55555", of_wallet=True)  # used after 48 hours
        await shop.send(run.id)
        file = await bank_files.handed_out(shop.connection, run.id)
        assert file is not None
        assert b"7730000012345" in file.content
        assert b"55555" not in file.content
        again = await shop.run(SendRun(OPERATOR, run.id, today(), 1))
        assert again.run.status == "sent"


async def test_a_customer_gets_a_notice_about_a_new_bank_account(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        account = shop.payer.account
        async with acting(shop.connection, OPERATOR, "customer.update"):
            await shop.connection.execute(
                "UPDATE customers SET mobile = '7712345', language = 'dv' "
                "WHERE id = (SELECT customer_id FROM wallets WHERE account = $1)",
                account,
            )

        sms = frozenset({"sms"})
        one, two = await asyncio.gather(
            enter(shop.connection, account, "11112222", channels=sms), _again(dsn, account)
        )
        first, second = sorted((one, two), key=lambda each: each.effective_at)
        # Of two at once, one is the first, and the other one waits.
        assert second.effective_at - first.effective_at > timedelta(hours=47)
        await enter(shop.connection, account, "55556666")  # without a transport, nothing is written
        rows = await shop.connection.fetch("SELECT kind, recipient, language FROM messages")
        expected = ("own_bank_account_changed", "+9607712345", "dv")
        assert [tuple(row) for row in rows] == [expected, expected]


async def _again(dsn: str, account: int) -> BankAccount:
    async with connection_to(dsn) as connection:
        return await enter(connection, account, "33334444", channels=frozenset({"sms"}))


@pytest.mark.ci
async def test_withdrawals_at_once_never_pass_the_balance(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await bank_account(shop, of_wallet=True)
        runners = [BatchRunner(dsn, "http://laari.test") for _ in range(4)]
        spines = [Spine(runner.run, 8) for runner in runners]
        for spine in spines:
            spine.start()
        part = BALANCE // 10
        commands = [RequestWithdrawal(ANYBODY, shop.payer.account, part) for _ in range(32)]
        outcomes = await asyncio.gather(
            *(spines[place % 4].submit(command) for place, command in enumerate(commands))
        )
        for spine, runner in zip(spines, runners, strict=True):
            await spine.close()
            await runner.close()
        made = [each for each in outcomes if isinstance(each, Payout)]
        assert sorted(each.number for each in made) == list(range(1, 11))
        assert await shop.wallet() == 0
        assert await shop.differences() == []


async def test_a_line_is_booked_as_a_charge_of_the_bank_once(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        assert (await statement_line(shop, "FT1", "Charges", -250)).line.use == "none"
        assert (await statement_line(shop, "FT2", "Somebody", 70)).line.use == "receipt"
        day = today()
        before = await float_of(shop.connection, day)
        booked = await shop.run(ChargeLine(OPERATOR, "FT1"))
        assert isinstance(booked, BankLine)
        assert (booked.use, booked.amount) == ("charge", -250)
        for wrong in ("FT1", "FT2"):  # booked already, and money that came in
            refused = await shop.run(ChargeLine(OPERATOR, wrong))
            assert refused.code == "conflict"
        assert (await shop.run(SendLineBack(OPERATOR, "FT1"))).code == "conflict"
        assert (await shop.run(ChargeLine(OPERATOR, "FT9"))).code == "not_found"
        after = await float_of(shop.connection, day)
        assert after.closing == before.closing - 250
        # The same line again is the same line.
        line = StatementLine(2, today(), "FT1", "Charges", -250, None)
        again = await shop.run(ImportLine(OPERATOR, line))
        assert (again.repeated, again.line.use) == (True, "charge")
        assert await shop.differences() == []


async def test_a_line_with_another_amount_answers_no_order(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await bank_account(shop, of_wallet=True)
        made, run = await shop.withdraw(700), await shop.open_run()
        await shop.run(JoinRun(OPERATOR, made.id, run.id))
        await shop.send(run.id)
        for reference, amount, use in (("FT1", -701, "none"), ("FT2", 699, "receipt")):
            line = await statement_line(shop, reference, "LP000001R0001", amount)
            assert line.line.use == use
        assert (await shop.found(made)).status == "sent"
        assert await shop.differences() == []


async def test_a_run_has_a_limit(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("laari.rules.banking.payouts.MOST_IN_A_RUN", 1)
    async with a_shop(dsn) as shop:
        await bank_account(shop, of_wallet=True)
        one, two, run = await shop.withdraw(5), await shop.withdraw(6), await shop.open_run()
        assert (await shop.run(JoinRun(OPERATOR, one.id, run.id))).run_id == run.id
        refused = await shop.run(JoinRun(OPERATOR, two.id, run.id))
        assert "at most" in refused.message
