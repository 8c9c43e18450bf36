"""What has reached its age is removed, and the books still prove what is left of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from laari.rules import authorizations, payment_requests
from laari.rules import payments as rules
from laari.rules.actors import Payer
from laari.settings import read_settings
from laari.store import deliveries, events, tenants
from laari.store.audit import Report, audit
from laari.store.batch import BatchRunner
from laari.store.database import Pool, connection_to, open_pool
from laari.store.expunge import SentAgainError
from laari.store.listing import Window, page
from laari.store.retention import TamperedError, remove_next
from laari.store.retired import (
    DELIVERIES,
    OLD_EVENTS,
    OLD_FAILED,
    SANDBOX_EVENTS,
    SANDBOX_FAILED,
)
from laari.workers.retention import Remover, ages
from tests.audit.books import KEY, MASTER_KEY, ORIGIN, seal_all, write_books, write_more

ALL = (DELIVERIES, SANDBOX_EVENTS, OLD_EVENTS, SANDBOX_FAILED, OLD_FAILED)
FOREVER = datetime(2999, 1, 1, tzinfo=UTC)  # everything was sealed by then
EVENTS = "SELECT count(*) FROM events e JOIN tenants t ON t.id = e.tenant_id"
FAILED = "SELECT count(*) FROM transactions JOIN wallets USING (account) WHERE status = 'failed'"


async def fetchval(dsn: str, query: str, *values: object) -> Any:
    async with connection_to(dsn) as connection:
        return await connection.fetchval(query, *values)


async def tamper(dsn: str, statement: str) -> None:
    async with connection_to(dsn) as connection:
        await connection.execute(f"SET session_replication_role = replica; {statement}")


async def prove(dsn: str) -> Report:
    """The whole audit and the one of what is new find nothing."""
    async with connection_to(dsn) as connection:
        for since_seal in (True, False):
            report = await audit(connection, KEY, since_seal=since_seal)
            assert report.differences == []
    return report


async def accuse(dsn: str, *, since_seal: bool = False) -> set[str]:
    async with connection_to(dsn) as connection:
        report = await audit(connection, KEY, since_seal=since_seal)
    return set(report.counts)


async def remove(dsn: str, name: str, sealed_by: datetime = FOREVER, most: int = 10) -> int:
    """All that this kind of removal takes, in small steps."""
    total = 0
    async with connection_to(dsn) as connection:
        while True:
            async with connection.transaction():
                rows, more = await remove_next(connection, KEY, name, sealed_by, most)
            total += rows
            if not more:
                return total


async def remove_all(dsn: str) -> None:
    for name in ALL:
        await remove(dsn, name)


@pytest.fixture
async def books(dsn: str) -> str:
    """Something of everything, sealed, with deliveries that ended long ago."""
    await write_books(dsn)
    await write_more(dsn)
    await try_in_sandbox(dsn)
    async with connection_to(dsn) as connection:
        await connection.execute(
            "UPDATE deliveries SET next_attempt_at = now() - interval '2 hours' "
            "WHERE status <> 'pending'"
        )
    await seal_all(dsn)
    return dsn


async def try_in_sandbox(dsn: str) -> None:
    """What the sandbox of the shop never paid, in every state; its clock is months ahead."""
    async with connection_to(dsn) as connection:
        shop = await connection.fetchval("SELECT id FROM merchants WHERE name = 'Shop'")
        await connection.execute(
            "UPDATE tenants SET clock_offset_seconds = 2592000 "
            "WHERE merchant_id = $1 AND mode = 'sandbox'",
            shop,
        )
        tenant = await tenants.of_merchant(connection, shop, "sandbox")
    runner = BatchRunner(dsn, ORIGIN)
    own = Payer(tenant.sandbox_account, "sandbox")

    async def run(command: Any) -> Any:
        [outcome] = await runner.run([command], 1.0)
        return outcome

    made = {}
    for name in ("forgotten", "cancelled", "rejected", "expired", "paid", "dear"):
        draft = rules.PaymentDraft(f"try {name}", 90_000_000 if name == "dear" else 100)
        made[name] = (await run(rules.CreatePayment(tenant, draft))).id
    await run(rules.CancelPayment(tenant, made["cancelled"]))
    await run(rules.RejectPayment(tenant, made["rejected"], own))
    later = replace(tenant, clock_offset_seconds=tenant.clock_offset_seconds + 9_000_000)
    await run(rules.ExpirePayment(later, made["expired"]))
    await run(rules.PayPayment(tenant, made["paid"], own))
    await run(rules.PayPayment(tenant, made["dear"], own))  # leaves a failed line
    ask = payment_requests.RequestDraft("try ask", 100, "vpa", "sandbox")
    asked = await run(payment_requests.CreateRequest(tenant, ask, True))
    await run(payment_requests.CancelRequest(tenant, asked.id))
    for name in ("refused", "used"):
        allowed = authorizations.AuthorizationDraft(f"try {name}", "Box", total=500)
        made[name] = (await run(authorizations.CreateAuthorization(tenant, allowed))).id
    await run(authorizations.RejectAuthorization(tenant, made["refused"], own))
    await run(authorizations.ApproveAuthorization(tenant, made["used"], own))
    await runner.close()
    async with connection_to(dsn) as connection:
        await connection.execute(
            "UPDATE tenants SET clock_offset_seconds = 10 * clock_offset_seconds WHERE id = $1",
            tenant.id,
        )


LEDGER = ("transfers", "wallets", "customers", "merchants", "topup_slips", "tenants")


async def ledger(dsn: str) -> dict[str, Any]:
    """What may never change, whatever is removed."""
    found = {}
    async with connection_to(dsn) as connection:
        for table in LEDGER:
            found[table] = await connection.fetch(f"SELECT * FROM {table} ORDER BY 1")
        for table, condition in (
            ("transactions", "status = 'success'"),
            ("payments", "status IN ('paid', 'refunded')"),
            ("payment_requests", "status IN ('paid', 'refunded', 'pending')"),
            ("authorizations", "approved_at IS NOT NULL"),
            ("payments", "tenant_id IN (SELECT id FROM tenants WHERE mode = 'live')"),
            ("authorizations", "tenant_id IN (SELECT id FROM tenants WHERE mode = 'live')"),
        ):
            query = f"SELECT * FROM {table} WHERE {condition} ORDER BY 1"
            found[f"{table} {condition}"] = await connection.fetch(query)
    return found


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


async def fetch_column(dsn: str, query: str, *values: object) -> list[Any]:
    async with connection_to(dsn) as connection:
        return [row[0] for row in await connection.fetch(query, *values)]


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


# What somebody without the key does before or after an honest removal, and what names it.
AFTERWARDS = [
    ("DELETE FROM events WHERE type = 'authorization.created'", "sealed_rows"),
    (
        "INSERT INTO events (id, tenant_id, type, object_id, created_at, body, xid) "
        "SELECT gen_random_uuid(), tenant_id, 'webhook.test', gen_random_uuid(), created_at, '', "
        "(SELECT min(upto_xid) FROM seals WHERE subject = 'events') FROM events LIMIT 1",
        "sealed_rows",
    ),
    ("DELETE FROM seals WHERE subject = 'sandbox events'", "seal_chain"),
    (
        "UPDATE seals SET row_count = 0, content = sha256('') WHERE subject = 'old events' AND "
        "row_count > 0",
        "seal_mac",
    ),
    ("UPDATE transactions SET amount = amount + 1 WHERE status = 'success'", "sealed_rows"),
    ("DELETE FROM transactions WHERE status = 'success' AND type = 'topup'", "sealed_rows"),
]


@pytest.mark.parametrize(
    ("statement", "kind"), AFTERWARDS, ids=[each[0][:60] for each in AFTERWARDS]
)
async def test_what_a_removal_has_left_is_as_well_sealed_as_before(
    books: str, statement: str, kind: str
) -> None:
    await remove_all(books)
    await tamper(books, statement)
    assert kind in await accuse(books)


async def test_what_is_not_as_it_was_sealed_stays_for_the_audit(books: str) -> None:
    """Else waiting for its age would be a way to have a change forgotten."""
    await tamper(books, "UPDATE events SET body = body || ' ' WHERE type = 'payment.paid'")
    for name in (SANDBOX_EVENTS, DELIVERIES):
        with pytest.raises(TamperedError):
            await remove(books, name)
    assert "sealed_rows" in await accuse(books)


@pytest.mark.parametrize(
    "change",
    ["sealed_at = sealed_at - interval '1 year'", "deliveries = 0, row_count = row_count"],
    ids=["older", "fewer deliveries"],
)
async def test_a_seal_that_was_changed_lets_nothing_go(books: str, change: str) -> None:
    await tamper(books, f"UPDATE seals SET {change} WHERE subject = 'events'")
    with pytest.raises(TamperedError):
        await remove(books, SANDBOX_EVENTS, most=100_000)


async def test_a_seal_made_older_lets_nothing_live_go(books: str) -> None:
    """The age is the seal's, and not that of the record which stands for it."""
    await remove(books, SANDBOX_EVENTS)
    await tamper(
        books,
        "UPDATE seals SET sealed_at = sealed_at - interval '9 years' WHERE subject = 'events'",
    )
    with pytest.raises(TamperedError):
        await remove(books, OLD_EVENTS, datetime.now(UTC) - timedelta(days=3650 - 400))


