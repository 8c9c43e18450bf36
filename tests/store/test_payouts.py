"""Payouts take exactly the movements since the last one, and their sum is the payout."""

from datetime import date, timedelta
from typing import Any

import pytest

from laari.rules import ids
from laari.rules.banking.bank_accounts import coming, in_effect
from laari.rules.banking.merchant_money import MoveFunds, SweepFees
from laari.rules.banking.payout_runs import (
    AnswerPayout,
    CancelPayout,
    CancelRun,
    JoinRun,
    OpenRun,
    SendRun,
)
from laari.rules.banking.payouts import RequestPayout, SandboxPayout
from laari.rules.calendar import local_day
from laari.rules.records.tenants import MODES, Mode
from laari.rules.refusals import Refusal
from laari.rules.shapes.payouts import PaidAccount
from laari.store.batch.runner import BatchRunner
from laari.store.reads.money import bank, bank_files, volume
from laari.store.reads.money import payouts as reads
from tests import shops
from tests.actors import OPERATOR
from tests.store.payout_books import SECOND, a_shop, bank_account, now


async def test_a_payout_consists_of_its_movements(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await bank_account(shop)
        await shops.set_terms(shop.connection, shop.tenant.id, OPERATOR, fee=50)
        first = await shop.pay(10_000)
        await shop.pay(5_000)
        await shop.refund(first.id, 1_000)
        await shop.funds("hold", 2_000)
        await shop.funds("merchant_adjustment", 300)
        payout = await shop.payout()
        assert payout.amount == 10_000 - 100 + 5_000 - 50 - 1_000 - 2_000 + 300 - 50
        assert await shop.sums(payout) == [
            ("fee", -100),
            ("fee", -50),
            ("hold", -2_000),
            ("merchant_adjustment", 300),
            ("payment", 5_000),
            ("payment", 10_000),
            ("payout_fee", -50),
            ("refund", -1_000),
        ]
        assert [each.id for each in await shop.movements(payout, 1)] == [
            each.id for each in await shop.movements(payout)
        ]
        assert (await shop.balance()).available == 0
        await shop.funds("release", 2_000)
        await shop.pay(700)
        second = await shop.payout()
        assert await shop.sums(second) == [
            ("fee", -7),
            ("payment", 700),
            ("payout_fee", -50),
            ("release", 2_000),
        ]
        assert second.amount == 700 - 7 + 2_000 - 50
        await shop.add_up()
        assert await shop.differences() == []


async def test_movements_from_the_cut_off_on_wait_for_the_next_payout(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await bank_account(shop)
        await shop.pay(10_000)
        cut_off = now()
        late = await shop.pay(4_000)
        first = await shop.payout(cut_off)
        assert first.amount == 9_900
        assert await shop.sums(first) == [("fee", -100), ("payment", 10_000)]
        await shop.refund(late.id, 500)
        second = await shop.payout(now())
        assert await shop.sums(second) == [("fee", -40), ("payment", 4_000), ("refund", -500)]
        assert second.amount == 3_460


async def test_no_payout_if_later_refunds_took_the_money(dsn: str) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        await bank_account(shop)
        paid = await shop.pay(10_000)
        cut_off = now()
        await shop.refund(paid.id, 1)
        refused = await shop.request(cut_off)
        assert isinstance(refused, Refusal)
        assert refused.message == "Later movements took MVR 0.01 of the amount."
        assert (await shop.payout(now())).amount == 9_999


async def test_a_movement_that_commits_late_belongs_to_the_next_payout(dsn: str) -> None:
    """Its time is before the cut-off, and its transaction ended after the decision."""
    async with a_shop(dsn, fee_bps=0) as shop:
        await bank_account(shop)
        await shop.pay(1_000)
        slow = await shop.pay(30)
        # As if the transaction of this payment had not ended before the payout.
        await shop.connection.execute("ALTER TABLE transfers DISABLE TRIGGER USER")
        first = await shop.payout()
        await shop.connection.execute(
            "UPDATE transfers SET xid = pg_current_xact_id()::text::bigint WHERE payment_id = $1",
            slow.id,
        )
        await shop.connection.execute(
            "UPDATE payouts SET amount = amount - 30 WHERE id = $1", first.id
        )
        first = await shop.found(first)
        await shop.add_up()
        assert await shop.sums(first) == [("payment", 1_000)]
        await shop.pay(5)
        second = await shop.payout()
        assert await shop.sums(second) == [("payment", 5), ("payment", 30)]


async def test_a_run_sends_its_payouts_in_one_file(dsn: str) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        await bank_account(shop)
        await shop.pay(50_000)
        run = await shop.open_run()
        payout = await shop.payout(now(), run_id=run.id)
        [waiting] = await reads.shapes(shop.connection, [payout])
        assert (waiting.number, waiting.bank_references, waiting.bank_account) == (1, [], None)
        assert (await shop.balance()).in_transit == 50_000
        sent = await shop.send(run.id, most=20_000)
        assert [each.status for each in sent.payouts] == ["sent"]
        file = await bank_files.handed_out(shop.connection, run.id)
        assert file is not None
        assert (file.order_count, file.total) == (3, 50_000)
        orders = await reads.orders(shop.connection, [payout.id])
        assert [(each.reference, each.amount) for each in orders] == [
            ("LP000001R0001", 20_000),
            ("LP000001R0002", 20_000),
            ("LP000001R0003", 10_000),
        ]
        [shape] = await reads.shapes(shop.connection, sent.payouts)
        assert shape.bank_references == [each.reference for each in orders]
        assert shape.bank_account == PaidAccount("BML", "2345")
        assert await shop.run(SendRun(SECOND, run.id, now().date(), 7)) == sent
        assert await bank_files.handed_out(shop.connection, run.id) == file
        for reference, action in (("LP000001R0001", "settle"), ("LP000001R0002", "return")):
            answered = await shop.run(AnswerPayout(OPERATOR, payout.id, action, reference))
            assert answered.status == "sent"
        assert (await shop.balance()) == (20_000, 0, 10_000)
        ended = await shop.run(AnswerPayout(OPERATOR, payout.id, "settle"))
        assert (ended.status, ended.returned_amount) == ("returned", 20_000)
        again = await shop.payout()
        assert await shop.sums(again) == [("payout_returned", 20_000)]
        await shop.add_up()
        assert await shop.differences() == []


async def test_the_next_pay_day_is_that_of_the_next_run(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await bank_account(shop)
        thursday, sunday = date(2026, 11, 19), date(2026, 11, 22)

        async def next_from(day: date) -> date:
            return await reads.next_pay_day(shop.connection, day)

        assert await next_from(thursday) == thursday
        assert await next_from(thursday + timedelta(days=1)) == sunday
        await shop.pay(10_000)
        payout, run = await shop.payout(), await shop.open_run()
        await shop.run(JoinRun(OPERATOR, payout.id, run.id))
        assert await next_from(thursday) == thursday
        await shop.send(run.id)  # on Thursday
        assert await next_from(thursday) == sunday
        assert await next_from(sunday) == sunday


async def test_a_bank_may_return_what_it_has_confirmed(dsn: str) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        await bank_account(shop)
        await shop.pay(50_000)
        run = await shop.open_run()
        payout = await shop.payout(run_id=run.id)
        await shop.send(run.id)
        settled = await shop.run(AnswerPayout(OPERATOR, payout.id, "settle"))
        assert settled.status == "settled"
        assert (await shop.balance()) == (0, 0, 0)
        returned = await shop.run(AnswerPayout(OPERATOR, payout.id, "return"))
        assert returned.status == "returned"
        assert (await shop.balance()) == (50_000, 0, 0)
        for action in ("settle", "return"):
            twice = await shop.run(AnswerPayout(OPERATOR, payout.id, action))
            assert isinstance(twice, Refusal)
        events = await shop.connection.fetch(
            "SELECT type FROM events WHERE object_id = $1", payout.id
        )
        assert sorted(row["type"] for row in events) == [
            "payout.returned",
            "payout.sent",
            "payout.settled",
        ]
        await shop.add_up()
        assert await shop.differences() == []


async def test_a_cancelled_payout_returns_amount_and_fee(dsn: str) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        await bank_account(shop)
        await shops.set_terms(shop.connection, shop.tenant.id, OPERATOR, fee=50)
        await shop.pay(1_000)
        first = await shop.payout()
        cancelled = await shop.run(CancelPayout(OPERATOR, first.id))
        assert cancelled.status == "cancelled"
        assert await shop.run(CancelPayout(OPERATOR, first.id)) == cancelled
        assert (await shop.balance()) == (1_000, 0, 0)
        second = await shop.payout()
        assert await shop.sums(second) == [
            ("payout_fee", -50),
            ("payout_fee", 50),
            ("payout_returned", 950),
        ]
        run = await shop.open_run()
        assert await shop.run(CancelRun(OPERATOR, run.id)) is not None
        await shop.add_up()
        assert await shop.differences() == []


async def test_a_second_person_approves_above_the_threshold(dsn: str) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        await bank_account(shop)
        await shop.pay(1_000)
        run = await shop.open_run()
        empty = await shop.run(await shop.approval(run.id, OPERATOR, 0))
        assert isinstance(empty, Refusal)
        await shop.payout(run_id=run.id)
        early = await shop.run(SendRun(SECOND, run.id, now().date(), 100))
        assert isinstance(early, Refusal)
        own = await shop.run(await shop.approval(run.id, OPERATOR, 999))
        assert isinstance(own, Refusal)
        assert "another person" in own.message
        approved = await shop.run(await shop.approval(run.id, OPERATOR, 1_000))
        assert approved.run.status == "approved"


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"minimum": 1_001}, "The amount is below the minimum of MVR 10.01."),
        ({"fee": 1_000}, "The amount does not cover the fee of the payout."),
        ({"paused_reason": "Chargebacks"}, "Payouts are paused: Chargebacks."),
    ],
)
async def test_terms_can_prevent_a_payout(dsn: str, terms: dict[str, object], message: str) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        await shop.pay(1_000)
        refused = await shop.request()
        assert refused.message == "There is no bank account."
        await bank_account(shop)
        await shops.set_terms(shop.connection, shop.tenant.id, OPERATOR, **terms)
        assert (await shop.request()).message == message
        (seen,) = await reads.preview(shop.connection, "live", now(), now())
        assert seen.refusal is not None
        assert seen.refusal.message == message


