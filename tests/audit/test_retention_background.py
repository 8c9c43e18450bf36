"""Removing beside the service: deliveries that go on, the background process, its settings."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from laari.rules.payments import ExpirePayment
from laari.settings import read_settings
from laari.store import deliveries, events, expunge, tenants
from laari.store.batch import BatchRunner
from laari.store.database import connection_to
from laari.store.expunge import SentAgainError
from laari.store.listing import Window, page
from laari.store.retention import remove_next
from laari.store.retired import (
    DELIVERIES,
    OLD_EVENTS,
    OLD_FAILED,
    SANDBOX_EVENTS,
    SANDBOX_FAILED,
)
from laari.workers.retention import Remover, ages
from tests.audit.aging import (
    EVENTS,
    FOREVER,
    fetch_column,
    fetchrow,
    fetchval,
    prove,
    remove,
    remove_all,
    tamper,
)
from tests.audit.books import KEY, MASTER_KEY, ORIGIN, pool_of


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


async def test_the_background_removes_by_the_clock_of_the_server(
    books: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shop's sandbox is months ahead, which makes nothing older."""
    kinds = ages(read_settings({"LAARI_RETENTION_SANDBOX_DAYS": "7"}))
    before = await fetchval(books, "SELECT count(*) FROM events")
    async with pool_of(books) as pool:
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
    async with pool_of(books) as pool:
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


async def test_a_payment_that_expires_while_it_is_removed_stays_with_its_event(
    books: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its expiry is committed after the look at it began, and before it is locked."""
    payment, tenant_id = await fetchrow(
        books, "SELECT id, tenant_id FROM payments WHERE reference = 'try forgotten'"
    )
    async with connection_to(books) as connection:
        tenant = (await tenants.by_id(connection, [tenant_id]))[tenant_id]
    slowly = f"({expunge._PAYMENT_OVER}) AND (o.id <> '{payment}' OR pg_sleep(1) IS NOT NULL)"
    monkeypatch.setattr(expunge, "_PAYMENT_OVER", slowly)
    runner = BatchRunner(books, ORIGIN)
    removing = asyncio.create_task(remove(books, SANDBOX_EVENTS, most=100_000))
    await asyncio.sleep(0.5)
    [expired] = await runner.run([ExpirePayment(tenant, payment)], 5.0)
    await removing
    await runner.close()
    assert expired.status == "expired"
    assert await fetchval(books, "SELECT status FROM payments WHERE id = $1", payment) == "expired"
    await prove(books)
