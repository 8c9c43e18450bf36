"""A run is approved by a person whom it does not control, and as this person saw it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from laari.rules.actors import Actor
from laari.rules.banking.bank_accounts import AddBankAccount
from laari.rules.banking.bank_lines import ImportLine, SignFloat
from laari.rules.banking.bank_statement import StatementLine
from laari.rules.banking.payout_approval import ApproveRun, content_of
from laari.rules.banking.payout_runs import (
    AnswerPayout,
    CancelPayout,
    JoinRun,
    OpenRun,
    Run,
    SendRun,
)
from laari.rules.banking.withdrawals import RequestWithdrawal
from laari.rules.records.bank import FloatSignoff
from laari.rules.records.bank_accounts import BankDetails
from laari.rules.records.payouts import PayoutRun
from laari.store.batch.runner import BatchRunner
from laari.store.reads.money import payouts as reads
from tests.actors import ANYBODY
from tests.store.payout_books import Shop, a_shop

ANN = Actor("operator", "ann@laari.test", "finance")
BEA = Actor("operator", "bea@laari.test", "finance")
CAT = Actor("operator", "cat@laari.test", "finance")
NOON = datetime(2026, 11, 18, 7, 0, tzinfo=UTC)  # in Male
DAY = date(2026, 11, 17)


@asynccontextmanager
async def shop_at(dsn: str, above: int | None) -> AsyncIterator[tuple[Shop, Callable[..., Any]]]:
    """A shop whose commands run at a moment that the test chooses."""
    async with a_shop(dsn) as shop:

        async def run(command: Any, at: datetime = NOON) -> Any:
            runner = BatchRunner(
                dsn, "http://laari.test", clock=lambda: at, second_operator_above=above
            )
            [outcome] = await runner.run([command], 1.0)
            await runner.close()
            return outcome

        yield shop, run


async def opened(
    shop: Shop, run: Callable[..., Any], amount: int = 700, by: Actor = ANN, at: datetime = NOON
) -> PayoutRun:
    """A run with one withdrawal of the shop's customer."""
    made = await run(RequestWithdrawal(ANYBODY, shop.payer.account, amount), at)
    found = await run(OpenRun(by, "live", DAY), at)
    assert isinstance(found, PayoutRun), found
    joined = await run(JoinRun(by, made.id, found.id), at)
    assert joined.run_id == found.id
    return found


def account(shop: Shop, actor: Actor, number: str = "1111") -> AddBankAccount:
    return AddBankAccount(actor, shop.payer.account, BankDetails("Aisha", "BML", number))


async def test_a_run_is_never_approved_by_the_person_who_opened_it(dsn: str) -> None:
    async with shop_at(dsn, above=10**9) as (shop, run):
        await run(account(shop, ANYBODY))
        found = await opened(shop, run)
        for own in (ANN, Actor("command_line", "ANN@laari.test", "admin")):
            refused = await run(await shop.approval(found.id, own, 10**9))
            assert refused.message == "Another person has to approve a run that you opened."
        assert isinstance(await run(await shop.approval(found.id, BEA)), Run)


async def test_who_entered_a_new_bank_account_does_not_approve_its_run(dsn: str) -> None:
    later = NOON + timedelta(days=3)
    async with shop_at(dsn, above=10**9) as (shop, run):
        await run(account(shop, BEA))
        found = await opened(shop, run, at=later)
        refused = await run(await shop.approval(found.id, BEA, 10**9), later)
        assert "You entered a new bank account of this run" in refused.message
        shown = await reads.new_accounts(
            shop.connection, await reads.of_run(shop.connection, found.id), later
        )
        assert [(each.owner, each.account.entered_by) for each in shown] == [
            ("Aisha", "operator bea@laari.test")
        ]
        assert isinstance(await run(await shop.approval(found.id, CAT, 10**9), later), Run)


async def test_a_bank_account_stays_new_until_it_is_paid_and_for_30_days(dsn: str) -> None:
    async with shop_at(dsn, above=10**9) as (shop, run):

        async def new_at(found: PayoutRun, moment: datetime) -> list[str]:
            joined = await reads.of_run(shop.connection, found.id)
            shown = await reads.new_accounts(shop.connection, joined, moment)
            return [each.account.account_number for each in shown]

        await run(account(shop, BEA))
        year = NOON + timedelta(days=365)
        found = await opened(shop, run, at=year)
        assert await new_at(found, year) == ["1111"]
        refused = await run(await shop.approval(found.id, BEA, 10**9), year)
        assert "You entered a new bank account of this run" in refused.message
        await run(await shop.approval(found.id, CAT), year)
        await run(SendRun(CAT, found.id, DAY, 10**6), year)
        [payout] = await reads.of_run(shop.connection, found.id)
        returned, settled = (
            AnswerPayout(CAT, payout.id, "return"),
            AnswerPayout(CAT, payout.id, "settle"),
        )
        assert (await run(settled, year)).status == "settled"

        second = await opened(shop, run, at=year)
        assert await new_at(second, year) == []
        assert isinstance(await run(await shop.approval(second.id, BEA, 10**9), year), Run)
        # Money that came back was not paid.
        assert (await run(returned, year)).status == "returned"
        assert await new_at(second, year) == ["1111"]

    async with shop_at(dsn, above=10**9) as (shop, run):
        await run(account(shop, BEA))
        early = NOON + timedelta(days=3)
        found = await opened(shop, run, at=early)
        await run(await shop.approval(found.id, CAT), early)
        await run(SendRun(CAT, found.id, DAY, 10**6), early)
        [payout] = await reads.of_run(shop.connection, found.id)
        await run(AnswerPayout(CAT, payout.id, "settle"), early)
        second = await opened(shop, run, at=early)
        last = NOON + timedelta(days=30) - timedelta(seconds=1)
        refused = await run(await shop.approval(second.id, BEA, 10**9), last)
        assert "You entered a new bank account of this run" in refused.message
        after = NOON + timedelta(days=30)
        assert isinstance(await run(await shop.approval(second.id, BEA, 10**9), after), Run)


