"""The audit finds every kind of damage that is done to the books behind the service's back."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from laari.store.audit import SHOWN, audit
from laari.store.postgres.pool import connection_to
from tests.audit.books import write_books
from tests.sampling import some_of

pytestmark = [pytest.mark.ci, pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture(scope="module")
def written(engine: Any) -> str:
    dsn: str = engine.migrated("books")
    asyncio.run(write_books(dsn))
    return dsn


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def connected(written: str) -> AsyncIterator[asyncpg.Connection]:
    """One for all tests: each new one reads the whole schema for its first audit."""
    async with connection_to(written, seconds=3600) as connection:
        yield connection


@pytest_asyncio.fixture(loop_scope="module")
async def books(connected: asyncpg.Connection) -> AsyncIterator[asyncpg.Connection]:
    """Within a transaction that is undone."""
    transaction = connected.transaction(isolation="repeatable_read")
    await transaction.start()
    yield connected
    await transaction.rollback()


async def test_clean_books_balance(books: asyncpg.Connection) -> None:
    report = await audit(books)
    assert report.differences == []
    assert report.ok
    # 2 openings, 8 payments, 8 fees, 3 refunds, 2 adjustments
    assert (report.payments, report.transfers) == (13, 23)


async def test_empty_books_balance(dsn: str) -> None:
    async with connection_to(dsn) as connection:
        report = await audit(connection)
    assert (report.ok, report.payments, report.transfers) == (True, 0, 0)


_OF = "(SELECT id FROM payments WHERE reference = '{}')"
_NEW_TRANSFER = (
    "INSERT INTO transfers (id, kind, debit_account, credit_account, amount, payment_id, tid, "
    "created_at) SELECT gen_random_uuid(), {}, now() FROM payments WHERE reference = '{}'"
)
_NEW_EVENT = (
    "INSERT INTO events (id, tenant_id, type, object_id, created_at, body) "
    "SELECT gen_random_uuid(), tenant_id, '{}', id, now(), '' FROM payments WHERE reference = '{}'"
)

# What is done to the books, and the kinds of difference that must name it.
DAMAGE: list[tuple[str, set[str]]] = [
    ("UPDATE wallets SET balance = balance + 1 WHERE mode = 'live'", {"wallet_balance"}),
    ("UPDATE wallets SET mode = 'sandbox' WHERE mode = 'live'", {"wallet_mode", "transfer_mode"}),
    *(
        (f"UPDATE wallets SET {unit}_spent = 0 WHERE mode = 'live'", {"wallet_period"})
        for unit in ("day", "week", "month")
    ),
    ("UPDATE customers SET mode = 'sandbox', sandbox_of = NULL", {"wallet_mode"}),
    (
        "UPDATE transfers SET credit_account = 7800000000000 WHERE kind = 'topup'",
        {"transfer_account", "wallet_balance", "transaction"},
    ),
    ("DELETE FROM wallets WHERE mode = 'live'", {"transfer_account", "transaction_account"}),
    ("UPDATE tenants SET mode = 'other' WHERE mode = 'live'", {"transfer_mode", "fee_transfer"}),
    (
        "DROP INDEX transfers_once_per_payment; INSERT INTO transfers SELECT gen_random_uuid(), "
        "kind, debit_account, credit_account, amount, payment_id, tid, created_at "
        "FROM transfers WHERE kind = 'fee' LIMIT 1",
        {"transfer_twice", "merchant_total", "fee_total"},
    ),
    (
        f"DELETE FROM payments WHERE id = {_OF.format('paid')}",
        {"transfer_payment", "payment_transfer", "fee_transfer", "merchant_total", "fee_total"}
        | {"payment_event", "reference_claim"},
    ),
    ("DELETE FROM tenants WHERE mode = 'live'", {"payment_tenant", "transfer_account"}),
    (
        f"DELETE FROM transfers WHERE kind = 'payment' AND payment_id = {_OF.format('paid')}",
        {"payment_transfer", "wallet_balance", "merchant_total", "transaction"},
    ),
    (
        "UPDATE transfers SET amount = amount - 1 WHERE kind = 'payment'",
        {"payment_transfer", "wallet_balance", "merchant_total", "transaction"},
    ),
    (
        _NEW_TRANSFER.format("'payment', 7700000000002, 1000000001, amount, id, 'X'", "pending"),
        {"payment_transfer", "wallet_balance", "merchant_total", "transaction"},
    ),
    (
        f"UPDATE payments SET payer_account = 7700000000001 WHERE id = {_OF.format('paid')}",
        {"payment_transfer"},
    ),
    ("DELETE FROM transfers WHERE kind = 'fee'", {"fee_transfer", "fee_total", "merchant_total"}),
    ("UPDATE payments SET fee = 0 WHERE fee > 0", {"fee_transfer", "fee_total", "merchant_total"}),
    (
        "DELETE FROM transfers WHERE kind = 'refund'",
        {"refund_transfer", "wallet_balance", "merchant_total", "transaction"},
    ),
    (
        _NEW_TRANSFER.format("'refund', 1000000001, payer_account, amount, id, 'X'", "paid"),
        {"refund_transfer", "wallet_balance", "merchant_total", "transaction"},
    ),
    (
        "UPDATE payments SET status = 'refunded', refunded_at = now(), refunded_amount = amount "
        "WHERE status = 'paid'",
        {"refund_payment", "merchant_total", "merchant_funds"},
    ),
    *(
        (f"UPDATE transfers SET payment_id = {other} WHERE kind = 'refund'", {"refund_transfer"})
        for other in ("gen_random_uuid()", _OF.format("pending"))
    ),
    (
        "INSERT INTO refunds (id, tenant_id, payment_id, amount, actor_kind, actor_name, tid, "
        f"created_at) SELECT gen_random_uuid(), 1, {_OF.format('paid')}, 1, 'person', 'a', 'X', "
        "now()",
        {"refund_transfer", "refund_payment", "refund_event"},
    ),
    (
        "UPDATE refunds SET tenant_id = 2",
        {"refund_transfer", "refund_payment", "refund_event"},
    ),
    ("UPDATE refunds SET amount = amount + 1", {"refund_transfer", "refund_payment"}),
    ("UPDATE refunds SET note = 'Other' WHERE note IS NOT NULL", {"refund_event_body"}),
    ("UPDATE refunds SET reason = 'fraudulent'", {"refund_event_body"}),
    ("DELETE FROM events WHERE type = 'payment.refunded'", {"refund_event"}),
    (
        "UPDATE payments SET refunded_amount = 1 WHERE refunded_amount < amount",
        {"refund_payment", "merchant_total"},
    ),
    ("UPDATE merchant_funds SET refunded_fees = refunded_fees + 1", {"merchant_funds"}),
    ("DELETE FROM merchant_funds", {"merchant_funds"}),
    (
        _NEW_TRANSFER.format("'hold', 1000000001, 1000000002, 1, NULL, 'X'", "paid"),
        {"transfer_kind"},
    ),
    (
        _NEW_TRANSFER.format("'adjustment', payer_account, 8, 1, NULL, 'X'", "paid"),
        {"float", "transfer_mode"},
    ),
    (
        f"UPDATE payments SET payment_reference = 'X' WHERE id = {_OF.format('paid')}",
        {"payment_reference"},
    ),
    ("UPDATE transactions SET amount = 1 WHERE type = 'topup'", {"transaction"}),
    ("INSERT INTO topup_slips VALUES ('live', 'bank-1', 'X')", {"topup_slip"}),
    (
        "INSERT INTO topup_slips SELECT 'live', 'bank-1', min(tid) FROM transactions "
        "WHERE type = 'refund'",
        {"topup_slip"},
    ),
    ("UPDATE transactions SET account = 7700000000001 WHERE type = 'refund'", {"transaction"}),
    ("UPDATE transactions SET type = 'topup' WHERE type = 'adjustment'", {"transaction"}),
    (
        "UPDATE transactions SET status = 'success', failure = NULL, unpaid_id = NULL "
        "WHERE status = 'failed'",
        {"transaction"},
    ),
    (
        "UPDATE transactions SET status = 'failed' WHERE type = 'refund'",
        {"transaction", "failed_transaction"},
    ),
    (
        "UPDATE transfers SET tid = (SELECT min(tid) FROM transactions WHERE type = 'refund') "
        "WHERE kind = 'adjustment'",
        {"transaction", "transaction_twice"},
    ),
    (
        "UPDATE transactions SET account = 7800000000000 WHERE status = 'failed'",
        {"transaction_account"},
    ),
    *(
        (f"DELETE FROM events WHERE type = '{event_type}'", {"payment_event"})
        for event_type in (
            "payment.created",
            "payment.paid",
            "payment.cancelled",
            "payment.expired",
        )
    ),
    *(
        (_NEW_EVENT.format(event_type, reference), {"payment_event"})
        for event_type, reference in (
            ("payment.paid", "pending"),
            ("payment.cancelled", "paid"),
            ("payment.expired", "cancelled"),
            ("payment.rejected", "rejected"),
        )
    ),
    ("UPDATE events SET tenant_id = 99 WHERE type = 'payment.paid'", {"payment_event"}),
    (
        "DROP INDEX events_once; " + _NEW_EVENT.format("payment.paid", "paid"),
        {"event_twice"},
    ),
    # One that is there twice does not stand for one that is missing.
    (
        "DROP INDEX events_once; "
        f"UPDATE events SET object_id = {_OF.format('dear')} "
        f"WHERE type = 'payment.created' AND object_id = {_OF.format('paid')}",
        {"event_twice", "payment_event"},
    ),
    (
        "DROP INDEX transfers_once_per_payment; "
        f"UPDATE transfers SET payment_id = {_OF.format('refunded')} "
        f"WHERE kind = 'payment' AND payment_id = {_OF.format('paid')}",
        {"transfer_twice", "payment_transfer"},
    ),
    ("DELETE FROM reference_claims WHERE reference = 'pending'", {"reference_claim"}),
    (
        "INSERT INTO reference_claims VALUES (1, 'more', 'payment', gen_random_uuid())",
        {"reference_claim"},
    ),
    (
        f"UPDATE reference_claims SET resource_id = {_OF.format('paid')} WHERE reference = 'dear'",
        {"reference_claim"},
    ),
    ("DELETE FROM reference_claims WHERE reference = 'ask paid'", {"reference_claim"}),
    (
        "UPDATE reference_claims SET kind = 'payment' WHERE reference = 'ask pending'",
        {"reference_claim"},
    ),
    *(
        (f"UPDATE payment_requests SET {change} WHERE status = 'paid'", {"request_payment"})
        for change in (
            "amount = amount + 1",
            "fee = fee + 1",
            "payment_id = gen_random_uuid()",
            "payment_reference = 'X'",
            "paid_at = paid_at - interval '1 second'",
            "status = 'refunded'",
        )
    ),
    ("DELETE FROM payments WHERE reference = 'ask paid'", {"request_payment"}),
    ("DELETE FROM payment_requests WHERE status = 'paid'", {"request_payment", "request_event"}),
    ("UPDATE payment_requests SET account = 1", {"request_owner"}),
    ("UPDATE payment_requests SET tenant_id = 99", {"request_owner", "request_event"}),
    *(
        (f"DELETE FROM events WHERE type = 'payment_request.{status}'", {"request_event"})
        for status in ("created", "paid", "cancelled", "rejected", "expired")
    ),
    (
        "UPDATE events SET type = 'payment_request.paid' WHERE type = 'payment_request.expired'",
        {"request_event"},
    ),
    (
        "UPDATE authorizations SET payment_count = payment_count + 1 WHERE type <> 'one_time'",
        {"authorization_usage"},
    ),
    ("UPDATE authorizations SET total_paid = total_paid + 1", {"authorization_usage"}),
    ("DELETE FROM authorizations WHERE status = 'consumed'", {"authorization_usage"}),
    (
        "UPDATE authorizations SET period_paid = period_paid - 1 WHERE payment_count > 1",
        {"authorization_period"},
    ),
    ("UPDATE authorizations SET tenant_id = 99", {"authorization_owner", "authorization_event"}),
    (
        "UPDATE authorizations SET account = 7700000000001 WHERE account IS NOT NULL",
        {"authorization_owner", "charge_owner"},
    ),
    (
        "UPDATE authorizations SET status = 'active' WHERE status = 'consumed'",
        {"authorization_consumed"},
    ),
    (
        "UPDATE authorizations SET status = 'consumed' WHERE status = 'active'",
        {"authorization_consumed"},
    ),
    *(
        (f"DELETE FROM events WHERE type = 'authorization.{name}'", {"authorization_event"})
        for name in ("created", "approved", "rejected", "cancelled", "revoked")
    ),
    (
        "UPDATE events SET type = 'authorization.cancelled' WHERE type = 'authorization.rejected'",
        {"authorization_event"},
    ),
    ("DELETE FROM reference_claims WHERE kind = 'charge'", {"reference_claim"}),
]


@pytest.mark.parametrize(("statement", "kinds"), some_of(DAMAGE), ids=[d[0][:70] for d in DAMAGE])
async def test_damage_is_named(books: asyncpg.Connection, statement: str, kinds: set[str]) -> None:
    await books.execute("ALTER TABLE tenants DROP CONSTRAINT tenants_mode_check")
    # No triggers and no foreign keys, as for somebody with the keys to the database.
    await books.execute(f"SET LOCAL session_replication_role = replica; {statement}")
    report = await audit(books)
    assert not report.ok
    assert kinds <= {difference.kind for difference in report.differences}


# As many events and transfers as before, but not the ones that are called for.
EXCHANGED: list[tuple[str, str]] = [
    (
        "UPDATE events SET type = 'payment.expired' "
        f"WHERE type = 'payment.paid' AND object_id = {_OF.format('paid')}",
        "payment_event",
    ),
    *(
        (
            f"UPDATE events SET object_id = {other} "
            f"WHERE type = 'payment.paid' AND object_id = {_OF.format('paid')}",
            "payment_event",
        )
        for other in ("gen_random_uuid()", _OF.format("pending"))
    ),
    *(
        (
            f"UPDATE transfers SET payment_id = {other} "
            f"WHERE kind = '{kind}' AND payment_id = {_OF.format(reference)}",
            f"{kind}_transfer",
        )
        for kind, reference in (("payment", "paid"), ("fee", "paid"))
        for other in ("gen_random_uuid()", _OF.format("pending"))
    ),
    (
        "ALTER TABLE transfers DROP CONSTRAINT payment_fits_kind; "
        f"UPDATE transfers SET payment_id = NULL WHERE payment_id = {_OF.format('paid')}",
        "fee_transfer",
    ),
]


@pytest.mark.parametrize(
    ("statement", "kind"), some_of(EXCHANGED), ids=[e[0][:90] for e in EXCHANGED]
)
async def test_what_is_there_does_not_stand_for_what_is_missing(
    books: asyncpg.Connection, statement: str, kind: str
) -> None:
    await books.execute(f"SET LOCAL session_replication_role = replica; {statement}")
    found = [each for each in (await audit(books)).differences if each.kind == kind]
    assert [each.expected.startswith("no ") for each in found].count(True) == 1
    assert [each.found.startswith("no ") for each in found].count(True) == 1


async def test_a_difference_says_what_and_where(books: asyncpg.Connection) -> None:
    account = await books.fetchval(
        "UPDATE wallets SET balance = balance + 5 WHERE mode = 'live' RETURNING account"
    )
    [difference] = (await audit(books)).differences
    assert difference.kind == "wallet_balance"
    assert difference.id == str(account)
    assert int(difference.found) - int(difference.expected) == 5
    assert difference.message


async def test_the_list_is_bounded_and_the_count_is_not(books: asyncpg.Connection) -> None:
    await books.execute(
        "INSERT INTO reference_claims "
        "SELECT 1, 'r' || n, 'payment', gen_random_uuid() FROM generate_series(1, 250) n"
    )
    report = await audit(books)
    assert len(report.differences) == SHOWN
    assert report.counts == {"reference_claim": 250}
