"""Old deliveries and what sandboxes tried are purged, and the books still prove what is left."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from laari.rules.payments.payments import ExpirePayment
from laari.settings import SettingsError, read_settings
from laari.store.audit import chain
from laari.store.batch.runner import BatchRunner
from laari.store.counters import purge
from laari.store.counters.purge import MOST, SandboxTenant, SentAgainError, purge_sandbox_events
from laari.store.outbox import deliveries
from laari.store.postgres.pool import connection_to
from laari.store.reads import events, tenants
from laari.store.reads.listing import Window, page
from laari.workers.purging import SandboxPurger, purge_ended
from tests.actors import change
from tests.audit.aging import (
    EVENTS,
    FAILED,
    FOREVER,
    accuse,
    fetch_column,
    fetchrow,
    fetchval,
    ledger,
    prove,
    purge_old_deliveries,
    purge_sandboxes,
    tamper,
)
from tests.audit.books import ORIGIN, pool_of

pytestmark = pytest.mark.ci

ENDED = "SELECT count(*) FROM deliveries WHERE status <> 'pending'"
WAITING = "SELECT count(*) FROM deliveries WHERE status = 'pending'"


async def test_ended_deliveries_go_with_their_attempts(books: str) -> None:
    waiting = await fetchval(books, WAITING)
    assert await fetchval(books, ENDED) > 1
    assert await purge_old_deliveries(books, datetime.now(UTC) - timedelta(minutes=10)) == 0
    assert await purge_old_deliveries(books) > 1
    assert (await fetchval(books, ENDED), await fetchval(books, WAITING)) == (0, waiting)
    assert await fetchval(books, "SELECT count(*) FROM delivery_attempts") == 0


@pytest.mark.parametrize("are_kept", [True, False])
async def test_the_audit_misses_deliveries_that_cannot_have_been_purged(
    books: str, are_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not are_kept:
        monkeypatch.setattr(chain, "DELIVERIES_KEPT", timedelta(days=-1))
    await tamper(books, "DELETE FROM delivery_attempts; DELETE FROM deliveries")
    assert ("sealed_deliveries" in await accuse(books)) == are_kept


async def test_each_sandbox_row_goes_at_its_age_and_nothing_live(books: str) -> None:
    going = (
        f"{EVENTS} WHERE t.mode = 'sandbox' AND type = 'payment.cancelled'",
        f"{FAILED} AND mode = 'sandbox'",
    )
    staying = (f"{EVENTS} WHERE t.mode = 'live'", f"{FAILED} AND mode = 'live'")
    before = [await fetchval(books, query) for query in (*going, *staying)]
    assert min(before) > 0
    await purge_sandboxes(books, datetime.now(UTC) - timedelta(minutes=10))
    assert [await fetchval(books, query) for query in (*going, *staying)] == before
    await purge_sandboxes(books)
    assert [await fetchval(books, query) for query in (*going, *staying)] == [0, 0, *before[2:]]
    await prove(books)


async def test_what_the_ledger_needs_is_never_purged(books: str) -> None:
    before = await ledger(books)
    await purge_sandboxes(books)
    assert await ledger(books) == before
    await prove(books)


async def test_the_events_of_what_is_open_stay(books: str) -> None:
    """A pending payment can still be held against what was told of it."""
    await purge_sandboxes(books)
    for query in (
        "SELECT id FROM payments WHERE status = 'pending'",
        "SELECT id FROM payment_requests WHERE status = 'pending'",
        "SELECT id FROM authorizations WHERE status IN ('pending', 'active', 'suspended')",
    ):
        found = set(await fetch_column(books, query))
        assert found
        assert found <= set(await fetch_column(books, "SELECT object_id FROM events"))


async def test_what_a_sandbox_never_paid_goes_with_its_events(books: str) -> None:
    await purge_sandboxes(books)
    left = "SELECT reference FROM {} WHERE reference LIKE 'try %' ORDER BY 1"
    assert await fetch_column(books, left.format("payments")) == ["try paid"]
    assert await fetch_column(books, left.format("payment_requests")) == []
    assert await fetch_column(books, left.format("authorizations")) == ["try used"]
    assert await fetch_column(books, left.format("reference_claims")) == ["try paid"]


async def test_a_live_event_is_missed_whatever_is_purged(books: str) -> None:
    await purge_sandboxes(books)
    await tamper(
        books,
        "DELETE FROM events e USING tenants t WHERE t.id = e.tenant_id "
        "AND t.mode = 'live' AND type = 'payment.paid'",
    )
    assert {"sealed_rows", "payment_event"} <= await accuse(books)


async def test_a_payment_somebody_works_on_stays_with_its_events(books: str) -> None:
    payment = await fetchval(books, "SELECT id FROM payments WHERE reference = 'try forgotten'")
    async with connection_to(books) as connection, connection.transaction():
        await connection.execute("SELECT FROM payments WHERE id = $1 FOR NO KEY UPDATE", payment)
        await purge_sandboxes(books)
    assert await fetchval(books, "SELECT count(*) FROM payments WHERE id = $1", payment) == 1
    assert await fetchval(books, "SELECT count(*) FROM events WHERE object_id = $1", payment) == 1
    await prove(books)


async def sandbox_of(dsn: str) -> SandboxTenant:
    """The shop's, in which something was tried."""
    return SandboxTenant(
        *await fetchrow(
            dsn,
            "SELECT t.id, m.sandbox_account FROM tenants t JOIN merchants m "
            "ON m.id = t.merchant_id WHERE m.name = 'Shop' AND t.mode = 'sandbox'",
        )
    )