@pytest.mark.parametrize("mode", MODES)
async def test_two_payouts_in_one_batch_pay_once(dsn: str, mode: Mode) -> None:
    async with a_shop(dsn, mode, fee_bps=0) as shop:
        await bank_account(shop)
        await shop.pay(1_000)
        request: Any = RequestPayout(shop.tenant.id, OPERATOR)
        if mode == "sandbox":
            request = SandboxPayout(shop.tenant, OPERATOR)
        first, second = await shop.together(request, request)
        assert (first.amount, second.code) == (1_000, "payout_not_possible")
        assert second.message == "Another payout of this merchant came first."


async def test_a_new_bank_account_takes_effect_after_48_hours(dsn: str) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        await bank_account(shop, "1111")
        await bank_account(shop, "2222")
        first, second = (await reads.bank_accounts(shop.connection, [shop.tenant.id]))[
            shop.tenant.id
        ]
        assert first.effective_at == first.created_at
        assert second.effective_at == second.created_at + timedelta(hours=48)
        await shop.pay(1_000)
        run = await shop.open_run()
        await shop.payout(run_id=run.id)
        await shop.send(run.id)
        file = await bank_files.handed_out(shop.connection, run.id)
        assert file is not None
        assert b",1111,Seagull Cafe,10.00" in file.content


