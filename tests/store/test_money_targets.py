"""Where money goes: the bank account of a payout, the wallet of a line, the next run."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

from laari.rules.banking.bank_lines import ImportLine
from laari.rules.banking.bank_statement import StatementLine
from laari.rules.banking.line_targets import expected
from laari.rules.banking.open_lines import AssignLine
from laari.rules.banking.payout_runs import CancelPayout, CancelRun
from laari.rules.banking.payouts import in_effect
from laari.rules.records.bank_accounts import BankAccount
from laari.store.reads.money import bank
from tests.actors import OPERATOR
from tests.making import make_customer
from tests.store.payout_books import SECOND, Shop, a_shop, bank_account

DAY = date(2026, 11, 18)
START = datetime(2026, 11, 18, tzinfo=UTC)


def entered(number: int, *, hours: int, waits: int) -> BankAccount:
    """A bank account that was entered at this hour and is used some hours later."""
    at = START + timedelta(hours=hours)
    return BankAccount(
        id=UUID(int=number),
        tenant_id=1,
        holder="Seagull Cafe",
        bank="BML",
        account_number=str(number),
        created_at=at,
        effective_at=at + timedelta(hours=waits),
        actor_kind="person",
        actor_name="owner@shop.mv",
    )


def test_the_newest_bank_account_in_effect_is_used() -> None:
    first, second = entered(1, hours=0, waits=48), entered(2, hours=50, waits=48)
    third = entered(3, hours=60, waits=0)

    def used_after(hours: int, *accounts: BankAccount) -> BankAccount | None:
        return in_effect(accounts, START + timedelta(hours=hours))

    assert used_after(47, first, second) is None
    assert used_after(48, first, second) == first
    assert used_after(97, first, second) == first
    assert used_after(98, first, second) == second
    assert used_after(1_000, second, first) == second
    # Entered later and used at once: it replaces the one that had not begun.
    assert used_after(98, first, second, third) == third


async def import_line(shop: Shop, line: StatementLine) -> Any:
    """As the dry run says it."""
    [seen] = await bank.expectations(shop.connection, [line])
    outcome = await shop.run(ImportLine(OPERATOR, line))
    assert seen.conflict == getattr(outcome, "message", None)
    return outcome


async def test_a_line_that_names_two_wallets_waits_for_a_person(dsn: str) -> None:
    async with a_shop(dsn) as shop, a_shop(dsn) as other:
        before = (await shop.wallet(), await other.wallet())
        text = f"From {shop.payer.account} for {other.payer.account}"
        for reference, amount in (("FT1", 500), (f"FT{other.payer.account}", 700)):
            line = StatementLine(2, DAY, reference, text, amount, None)
            [target] = await bank.targets(shop.connection, [line])
            assert (target.account, expected(line, target, None).use) == (None, "receipt")
            assert (await import_line(shop, line)).line.use == "receipt"
        assert (await shop.wallet(), await other.wallet()) == before


async def test_unallocated_money_does_not_go_to_a_sandbox(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        sandbox = await make_customer(
            shop.connection, OPERATOR, name="Nobody", mode="sandbox", tier="basic"
        )
        await import_line(shop, StatementLine(2, DAY, "FT1", "No idea", 500, None))
        refused = await shop.run(AssignLine(OPERATOR, "FT1", sandbox.account))
        assert (refused.code, "No live wallet" in refused.message) == ("not_found", True)
        [line] = await bank.lines(shop.connection, 10, only_open=True)
        assert line.use == "receipt"
        balance = "SELECT balance FROM wallets WHERE account = $1"
        assert await shop.connection.fetchval(balance, sandbox.account) == 0


async def test_another_day_under_a_known_reference_is_refused(dsn: str) -> None:
    """The same line again changes nothing; with other content it is another movement."""
    async with a_shop(dsn) as shop:
        line = StatementLine(2, DAY, "FT1", f"For {shop.payer.account}", 500, None)
        assert not (await import_line(shop, line)).repeated
        assert (await import_line(shop, line)).repeated
        before = await shop.wallet()
        other = StatementLine(2, DAY + timedelta(days=1), "FT1", line.description, 500, None)
        refused = await import_line(shop, other)
        assert (refused.code, str(DAY) in refused.message) == ("conflict", True)
        assert await shop.wallet() == before


async def test_an_approved_payout_is_in_transit(dsn: str) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        await bank_account(shop)
        await shop.pay(50_000)
        run = await shop.open_run()
        await shop.payout(run_id=run.id)
        assert await shop.balance() == (0, 0, 50_000)
        approve = await shop.approval(run.id, SECOND)
        assert (await shop.run(approve)).run.status == "approved"
        assert await shop.balance() == (0, 0, 50_000)
        await shop.send(run.id)
        assert await shop.balance() == (0, 0, 50_000)


async def test_a_cancelled_payout_joins_this_run_or_the_next_again(dsn: str) -> None:
    async with a_shop(dsn, fee_bps=0) as shop:
        await bank_account(shop)
        await shop.pay(50_000)
        run = await shop.open_run()
        for _ in range(2):
            payout = await shop.payout(run_id=run.id)
            cancelled = await shop.run(CancelPayout(OPERATOR, payout.id))
            assert cancelled.status == "cancelled"
        assert (await shop.run(CancelRun(OPERATOR, run.id))).run.status == "cancelled"
        following = await shop.open_run()
        assert (await shop.payout(run_id=following.id)).amount == 50_000
        sent = await shop.send(following.id)
        assert [each.amount for each in sent.payouts] == [50_000]
        assert await shop.differences() == []
