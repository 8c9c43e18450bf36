"""One person moves a limited sum of live money on a day; more waits for a second person."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from laari.rules.actors import Actor
from laari.rules.banking.bank_accounts import AddBankAccount
from laari.rules.banking.bank_lines import ImportLine
from laari.rules.banking.bank_statement import StatementLine
from laari.rules.banking.merchant_money import MoveFunds, SweepFees
from laari.rules.banking.merchant_refunds import RefundForMerchant
from laari.rules.banking.open_lines import AssignLine, ChargeLine, SendLineBack
from laari.rules.banking.payout_runs import AnswerPayout
from laari.rules.banking.waiting_movements import Made, MakeMovement, RefuseMovement
from laari.rules.banking.wallet_money import MovedMoney, MoveMoney
from laari.rules.records.bank_accounts import BankDetails
from laari.rules.records.second_person import PendingMovement
from laari.rules.refusals import Refusal
from laari.store.batch.runner import BatchRunner
from laari.store.reads.money import movement_lists
from laari.store.reads.money.payouts import orders
from tests.actors import ANYBODY, OPERATOR
from tests.sampling import some_of
from tests.store.payout_books import Shop, a_shop, bank_account, until_decided

ANN = Actor("operator", "ann@laari.test", "finance")
BEA = Actor("operator", "bea@laari.test", "finance")
LIMIT = 1_000
START = 1_000_000_000  # of the wallet


def top_up(shop: Shop, amount: int, actor: Actor = ANN, slip: str | None = None) -> MoveMoney:
    return MoveMoney(actor, None, shop.payer.account, "topup", amount, "Bank", slip=slip)


async def make(shop: Shop, movement: PendingMovement, actor: Actor = BEA) -> Any:
    return await shop.run(MakeMovement(actor, movement.id))


async def alone(shop: Shop) -> dict[str, int]:
    rows = await shop.connection.fetch("SELECT person, alone FROM person_days WHERE alone > 0")
    return {row["person"]: row["alone"] for row in rows}


async def test_five_top_ups_of_exactly_the_limit_need_a_second_person(dsn: str) -> None:
    async with a_shop(dsn, above=LIMIT) as shop:
        outcomes = [await shop.run(top_up(shop, LIMIT)) for _ in range(5)]
        assert isinstance(outcomes[0], MovedMoney)
        assert all(isinstance(each, PendingMovement) for each in outcomes[1:])
        assert await shop.wallet() == START + LIMIT
        for movement in outcomes[1:]:
            assert isinstance(await make(shop, movement), Made)
        assert await shop.wallet() == START + 5 * LIMIT
        # What two people moved is counted for neither.
        assert await alone(shop) == {"ann": LIMIT}
        assert isinstance(await shop.run(top_up(shop, LIMIT, BEA)), MovedMoney)
        assert await shop.differences() == []


async def test_movements_of_one_batch_count_together(dsn: str) -> None:
    async with a_shop(dsn, above=LIMIT) as shop:
        outcomes = await shop.together(*(top_up(shop, 400) for _ in range(4)))
        assert [type(each) for each in outcomes] == [MovedMoney] * 2 + [PendingMovement] * 2
        small = await shop.run(top_up(shop, 200, Actor("operator", "ANN@laari.test", "finance")))
        assert isinstance(small, MovedMoney)
        assert await alone(shop) == {"ann": LIMIT}


async def line(shop: Shop, reference: str, amount: int) -> None:
    read = StatementLine(2, date(2026, 11, 18), reference, "Money", amount, None)
    booked = await shop.run(ImportLine(OPERATOR, read))
    assert not isinstance(booked, Refusal)


async def sent_payout(shop: Shop) -> Any:
    await bank_account(shop)
    await shop.pay(10_000)
    run = await shop.open_run()
    payout = await shop.payout(run_id=run.id)
    await shop.send(run.id)
    return payout


async def by_top_up(shop: Shop) -> Any:
    return top_up(shop, 500, slip="S1")


async def by_adjustment(shop: Shop) -> Any:
    return MoveMoney(ANN, None, shop.payer.account, "adjustment", -500, "Wrong")


async def by_release(shop: Shop) -> Any:
    await shop.pay(10_000)
    await shop.funds("hold", 700)
    return MoveFunds(shop.tenant.id, ANN, "release", 500, "Checked")


async def by_correction(shop: Shop) -> Any:
    return MoveFunds(shop.tenant.id, ANN, "merchant_adjustment", 50_000_000, "Invented")


async def by_refund(shop: Shop) -> Any:
    payment = await shop.pay(10_000)
    return RefundForMerchant(shop.tenant.id, ANN, payment.id, 500, "duplicate", note="Twice")


async def by_assignment(shop: Shop) -> Any:
    await line(shop, "FT1", 500)
    return AssignLine(ANN, "FT1", shop.payer.account)


async def by_sending_back(shop: Shop) -> Any:
    await line(shop, "FT1", 500)
    return SendLineBack(ANN, "FT1")


async def by_charge(shop: Shop) -> Any:
    await line(shop, "FT1", -500)
    return ChargeLine(ANN, "FT1")


async def by_sweep(shop: Shop) -> Any:
    await shop.pay(100_000)
    return SweepFees(ANN, "live", 500)


async def by_return(shop: Shop) -> Any:
    payout = await sent_payout(shop)
    return AnswerPayout(ANN, payout.id, "return")


async def by_return_of_an_order(shop: Shop) -> Any:
    payout = await sent_payout(shop)
    return AnswerPayout(ANN, payout.id, "return", "LP000001R0001")


PATHS: list[Callable[[Shop], Awaitable[Any]]] = [
    by_top_up,
    by_adjustment,
    by_release,
    by_correction,
    by_assignment,
    by_sending_back,
    by_charge,
    by_sweep,
    by_return,
    by_return_of_an_order,
    by_refund,
]


@pytest.mark.parametrize("path", some_of(PATHS, 3))
async def test_every_path_waits_for_a_second_person(
    dsn: str, path: Callable[[Shop], Awaitable[Any]]
) -> None:
    async with a_shop(dsn) as shop:
        command = await path(shop)
        careful = BatchRunner(dsn, "http://laari.test", second_operator_above=499)
        before = await shop.connection.fetchval("SELECT count(*) FROM transfers")
        [movement] = await careful.run([command], 1.0)
        assert isinstance(movement, PendingMovement), movement
        assert movement.requested_by == "operator ann@laari.test"
        assert await shop.connection.fetchval("SELECT count(*) FROM transfers") == before
        own = await make(shop, movement, Actor("command_line", "Ann@laari.test", "admin"))
        assert own.message == "Another person has to confirm a movement you asked for."
        weak = await make(shop, movement, Actor("operator", "sam@laari.test", "support"))
        assert weak.message == "Your role does not allow this."
        made = await make(shop, movement)
        assert isinstance(made, Made), made
        assert made.movement.status == "done"
        assert made.movement.decided_by == "operator bea@laari.test"
        assert await shop.connection.fetchval("SELECT count(*) FROM transfers") == before + 1
        assert (await make(shop, movement)).message == "The movement is done already."
        assert await alone(shop) == {}
        assert await shop.differences() == []
        await careful.close()


@pytest.mark.parametrize("path", some_of(PATHS, 3))
async def test_every_path_counts_in_the_same_sum(
    dsn: str, path: Callable[[Shop], Awaitable[Any]]
) -> None:
    async with a_shop(dsn) as shop:
        command = await path(shop)
        careful = BatchRunner(dsn, "http://laari.test", second_operator_above=50_000_000)
        [done] = await careful.run([command], 1.0)
        assert not isinstance(done, Refusal | PendingMovement), done
        [counted] = (await alone(shop)).values()
        assert counted == await shop.connection.fetchval(
            "SELECT amount FROM transfers ORDER BY id DESC LIMIT 1"
        )
        rest = 50_000_000 - counted
        last = [top_up(shop, rest), top_up(shop, 1)] if rest else [top_up(shop, 1)]
        *_, more = await careful.run(last, 1.0)
        assert isinstance(more, PendingMovement)
        await careful.close()


async def imported(shop: Shop, reference: str, amount: int, text: str) -> Any:
    read = StatementLine(2, date(2026, 11, 18), reference, text, amount, None)
    return await shop.run(ImportLine(ANN, read))


async def test_invented_lines_above_the_limit_top_no_wallet_up(dsn: str) -> None:
    async with a_shop(dsn, above=LIMIT) as shop:
        text = f"For {shop.payer.account}"
        uses = [
            (await imported(shop, f"FT{number}", LIMIT // 2, text)).line.use for number in range(3)
        ]
        assert uses == ["topup", "topup", "receipt"]
        assert await shop.wallet() == START + LIMIT
        # Neither does the line that is left.
        asked = await shop.run(AssignLine(ANN, "FT2", shop.payer.account))
        assert isinstance(asked, PendingMovement)
        assert isinstance(await make(shop, asked), Made)
        assert await shop.wallet() == START + LIMIT + LIMIT // 2
        assert await shop.differences() == []


async def test_an_invented_return_above_the_limit_credits_no_merchant(dsn: str) -> None:
    async with a_shop(dsn, above=LIMIT) as shop:
        payout = await sent_payout(shop)
        text = "Returned LP000001R0001"
        refused = await imported(shop, "FT1", payout.amount, text)
        assert isinstance(refused, Refusal)
        assert "needs a second person" in refused.message
        asked = await shop.run(AnswerPayout(ANN, payout.id, "return", reason="Closed"))
        assert isinstance(await make(shop, asked), Made)
        [order] = await orders(shop.connection, [payout.id])
        assert order.return_reason == "Closed"
        assert (await imported(shop, "FT1", payout.amount, text)).line.use == "returned"
        assert await shop.differences() == []


async def test_a_hold_and_a_confirmed_order_need_nobody(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        payout = await sent_payout(shop)
        await shop.pay(5_000)
        careful = BatchRunner(dsn, "http://laari.test", second_operator_above=0)
        held = MoveFunds(shop.tenant.id, ANN, "hold", 700, "Suspicion")
        settled = AnswerPayout(ANN, payout.id, "settle")
        for outcome in await careful.run([held, settled], 1.0):
            assert not isinstance(outcome, Refusal | PendingMovement)
        assert await alone(shop) == {}
        await careful.close()


async def test_sandbox_money_never_waits_and_is_not_counted(dsn: str) -> None:
    async with a_shop(dsn, "sandbox", above=0) as shop:
        assert isinstance(await shop.run(top_up(shop, 10**9)), MovedMoney)
        command = MoveFunds(shop.tenant.id, ANN, "merchant_adjustment", 10**9, "Test")
        assert not isinstance(await shop.run(command), Refusal | PendingMovement)
        assert await alone(shop) == {}


@pytest.mark.parametrize("is_first", [True, False])
async def test_two_processes_cannot_both_pass_the_limit(dsn: str, is_first: bool) -> None:
    async with a_shop(dsn) as shop:
        async with a_shop(dsn) as second:
            other = second.payer.account
        runners = [
            BatchRunner(dsn, "http://laari.test", second_operator_above=LIMIT) for _ in range(2)
        ]
        accounts = (shop.payer.account, other)  # no other lock is common to both
        for number in range(10):
            actor = Actor("operator", f"ann{number}@laari.test", "finance")
            if not is_first:
                await runners[0].run([top_up(shop, 100, actor)], 1.0)
            commands = [MoveMoney(actor, None, each, "topup", 600, "Bank") for each in accounts]
            pairs = zip(runners, commands, strict=True)
            outcomes = await asyncio.gather(*(until_decided(*pair) for pair in pairs))
            assert sorted(type(each).__name__ for each in outcomes) == [
                "MovedMoney",
                "PendingMovement",
            ]
        for runner in runners:
            await runner.close()


async def test_a_new_day_begins_at_midnight_and_not_again_by_a_clock_that_is_behind(
    dsn: str,
) -> None:
    midnight = datetime(2026, 11, 18, 19, 0, tzinfo=UTC)  # in Male
    times = [midnight - timedelta(seconds=1), midnight, midnight - timedelta(seconds=1)]
    async with a_shop(dsn) as shop:
        outcomes = []
        for time in times:
            runner = BatchRunner(
                dsn, "http://laari.test", clock=lambda now=time: now, second_operator_above=LIMIT
            )
            [outcome] = await runner.run([top_up(shop, LIMIT)], 1.0)
            outcomes.append(type(outcome))
            await runner.close()
        assert outcomes == [MovedMoney, MovedMoney, PendingMovement]


async def test_a_movement_that_is_no_longer_possible_says_why_and_stays(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        careful = BatchRunner(dsn, "http://laari.test", second_operator_above=0)
        account = shop.payer.account
        taken = MoveMoney(ANN, None, account, "adjustment", -START, "Wrong")
        slip = top_up(shop, 500, slip="S1")
        [first] = await careful.run([taken], 1.0)
        [second] = await careful.run([slip], 1.0)
        await shop.run(MoveMoney(OPERATOR, None, account, "adjustment", -1, "Earlier"))
        assert "below zero" in (await make(shop, first)).message
        await shop.run(top_up(shop, 500, slip="S1"))  # with the rule off
        assert (await make(shop, second)).message == "The movement was made in another way."
        waiting = await movement_lists.waiting(shop.connection, 10)
        assert [each.movement for each in waiting] == [first, second]
        assert [each.holder for each in waiting] == ["Aisha"] * 2
        refused = await shop.run(RefuseMovement(ANN, first.id, "Withdrawn"))
        assert (refused.status, refused.decided_by) == ("refused", "operator ann@laari.test")
        assert await shop.differences() == []
        await careful.close()


async def test_a_refund_that_waited_keeps_its_reason_and_note(dsn: str) -> None:
    async with a_shop(dsn, above=0) as shop:
        payment = await shop.pay(10_000)
        [asked, again] = [
            await shop.run(
                RefundForMerchant(shop.tenant.id, ANN, payment.id, 700, "duplicate", note="Twice")
            )
            for _ in range(2)
        ]
        assert (asked.kind, asked.amount, asked.account) == ("refund", 700, shop.payer.account)
        assert "waits for a second person already" in again.message
        # The merchant's own people need nobody, and what they leave bounds the operator's refund.
        assert not isinstance(await shop.refund(payment.id, 9_500), Refusal)
        assert "Only 500 laari" in (await make(shop, asked)).message
        await shop.run(RefuseMovement(BEA, asked.id, "Too much"))
        asked = await shop.run(
            RefundForMerchant(shop.tenant.id, ANN, payment.id, None, "fraudulent", note="Stolen")
        )
        made = await make(shop, asked)
        refund = made.outcome.refund
        assert (refund.amount, refund.reason, refund.note) == (500, "fraudulent", "Stolen")
        assert (refund.actor_name, refund.tid) == ("bea@laari.test", made.movement.tid)
        assert await shop.differences() == []


async def test_a_bank_account_is_not_confirmed_after_another_one_was_entered(dsn: str) -> None:
    async with a_shop(dsn, above=0) as shop:
        account = shop.payer.account
        other = BankDetails("Somebody Else", "BML", "6666")
        asked = await shop.run(AddBankAccount(ANN, account, other))
        assert isinstance(asked, PendingMovement)
        own = await shop.run(AddBankAccount(ANYBODY, account, BankDetails("Aisha", "BML", "1111")))
        assert not isinstance(own, Refusal)
        refused = await make(shop, asked)
        assert refused.message == "Another bank account was entered meanwhile."
        again = await shop.run(AddBankAccount(ANN, account, other))
        assert "waits" not in getattr(again, "message", "")
        assert isinstance(await make(shop, again), Made)


async def test_an_amount_that_changed_while_it_waited_is_not_booked(dsn: str) -> None:
    """The second person confirms the amount that they saw."""
    async with a_shop(dsn) as shop:
        await bank_account(shop)
        await shop.pay(10_000)
        run = await shop.open_run()
        payout = await shop.payout(run_id=run.id)
        await shop.send(run.id, most=5_000)
        careful = BatchRunner(dsn, "http://laari.test", second_operator_above=0)
        [movement] = await careful.run([AnswerPayout(ANN, payout.id, "return")], 1.0)
        settle = AnswerPayout(ANN, payout.id, "settle", "LP000001R0001")
        assert not isinstance(await shop.run(settle), Refusal)
        assert (await make(shop, movement)).message == "The amount would be MVR 49.00 now."
        await careful.close()


async def test_one_movement_at_a_time_waits_for_a_slip(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        runners = [BatchRunner(dsn, "http://laari.test", second_operator_above=0) for _ in range(2)]
        first, second = (top_up(shop, 500, each, slip="S1") for each in (ANN, BEA))
        both = (until_decided(*pair) for pair in zip(runners, (first, second), strict=True))
        outcomes = await asyncio.gather(*both)
        [movement] = [each for each in outcomes if isinstance(each, PendingMovement)]
        [refused] = [each for each in outcomes if isinstance(each, Refusal)]
        assert "about S1 waits for a second person already" in refused.message
        await shop.run(RefuseMovement(BEA, movement.id, "Twice"))
        [again] = await runners[0].run([second], 1.0)
        assert isinstance(again, PendingMovement)
        for runner in runners:
            await runner.close()


async def test_both_people_are_in_the_journal(dsn: str) -> None:
    async with a_shop(dsn, above=0) as shop:
        movement = await shop.run(top_up(shop, 500, slip="S1"))
        await make(shop, movement)
        rows = await shop.connection.fetch(
            "SELECT actor_name, action FROM journal WHERE object_type IN ('movement', 'wallet') "
            "AND actor_kind = 'operator' ORDER BY id"
        )
        assert [tuple(row) for row in rows] == [
            ("ann@laari.test", "movement.request"),
            ("bea@laari.test", "wallet.topup"),
            ("bea@laari.test", "movement.make"),
        ]