async def test_the_account_in_use_entered_again_stops_a_change(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        entered = ["1111", "6666", "7777", "1111", "1111", "6666"]
        for number in entered[:5]:
            await bank_account(shop, number)
        found = await reads.bank_accounts(shop.connection, [shop.tenant.id])
        accounts = found[shop.tenant.id]
        assert [each.account_number for each in accounts] == entered[:4]  # the last changed nothing
        for hours in (0, 48, 96, 1_000):
            used = in_effect(accounts, now() + timedelta(hours=hours))
            assert used is not None
            assert used.account_number == "1111"
        assert [each.account_number for each in coming(accounts[:3], now())] == ["6666", "7777"]
        assert coming(accounts, now()) == []
        # The stopped account has to wait for 48 hours if it is entered once more.
        await bank_account(shop, "6666")
        last = (await reads.bank_accounts(shop.connection, [shop.tenant.id]))[shop.tenant.id][-1]
        assert last.effective_at == last.created_at + timedelta(hours=48)


async def test_a_run_is_open_until_it_is_approved_or_cancelled(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        run = await shop.open_run()
        again = OpenRun(SECOND, "live", run.day)
        assert await shop.run(again) == run  # it goes on
        before = OpenRun(OPERATOR, "live", run.day - timedelta(days=1))
        refused = await shop.run(before)
        assert (refused.code, refused.message) == (
            "payout_conflict",
            f"Run 1 for {run.day} is open: approve it or cancel it first.",
        )
        await shop.run(CancelRun(OPERATOR, run.id))
        opened, same, other = await shop.together(again, again, before)
        assert (opened.number, other.code) == (2, "payout_conflict")
        assert same == opened


async def test_a_day_is_paid_out_after_it_has_ended(dsn: str) -> None:
    today = local_day(now())
    async with a_shop(dsn) as shop:
        refused = await shop.run(OpenRun(OPERATOR, "live", today))
        assert refused.message == f"{today} has not ended yet."
        opened = await shop.run(OpenRun(OPERATOR, "live", today - timedelta(days=1)))
        assert (opened.number, opened.day) == (1, today - timedelta(days=1))


async def test_nothing_is_sent_while_payouts_are_paused(dsn: str) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        await bank_account(shop)
        await shop.pay(1_000)
        asked, run = await shop.payout(), await shop.open_run()
        await shops.set_terms(
            shop.connection, shop.tenant.id, OPERATOR, paused_reason="Chargebacks"
        )
        join = JoinRun(OPERATOR, asked.id, run.id)
        assert (await shop.run(join)).message == "Payouts are paused: Chargebacks."
        await shops.set_terms(shop.connection, shop.tenant.id, OPERATOR, paused_reason=None)
        assert (await shop.run(join)).run_id == run.id
        # Paused after the run was approved.
        await shop.run(await shop.approval(run.id))
        await shops.set_terms(
            shop.connection, shop.tenant.id, OPERATOR, paused_reason="Chargebacks"
        )
        send = SendRun(SECOND, run.id, run.day, 1_000_000)
        refused = await shop.run(send)
        shown = ids.show_id(ids.PAYOUT, asked.id)
        assert refused.code == "payout_conflict"
        assert refused.message == (
            f"Payouts are paused: Chargebacks. Cancel {shown} before you send the run."
        )
        assert (await shop.found(asked)).status == "approved"
        await shop.run(CancelPayout(OPERATOR, asked.id))
        assert (await shop.balance()).available == 1_000
        assert await shop.differences() == []


async def test_the_fee_of_a_cancelled_payout_is_not_earned(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await bank_account(shop)
        await shops.set_terms(shop.connection, shop.tenant.id, OPERATOR, fee=25)
        await shop.pay(10_000)
        made = await shop.payout()
        assert (await bank.earned_fees(shop.connection, ["live"]))["live"].balance == 100
        refused = await shop.run(SweepFees(OPERATOR, "live", 125))
        assert refused.message == "The fees are MVR 1.00."
        await shop.run(SweepFees(OPERATOR, "live", 100))
        await shop.run(CancelPayout(OPERATOR, made.id))
        assert (await bank.earned_fees(shop.connection, ["live"]))["live"].balance == 0
        assert await shop.differences() == []


@pytest.mark.parametrize("added_up", [False, True])
async def test_fees_that_nobody_has_paid_cannot_be_swept(dsn: str, added_up: bool) -> None:
    """A customer and a shop pay and refund the same money: its fees are owed, not earned."""
    async with a_shop(dsn) as shop:
        await shop.pay(10_000)
        for _ in range(3):
            payment = await shop.pay(10_000)
            await shop.refund(payment.id)
        if added_up:
            await shop.add_up()
        available = (await shop.balance()).available
        assert available == 9_900 - 3 * 100
        await shop.funds("hold", 9_500)  # held money covers what is owed
        fees = (await bank.earned_fees(shop.connection, ["live"]))["live"]
        assert (fees.balance, fees.owed) == (400, 0)
        await shop.funds("release", 9_500)
        await shop.funds("merchant_adjustment", -available - 250, below_zero=True)
        fees = (await bank.earned_fees(shop.connection, ["live"]))["live"]
        assert (fees.balance, fees.owed) == (150, 250)
        refused = await shop.run(SweepFees(OPERATOR, "live", 151))
        assert refused.message == (
            "The fees are MVR 1.50. Merchants owe MVR 2.50 more, which nobody has paid."
        )
        assert (await shop.run(SweepFees(OPERATOR, "live", 150))).amount == 150


async def test_the_fee_of_a_payout_is_earned_when_it_is_sent(dsn: str) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        await bank_account(shop)
        await shops.set_terms(shop.connection, shop.tenant.id, OPERATOR, fee=25)
        await shop.pay(10_000)
        run = await shop.open_run()
        await shop.payout(run_id=run.id)
        assert (await bank.earned_fees(shop.connection, ["live"]))["live"].balance == 0
        await shop.send(run.id)
        assert (await bank.earned_fees(shop.connection, ["live"]))["live"].balance == 25
        assert (await shop.run(SweepFees(OPERATOR, "live", 25))).amount == 25


async def test_a_deactivated_merchant_is_held_like_a_paused_one(dsn: str) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        await bank_account(shop)
        await shop.pay(1_000)
        asked, run = await shop.payout(), await shop.open_run()
        join = JoinRun(OPERATOR, asked.id, run.id)
        why = "The merchant is deactivated."

        async def set_active(active: bool) -> None:
            await shops.update(
                shop.connection,
                OPERATOR,
                shop.tenant.merchant_id,
                active=active,
                inactive_reason=None if active else "Fraud",
            )

        await set_active(False)
        assert await reads.held(shop.connection, [asked]) == {asked.id: why}
        assert (await shop.run(join)).message == why
        await set_active(True)
        assert await reads.held(shop.connection, [asked]) == {}
        assert (await shop.run(join)).run_id == run.id
        # Deactivated after the run was approved.
        await shop.run(await shop.approval(run.id))
        await set_active(False)
        refused = await shop.run(SendRun(SECOND, run.id, run.day, 1_000_000))
        assert refused.message.startswith(f"{why} Cancel po_")
        await shop.run(CancelPayout(OPERATOR, asked.id))
        refused = await shop.request()
        assert (refused.code, refused.message) == ("payout_not_possible", why)
        (seen,) = await reads.preview(shop.connection, "live", now(), now())
        assert seen.refusal is not None
        assert seen.refusal.message == why


async def test_only_days_with_sales_are_in_the_volume(dsn: str) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        yesterday = BatchRunner(dsn, "http://laari.test", clock=lambda: now() - timedelta(days=1))
        move = MoveFunds(shop.tenant.id, OPERATOR, "merchant_adjustment", 500, "Because")
        await yesterday.run([move], 1.0)
        await yesterday.close()
        await shop.pay(1_000)
        await shop.add_up()
        today = local_day(now())
        first = today - timedelta(days=1)
        found = await volume.by_day(shop.connection, "live", first, today)
        assert [(each.day, each.figures.gross) for each in found] == [(today, 1_000)]