async def sandbox_event(dsn: str) -> Any:
    """One that can be sent again: its shop has a receiver."""
    async with connection_to(dsn) as connection:
        await change(connection, "UPDATE merchants SET webhook_url = 'https://shop.example/hook'")
    return await fetchval(
        dsn,
        "SELECT id FROM events WHERE tenant_id = $1 AND type = 'payment.cancelled' LIMIT 1",
        (await sandbox_of(dsn)).tenant_id,
    )


async def test_an_old_event_that_is_sent_again_is_left_until_that_is_over(books: str) -> None:
    event = await sandbox_event(books)
    async with connection_to(books) as connection:
        await deliveries.resend(connection, event)
    await purge_sandboxes(books)
    async with connection_to(books) as connection:
        assert await events.by_id(connection, [event])
    await prove(books)


async def test_sending_again_and_purging_at_once(books: str) -> None:
    """Whoever comes first: no delivery is left without its event."""
    event, sandbox = await sandbox_event(books), await sandbox_of(books)
    async with connection_to(books) as purger, connection_to(books) as sender:
        held = purger.transaction()
        await held.start()
        await purge_sandbox_events(purger, sandbox, FOREVER)
        resent = asyncio.create_task(deliveries.resend(sender, event))
        await asyncio.sleep(0.2)
        assert not resent.done()
        await held.commit()
        assert await resent == deliveries.NO_EVENT
    await prove(books)