async def test_a_seal_made_newer_explains_no_missing_event(books: str) -> None:
    """Nor since the last seal: what is unsealed has only its payment to tell that it is gone."""
    await remove(books, SANDBOX_EVENTS)
    await remove(books, OLD_EVENTS)
    async with connection_to(books) as connection:
        shop = await connection.fetchval("SELECT id FROM merchants WHERE name = 'Shop'")
        live = await tenants.of_merchant(connection, shop, "live")
    runner = BatchRunner(books, ORIGIN)
    [made] = await runner.run([rules.CreatePayment(live, rules.PaymentDraft("newest", 100))], 1)
    await runner.run([rules.CancelPayment(live, made.id)], 1)
    await runner.close()
    await tamper(
        books,
        "UPDATE seals SET sealed_at = sealed_at + interval '9 years' WHERE number = "
        "(SELECT max(number) FROM seals WHERE subject = 'events'); "
        f"DELETE FROM events WHERE object_id = '{made.id}' AND type = 'payment.cancelled'",
    )
    assert {"seal_mac"} <= await accuse(books)
    assert {"seal_mac", "payment_event"} <= await accuse(books, since_seal=True)


async def test_a_forged_record_is_named_since_the_seal_too(books: str) -> None:
    forged = (
        "DELETE FROM events WHERE type = 'payment.paid'; INSERT INTO seals SELECT "
        "(SELECT max(number) + 1 FROM seals), '{}', 0, NULL, upto_xid, upto_key, 0, 0, "
        "sha256(''), now(), sha256('') FROM seals WHERE subject = 'events' "
        "ORDER BY number DESC LIMIT 1"
    )
    await tamper(books, f"{forged.format('sandbox events')}; {forged.format('old events')}")
    assert {"seal_mac", "sealed_rows", "payment_event"} <= await accuse(books)
    assert "seal_mac" in await accuse(books, since_seal=True)


