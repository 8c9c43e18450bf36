"""Nobody without the key passes off a deletion as one for its age."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from laari.rules import payments as rules
from laari.store import tenants
from laari.store.batch import BatchRunner
from laari.store.database import connection_to
from laari.store.retention import TamperedError
from laari.store.retired import (
    DELIVERIES,
    OLD_EVENTS,
    SANDBOX_EVENTS,
)
from tests.audit.aging import (
    accuse,
    prove,
    remove,
    remove_all,
    tamper,
)
from tests.audit.books import ORIGIN

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