async def test_an_event_that_was_sent_again_meanwhile_undoes_the_step(
    books: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    event, sandbox = await sandbox_event(books), await sandbox_of(books)

    async def resend_then_look(connection: Any, objects: Any) -> set[Any]:
        async with connection_to(books) as other:
            assert await deliveries.resend(other, event) is None
        return set()

    monkeypatch.setattr(purge, "_open", resend_then_look)
    async with connection_to(books) as connection:
        with pytest.raises(SentAgainError):
            async with connection.transaction():
                await purge_sandbox_events(connection, sandbox, FOREVER)
    await prove(books)


async def test_an_event_without_its_delivery_is_not_called_undelivered(books: str) -> None:
    """A merchant who asks what no webhook brought would take it for new."""
    sent, waiting = await fetch_column(
        books, "SELECT tenant_id FROM deliveries GROUP BY 1 ORDER BY bool_or(status = 'pending')"
    )
    await tamper(books, "INSERT INTO installation (master_key_check) VALUES (sha256(''))")

    async def listed(tenant_id: int, delivered: bool) -> set[Any]:
        async with connection_to(books) as connection:
            listing = events.of_tenant(tenant_id, Window(limit=100), delivered=delivered)
            return {event.id for event in (await page(connection, listing)).rows}

    assert await listed(sent, True)
    assert await listed(sent, False)  # one failed
    pending = await listed(waiting, False)
    assert pending
    await purge_old_deliveries(books)
    assert await listed(sent, True) == set()
    assert await listed(sent, False) == set()
    assert await listed(waiting, False) == pending


async def test_the_background_purges_by_the_clock_of_the_server(books: str) -> None:
    """The shop's sandbox is months ahead, which makes nothing older."""
    before = await fetchval(books, "SELECT count(*) FROM events")
    async with pool_of(books) as pool:
        for age, is_less in ((timedelta(days=7), False), (timedelta(seconds=-60), True)):
            sandbox_purger = SandboxPurger(pool, age)
            while await sandbox_purger.step():
                pass
            assert (await fetchval(books, "SELECT count(*) FROM events") < before) == is_less
            assert not await purge_ended(pool, "deliveries", age)
            assert (await fetchval(books, ENDED) == 0) == is_less
    await prove_rows(books)


async def prove_rows(dsn: str) -> None:
    assert await accuse(dsn) <= {"sealed_deliveries"}  # they were purged too soon


def test_deliveries_are_kept_for_a_week() -> None:
    name = "LAARI_RETENTION_DELIVERIES_DAYS"
    assert read_settings({name: "7"}).retention_deliveries_days == purge.DELIVERIES_KEPT.days
    with pytest.raises(SettingsError, match="from 7 to"):
        read_settings({name: "6"})


async def test_a_payment_that_expires_while_it_is_purged_stays_with_its_event(
    books: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its expiry is committed after the look at it began, and before it is locked."""
    payment, tenant_id = await fetchrow(
        books, "SELECT id, tenant_id FROM payments WHERE reference = 'try forgotten'"
    )
    async with connection_to(books) as connection:
        tenant = (await tenants.by_id(connection, [tenant_id]))[tenant_id]
    slowly = f"({purge._OVER['payments']}) AND (o.id <> '{payment}' OR pg_sleep(1) IS NOT NULL)"
    monkeypatch.setitem(purge._OVER, "payments", slowly)
    runner = BatchRunner(books, ORIGIN)
    purging = asyncio.create_task(purge_sandboxes(books, most=MOST))
    await asyncio.sleep(0.5)
    [expired] = await runner.run([ExpirePayment(tenant, payment)], 5.0)
    await purging
    await runner.close()
    assert expired.status == "expired"
    assert await fetchval(books, "SELECT status FROM payments WHERE id = $1", payment) == "expired"
    await prove(books)


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


_SAVED = "SELECT key FROM saved_responses WHERE key LIKE 'try-%'"
FORGOTTEN = "SELECT id FROM payments WHERE reference = 'try forgotten'"


async def test_a_payment_that_is_being_paid_stays_with_its_events(books: str) -> None:
    payment = await fetchval(books, FORGOTTEN)
    await tamper(
        books,
        "UPDATE payments SET reserved_at = created_at, reserved_by = "
        "(SELECT min(account) FROM wallets) WHERE reference = 'try forgotten'",
    )
    await purge_sandboxes(books)
    assert await fetchval(books, FORGOTTEN) == payment
    assert await fetchval(books, "SELECT count(*) FROM events WHERE object_id = $1", payment) == 1


async def test_the_saved_responses_of_a_purged_payment_go_with_it(books: str) -> None:
    """A replay would show a payment that does not exist; those of others are still owed."""
    await tamper(
        books,
        "INSERT INTO saved_responses (tenant_id, operation, key, fingerprint, status, code, body, "
        "completed_at, resource_id) SELECT tenant_id, 'create_payment', "
        "replace(reference, ' ', '-'), sha256(''), 201, '', '{}', now(), id FROM payments "
        "WHERE reference IN ('try forgotten', 'try paid')",
    )
    await purge_sandboxes(books)
    assert await fetchval(books, FORGOTTEN) is None
    assert await fetch_column(books, _SAVED) == ["try-paid"]


# A late answer is recorded within an hour of the attempt; then nothing more is to come.
_ENDED = "UPDATE deliveries SET next_attempt_at = now() - interval '{}' WHERE status <> 'pending'"


async def test_a_delivery_that_ended_less_than_an_hour_ago_stays(books: str) -> None:
    ended = "SELECT count(*) FROM deliveries WHERE status <> 'pending'"
    attempts = "SELECT count(*) FROM delivery_attempts"
    before = await fetchval(books, ended), await fetchval(books, attempts)
    assert min(before) > 0
    await tamper(books, _ENDED.format("59 minutes"))
    assert await purge_old_deliveries(books) == 0
    assert (await fetchval(books, ended), await fetchval(books, attempts)) == before


async def test_a_delivery_that_ended_an_hour_ago_goes(books: str) -> None:
    await tamper(books, _ENDED.format("61 minutes"))
    assert await purge_old_deliveries(books) > 0
    assert await fetchval(books, "SELECT count(*) FROM delivery_attempts") == 0


async def test_an_event_whose_delivery_ended_less_than_an_hour_ago_stays(books: str) -> None:
    await tamper(
        books,
        "INSERT INTO deliveries (event_id, tenant_id, status, failed_attempts, next_attempt_at) "
        "SELECT id, tenant_id, 'failed', 1, now() - interval '59 minutes' FROM events "
        f"WHERE object_id = ({FORGOTTEN})",
    )
    payment = await fetchval(books, FORGOTTEN)
    await purge_sandboxes(books)
    assert await fetchval(books, "SELECT count(*) FROM events WHERE object_id = $1", payment) == 1