async def test_nothing_is_removed_after_a_forged_record(books: str) -> None:
    await remove(books, SANDBOX_EVENTS)
    await tamper(
        books,
        "INSERT INTO seals SELECT (SELECT max(number) + 1 FROM seals), 'old events', 0, NULL, "
        "upto_xid, upto_key, 0, 0, sha256(''), now(), sha256('') FROM seals "
        "WHERE subject = 'sandbox events' ORDER BY number LIMIT 1",
    )
    with pytest.raises(TamperedError):
        await remove(books, OLD_EVENTS)


async def test_a_line_that_moved_money_cannot_be_deleted(books: str) -> None:
    async with connection_to(books) as connection:
        for statement in (
            "DELETE FROM transactions WHERE status = 'success'",
            "DELETE FROM transactions",
            "UPDATE transactions SET status = 'failed'",
            "TRUNCATE transactions",
        ):
            with pytest.raises(asyncpg.RestrictViolationError):
                await connection.execute(statement)
    await prove(books)


async def test_an_old_event_that_is_sent_again_is_left_until_that_is_over(books: str) -> None:
    event = await fetchval(
        books, "SELECT event_id FROM deliveries WHERE status = 'delivered' LIMIT 1"
    )
    async with connection_to(books) as connection:
        await deliveries.resend(connection, event)
    await remove_all(books)
    async with connection_to(books) as connection:
        assert await events.by_id(connection, [event])
        leased = await deliveries.lease(connection, {1: 99, 2: 99, 3: 99, 4: 99}, 60)
        assert event in {each.event_id for each in leased}
    await prove(books)


async def test_sending_again_and_removing_at_once(books: str) -> None:
    """Whoever comes first: no delivery is left without its event."""
    event = await fetchval(
        books, f"{EVENTS.replace('count(*)', 'e.id')} WHERE type = $1 LIMIT 1", "payment.cancelled"
    )
    async with connection_to(books) as remover, connection_to(books) as sender:
        held = remover.transaction()
        await held.start()
        for name in (SANDBOX_EVENTS, OLD_EVENTS):
            assert (await remove_next(remover, KEY, name, FOREVER, 100_000)).more
        resent = asyncio.create_task(deliveries.resend(sender, event))
        await asyncio.sleep(0.2)
        assert not resent.done()
        await held.commit()
        assert not await resent
    await prove(books)


