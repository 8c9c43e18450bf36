"""The audit since the last seal, of payouts whose parts are older and newer than the seal."""

from collections.abc import AsyncIterator

import pytest

from laari.rules.banking.payout_runs import AnswerPayout
from laari.rules.records.payouts import Payout
from laari.store.postgres.pool import connection_to
from tests import shops
from tests.actors import OPERATOR
from tests.audit.books import look, seal_all
from tests.store.payout_books import Shop, a_shop, bank_account


@pytest.fixture
async def sent(dsn: str) -> AsyncIterator[tuple[Shop, Payout]]:
    """A payout with a fee that was sent before the last seal; the bank has returned it since."""
    async with a_shop(dsn) as shop:
        await bank_account(shop)
        await shops.set_terms(shop.connection, shop.tenant.id, OPERATOR, fee=50)
        await shop.pay(10_000)
        run = await shop.open_run()
        payout = await shop.payout(run_id=run.id)
        await shop.send(run.id)
        await seal_all(dsn)
        await shop.run(AnswerPayout(OPERATOR, payout.id, "return"))
        await shop.funds("hold", 70)
        await shop.payout()
        yield shop, payout


async def test_payouts_before_and_after_the_seal_are_in_order(
    sent: tuple[Shop, Payout], dsn: str
) -> None:
    report = await look(dsn, since_seal=True)
    assert report.differences == []
    assert report.transfers == 6  # returned, held, paid out and fee; paid out and fee before


OLD = "(SELECT transfer_id FROM payouts WHERE number = 1)"
DAMAGE = [
    (f"UPDATE transfers SET amount = amount + 1 WHERE id = {OLD}", {"payout_transfer"}),
    ("DELETE FROM transfers WHERE kind = 'payout_returned'", {"payout_transfer"}),
    ("UPDATE payouts SET amount = amount - 1 WHERE number = 2", {"payout_transfer"}),
    ("UPDATE payouts SET fee = 1 WHERE number = 1", {"payout_fee"}),
    (
        "DELETE FROM transfers WHERE kind = 'payout_fee' AND tid = "
        f"(SELECT tid FROM transfers WHERE id = {OLD})",
        {"payout_fee"},
    ),
    ("UPDATE bank_orders SET amount = amount - 1", {"payout_orders", "payout_transfer"}),
    ("DELETE FROM bank_orders", {"payout_orders"}),
    ("DELETE FROM events WHERE type = 'payout.sent'", {"payout_event"}),
    ("DELETE FROM events WHERE type = 'payout.returned'", {"payout_event"}),
    ("DELETE FROM fund_movements", {"fund_movement"}),
    (
        "INSERT INTO transfers (id, kind, debit_account, credit_account, amount, tid, created_at) "
        "SELECT gen_random_uuid(), 'payout_returned', debit_account, credit_account, amount, 'x', "
        "now() FROM transfers WHERE kind = 'payout_returned'",
        {"payout_transfer"},
    ),
]


@pytest.mark.ci
@pytest.mark.parametrize(("statement", "kinds"), DAMAGE, ids=[sql[:60] for sql, _ in DAMAGE])
async def test_damage_to_a_payout_is_named_since_the_seal(
    sent: tuple[Shop, Payout], dsn: str, statement: str, kinds: set[str]
) -> None:
    async with connection_to(dsn) as connection:
        await connection.execute(f"SET session_replication_role = replica; {statement}")
    report = await look(dsn, since_seal=True)
    assert kinds <= set(report.counts)
