"""What has reached its age is removed, and the books still prove what is left of them."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from laari.rules import payments as rules
from laari.store import tenants
from laari.store.audit import audit
from laari.store.batch import BatchRunner
from laari.store.database import connection_to
from laari.store.retention import TamperedError, remove_next
from laari.store.retired import (
    DELIVERIES,
    OLD_EVENTS,
    OLD_FAILED,
    SANDBOX_EVENTS,
    SANDBOX_FAILED,
)
from tests.audit.aging import (
    ALL,
    EVENTS,
    FAILED,
    FOREVER,
    accuse,
    fetch_column,
    fetchval,
    ledger,
    prove,
    remove,
    remove_all,
    tamper,
)
from tests.audit.books import KEY, ORIGIN, seal_all, write_books

# What is removed by a kind of removal, and what of the same rows stays.
REMOVED = [
    (
        DELIVERIES,
        "SELECT count(*) FROM deliveries WHERE status <> 'pending'",
        "SELECT count(*) FROM deliveries WHERE status = 'pending'",
    ),
    (DELIVERIES, "SELECT count(*) FROM delivery_attempts", EVENTS),
    (
        SANDBOX_EVENTS,
        f"{EVENTS} WHERE t.mode = 'sandbox' AND type = 'payment.cancelled'",
        f"{EVENTS} WHERE t.mode = 'live'",
    ),
    (
        SANDBOX_FAILED,
        f"{FAILED} AND mode = 'sandbox'",
        f"{FAILED} AND mode = 'live'",
    ),
]


@pytest.mark.parametrize(
    ("name", "going", "staying"), REMOVED, ids=[f"{each[0]} {each[1][21:60]}" for each in REMOVED]
)
async def test_each_kind_is_removed_at_its_age_and_not_before(
    books: str, name: str, going: str, staying: str
) -> None:
    subject = "transactions" if "failed" in name else "events"
    newest = await fetchval(books, "SELECT max(sealed_at) FROM seals WHERE subject = $1", subject)
    oldest = await fetchval(books, "SELECT min(sealed_at) FROM seals WHERE subject = $1", subject)
    before = await fetchval(books, going), await fetchval(books, staying)
    assert min(before) > 0
    assert await remove(books, name, oldest - timedelta(microseconds=1)) == 0
    assert (await fetchval(books, going), await fetchval(books, staying)) == before
    assert await remove(books, name, newest) > 0
    assert (await fetchval(books, going), await fetchval(books, staying)) == (0, before[1])
    await prove(books)


@pytest.mark.parametrize(
    ("first", "second", "going", "staying"),
    [
        (
            SANDBOX_EVENTS,
            OLD_EVENTS,
            f"{EVENTS} WHERE type = 'payment.paid' AND t.mode = 'live'",
            f"{EVENTS} WHERE starts_with(type, 'authorization.') AND t.mode = 'live'",
        ),
        (
            SANDBOX_FAILED,
            OLD_FAILED,
            FAILED,
            "SELECT count(*) FROM transactions WHERE status = 'success'",
        ),
    ],
)
async def test_what_is_live_goes_after_the_sandbox_and_at_its_own_age(
    books: str, first: str, second: str, going: str, staying: str
) -> None:
    kept = await fetchval(books, staying)
    assert await remove(books, second) == 0  # the sandbox's comes first
    await remove(books, first)
    subject = "transactions" if "failed" in first else "events"
    [oldest] = await fetch_column(
        books, "SELECT min(sealed_at) FROM seals WHERE subject = $1", subject
    )
    assert await remove(books, second, oldest - timedelta(microseconds=1)) == 0
    assert await fetchval(books, going) > 0
    assert await remove(books, second) > 0
    assert (await fetchval(books, going), await fetchval(books, staying)) == (0, kept)
    await prove(books)


async def test_what_the_ledger_needs_is_never_removed(books: str) -> None:
    before = await ledger(books)
    await remove_all(books)
    assert await ledger(books) == before
    await prove(books)


async def test_the_events_of_what_is_open_stay(books: str) -> None:
    """A pending payment can still be held against what was told of it."""
    await remove_all(books)
    for query in (
        "SELECT id FROM payments WHERE status = 'pending'",
        "SELECT id FROM payment_requests WHERE status = 'pending'",
        "SELECT id FROM authorizations WHERE status IN ('pending', 'active', 'suspended')",
    ):
        found = set(await fetch_column(books, query))
        assert found
        assert found <= set(await fetch_column(books, "SELECT object_id FROM events"))
    await tamper(books, "UPDATE payments SET amount = 1 WHERE reference = 'pending'")
    assert await accuse(books) == {"event_body"}


async def test_what_a_sandbox_never_paid_goes_with_its_events(books: str) -> None:
    await remove_all(books)
    left = "SELECT reference FROM {} WHERE reference LIKE 'try %' ORDER BY 1"
    assert await fetch_column(books, left.format("payments")) == ["try paid"]
    assert await fetch_column(books, left.format("payment_requests")) == []
    assert await fetch_column(books, left.format("authorizations")) == ["try used"]
    assert await fetch_column(books, left.format("reference_claims")) == ["try paid"]


async def test_a_payment_somebody_works_on_stays_with_its_events(books: str) -> None:
    payment = await fetchval(books, "SELECT id FROM payments WHERE reference = 'try forgotten'")
    async with connection_to(books) as connection, connection.transaction():
        await connection.execute("SELECT FROM payments WHERE id = $1 FOR NO KEY UPDATE", payment)
        await remove(books, SANDBOX_EVENTS)
    assert await fetchval(books, "SELECT count(*) FROM payments WHERE id = $1", payment) == 1
    assert await fetchval(books, "SELECT count(*) FROM events WHERE object_id = $1", payment) == 1
    await prove(books)


async def test_the_books_are_proven_between_all_steps(books: str) -> None:
    steps = 0
    async with connection_to(books) as connection:
        for name in ALL:
            more = True
            while more:
                async with connection.transaction():
                    _, more = await remove_next(connection, KEY, name, FOREVER, 30)
                report = await audit(connection, KEY)
                assert report.differences == []
                steps += 1
    assert steps > 10
    assert set(report.removed) == set(ALL)


async def end_deliveries(dsn: str) -> int:
    """Every event was sent once and refused, long ago."""
    async with connection_to(dsn) as connection:
        await connection.execute(
            "INSERT INTO deliveries (event_id, tenant_id) SELECT id, tenant_id FROM events "
            "ON CONFLICT DO NOTHING; DELETE FROM delivery_attempts; "
            "UPDATE deliveries SET status = 'failed', delivered_at = NULL, failed_attempts = 1, "
            "claims = 1, next_attempt_at = now() - interval '1 day'; "
            "INSERT INTO delivery_attempts SELECT event_id, 1, now(), 5, 'https://a.example', 500 "
            "FROM deliveries"
        )
        count: int = await connection.fetchval("SELECT count(*) FROM deliveries")
    return count


async def test_deliveries_of_one_seal_go_in_several_steps(dsn: str) -> None:
    await write_books(dsn)
    count = await end_deliveries(dsn)
    [_] = [seal for seal in await seal_all(dsn, 10_000) if seal.subject == "events"]
    removed = []
    async with connection_to(dsn) as connection:
        more = True
        while more:
            async with connection.transaction():
                rows, more = await remove_next(connection, KEY, DELIVERIES, FOREVER, 4)
            removed.append(rows)
            assert (await audit(connection, KEY)).differences == []
            left = await connection.fetchval("SELECT count(*) FROM delivery_attempts")
            assert left == count - sum(removed)
    assert max(removed) <= 4
    assert sum(removed) == count > 30


async def test_deliveries_that_are_missing_stop_the_others(dsn: str) -> None:
    await write_books(dsn)
    await end_deliveries(dsn)
    await seal_all(dsn)
    await remove(dsn, DELIVERIES, await fetchval(dsn, "SELECT min(sealed_at) FROM seals"))
    await tamper(
        dsn,
        "DELETE FROM delivery_attempts WHERE event_id = (SELECT max(event_id::text)::uuid FROM "
        "deliveries); DELETE FROM deliveries d WHERE NOT EXISTS "
        "(SELECT FROM delivery_attempts a WHERE a.event_id = d.event_id)",
    )
    with pytest.raises(TamperedError):
        await remove(dsn, DELIVERIES)
    assert await accuse(dsn) == {"sealed_deliveries"}


async def test_a_crash_in_a_step_leaves_nothing_of_it(books: str) -> None:
    before = await fetchval(books, "SELECT count(*) FROM events")
    async with connection_to(books) as connection:
        half = connection.transaction()
        await half.start()
        assert (await remove_next(connection, KEY, SANDBOX_EVENTS, FOREVER)).rows > 0
        connection.terminate()
    assert await fetchval(books, "SELECT count(*) FROM events") == before
    await prove(books)
    assert await remove(books, SANDBOX_EVENTS) > 0
    await prove(books)


async def test_two_that_remove_at_once_do_it_once(books: str) -> None:
    async def work() -> None:
        async with connection_to(books) as connection:
            for name in (SANDBOX_EVENTS, OLD_EVENTS) * 20:
                async with connection.transaction():
                    await remove_next(connection, KEY, name, FOREVER, 10)

    async def seal() -> None:
        for _ in range(20):
            await seal_all(books)

    await asyncio.gather(work(), work(), seal())
    await remove_all(books)
    await prove(books)


async def test_what_came_later_is_sealed_and_removed_in_turn(books: str) -> None:
    await remove_all(books)
    async with connection_to(books) as connection:
        shop = await connection.fetchval("SELECT id FROM merchants WHERE name = 'Shop'")
        live = await tenants.of_merchant(connection, shop, "live")
    runner = BatchRunner(books, ORIGIN)
    [made] = await runner.run([rules.CreatePayment(live, rules.PaymentDraft("new", 100))], 1)
    await prove(books)
    await seal_all(books)
    await prove(books)
    await remove_all(books)
    await runner.run([rules.CancelPayment(live, made.id)], 1)
    await seal_all(books)
    await prove(books)
    await remove_all(books)
    assert await fetchval(books, "SELECT count(*) FROM events WHERE object_id = $1", made.id) == 1
    await prove(books)  # the event of the time when it was open has outlived its removal


async def test_a_large_transaction_is_removed_in_pieces(dsn: str) -> None:
    """As the rows of a database from before the chain are: one transaction wrote them all."""
    await write_books(dsn)
    await tamper(
        dsn,
        "UPDATE transfers SET xid = 9; UPDATE transactions SET xid = 9; "
        "UPDATE events SET xid = 9; UPDATE figures_upto SET xid = 0",
    )
    pieces = [seal for seal in await seal_all(dsn, 7) if seal.upto_key is not None]
    assert len(pieces) > 6
    async with connection_to(dsn) as connection:
        for name in (SANDBOX_EVENTS, OLD_EVENTS, SANDBOX_FAILED, OLD_FAILED):
            more = True
            while more:
                async with connection.transaction():
                    _, more = await remove_next(connection, KEY, name, FOREVER, 30)
                assert (await audit(connection, KEY)).differences == []
    assert await fetchval(dsn, f"{EVENTS} WHERE type = 'payment.paid'") == 0
    assert await fetchval(dsn, FAILED) == 0