async def test_an_event_that_was_sent_again_meanwhile_undoes_the_step(
    books: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = await fetchval(
        books,
        f"{EVENTS.replace('count(*)', 'e.id')} WHERE t.mode = 'sandbox' "
        "AND type = 'payment.cancelled' LIMIT 1",
    )

    async def resend_then_look(connection: Any, objects: Any) -> set[Any]:
        async with connection_to(books) as other:
            assert await deliveries.resend(other, event)
        return set()

    monkeypatch.setattr("laari.store.expunge._open", resend_then_look)
    async with connection_to(books) as connection:
        with pytest.raises(SentAgainError):
            async with connection.transaction():
                await remove_next(connection, KEY, SANDBOX_EVENTS, FOREVER, 100_000)
    await prove(books)


async def test_an_event_without_its_delivery_is_not_called_undelivered(books: str) -> None:
    """A merchant who asks what no webhook brought would take it for new."""
    sent, waiting = await fetch_column(
        books, "SELECT tenant_id FROM deliveries GROUP BY 1 ORDER BY bool_or(status = 'pending')"
    )

    async def listed(tenant_id: int, delivered: bool) -> set[Any]:
        async with connection_to(books) as connection:
            listing = events.of_tenant(tenant_id, Window(limit=100), delivered=delivered)
            return {event.id for event in (await page(connection, listing)).rows}

    assert await listed(sent, True)
    assert await listed(sent, False)  # one failed
    pending = await listed(waiting, False)
    assert pending
    await remove(books, DELIVERIES)
    assert await listed(sent, True) == set()
    assert await listed(sent, False) == set()
    assert await listed(waiting, False) == pending


@asynccontextmanager
async def _pool(dsn: str) -> AsyncIterator[Pool]:
    pool = await open_pool(dsn, 2)
    try:
        yield pool
    finally:
        await pool.close()


async def test_the_background_removes_by_the_clock_of_the_server(
    books: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shop's sandbox is months ahead, which makes nothing older."""
    kinds = ages(read_settings({"LAARI_RETENTION_SANDBOX_DAYS": "7"}))
    before = await fetchval(books, "SELECT count(*) FROM events")
    async with _pool(books) as pool:
        assert not await Remover(pool, MASTER_KEY, kinds).step()
        assert await fetchval(books, "SELECT count(*) FROM events") == before
        due = dict.fromkeys(kinds, timedelta(0))
        remover = Remover(pool, MASTER_KEY, due)
        while await remover.step():
            pass
    assert await fetchval(books, "SELECT count(*) FROM events") < before
    assert await fetchval(books, "SELECT count(*) FROM delivery_attempts") == 0
    await prove(books)


async def test_the_background_complains_once_of_what_was_tampered_with(
    books: str, caplog: pytest.LogCaptureFixture
) -> None:
    await tamper(books, "UPDATE events SET body = body || ' ' WHERE type = 'payment.paid'")
    async with _pool(books) as pool:
        remover = Remover(pool, MASTER_KEY, {SANDBOX_EVENTS: timedelta(0)})
        for _ in range(3):
            await remover.step()
    assert caplog.text.count("run `laari audit`") == 1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {DELIVERIES: 90}),
        ({"DELIVERIES": "0"}, {}),
        ({"DELIVERIES": "0", "SANDBOX": "30"}, {SANDBOX_EVENTS: 30, SANDBOX_FAILED: 30}),
        (
            {"DELIVERIES": "1", "EVENTS": "400", "FAILED": "20", "SANDBOX": "30"},
            {
                DELIVERIES: 1,
                SANDBOX_EVENTS: 30,
                OLD_EVENTS: 400,
                SANDBOX_FAILED: 20,
                OLD_FAILED: 20,
            },
        ),
        ({"DELIVERIES": "0", "EVENTS": "9"}, {SANDBOX_EVENTS: 9, OLD_EVENTS: 9}),
    ],
)
def test_ages(given: dict[str, str], expected: dict[str, int]) -> None:
    settings = read_settings({f"LAARI_RETENTION_{name}_DAYS": days for name, days in given.items()})
    assert ages(settings) == {name: timedelta(days=days) for name, days in expected.items()}