@pytest.mark.parametrize("is_stopped", [True, False])
async def test_an_account_that_was_changed_after_the_approval_is_not_paid(
    dsn: str, is_stopped: bool
) -> None:
    """The approver enters another account after the approval, and waits for 48 hours."""
    later = NOON + timedelta(days=3)
    async with shop_at(dsn, above=10**9) as (shop, run):
        await run(account(shop, ANYBODY))
        found = await opened(shop, run)
        await run(await shop.approval(found.id, BEA))
        await run(account(shop, BEA, "6666"), NOON + timedelta(seconds=1))
        if is_stopped:  # by the customer, who enters the account in use again
            await run(account(shop, ANYBODY), NOON + timedelta(days=1))
        sent = await run(SendRun(BEA, found.id, DAY, 10**6), later)
        if is_stopped:
            assert isinstance(sent, Run)
        else:
            assert "was changed after the approval" in sent.message


async def test_only_the_person_who_opened_a_run_adds_to_it(dsn: str) -> None:
    async with shop_at(dsn, above=10**9) as (shop, run):
        await run(account(shop, ANYBODY))
        found = await opened(shop, run)
        more = await run(RequestWithdrawal(BEA, shop.payer.account, 90_000))
        refused = await run(JoinRun(BEA, more.id, found.id))
        assert refused.message == (
            "Only operator ann@laari.test, who opened the run, adds payouts to it."
        )
        assert (await run(JoinRun(ANN, more.id, found.id))).run_id == found.id


async def test_the_limit_of_one_person_counts_all_runs_of_the_day(dsn: str) -> None:
    limit = 1_000
    async with shop_at(dsn, above=None) as (shop, run):
        await run(account(shop, ANYBODY), NOON - timedelta(days=9))
        first = await opened(shop, run, 600)
        assert isinstance(await run(await shop.approval(first.id, ANN, limit)), Run)
        second = await opened(shop, run, 401)
        refused = await run(await shop.approval(second.id, ANN, limit))
        above = "The runs of today have MVR 10.01, which is above MVR 10.00"
        assert refused.message == f"{above}: another person has to approve this run."
        tomorrow = NOON + timedelta(days=1)
        assert isinstance(await run(await shop.approval(second.id, ANN, limit), tomorrow), Run)
        # Money that did not leave does not count.
        third = await opened(shop, run, 600, at=tomorrow)
        for payout in await reads.of_run(shop.connection, second.id):
            await run(CancelPayout(ANN, payout.id), tomorrow)
        assert isinstance(await run(await shop.approval(third.id, ANN, limit), tomorrow), Run)


async def test_a_run_is_approved_with_the_total_that_the_person_saw(dsn: str) -> None:
    async with shop_at(dsn, above=None) as (shop, run):
        await run(account(shop, ANYBODY))
        found = await opened(shop, run)
        refused = await run(await shop.approval(found.id, BEA, total=699))
        assert "The total is MVR 7.00 now." in refused.message


async def test_a_run_is_approved_with_the_payouts_that_the_person_saw(dsn: str) -> None:
    """Another payout of the same amount could have taken the place of one."""
    async with shop_at(dsn, above=0) as (shop, run):
        await run(account(shop, ANYBODY))
        found = await opened(shop, run)
        seen = content_of(before := await reads.of_run(shop.connection, found.id))
        await run(CancelPayout(ANN, before[0].id))
        other = await run(RequestWithdrawal(ANN, shop.payer.account, 700))
        await run(JoinRun(ANN, other.id, found.id))
        refused = await run(ApproveRun(BEA, found.id, 0, 700, seen))
        assert refused.message == "The run has other payouts now. Look at it, and decide again."
        now = content_of(await reads.of_run(shop.connection, found.id))
        assert isinstance(await run(ApproveRun(BEA, found.id, 0, 700, now)), Run)


async def test_the_same_sign_off_again_changes_nothing(dsn: str) -> None:
    async with shop_at(dsn, above=None) as (shop, run):
        first = await run(SignFloat(ANN, DAY, 500, 400, "On its way"))
        assert await run(SignFloat(ANN, DAY, 500, 400, "On its way")) == first
        for command in (
            SignFloat(BEA, DAY, 500, 400, "On its way"),
            SignFloat(ANN, DAY, 500, 400, "Late"),
            SignFloat(ANN, DAY, 500, 500, None),
        ):
            assert (await run(command)).id != first.id
        assert await shop.connection.fetchval("SELECT count(*) FROM float_signoffs") == 4
        early = await run(SignFloat(ANN, DAY + timedelta(days=1), 0, 0, None))
        assert early.message == "2026-11-18 has not ended yet."


@pytest.mark.parametrize("above", [None, 0])
async def test_who_imported_a_line_does_not_explain_the_difference_of_its_day(
    dsn: str, above: int | None
) -> None:
    async with shop_at(dsn, above=above) as (_, run):
        line = StatementLine(2, DAY, "FT1", "Invented", 500, None)
        await run(ImportLine(ANN, line))
        same = await run(SignFloat(ANN, DAY, 500, 500, None))
        assert isinstance(same, FloatSignoff)  # there is nothing to explain
        differs = await run(SignFloat(ANN, DAY, 500, 0, "On its way"))
        if above is None:
            assert isinstance(differs, FloatSignoff)
        else:
            assert "another person has to sign off its difference" in differs.message
        other = await run(SignFloat(BEA, DAY, 500, 0, "On its way"))
        assert isinstance(other, FloatSignoff)
