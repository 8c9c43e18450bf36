"""What stays when old rows are removed, and what has to go with them."""

from __future__ import annotations

from laari.store.retired import DELIVERIES, SANDBOX_EVENTS
from tests.audit.aging import fetch_column, fetchval, remove, tamper

_SAVED = "SELECT key FROM saved_responses WHERE key LIKE 'try-%'"
FORGOTTEN = "SELECT id FROM payments WHERE reference = 'try forgotten'"


async def test_a_payment_that_is_being_paid_stays_with_its_events(books: str) -> None:
    payment = await fetchval(books, FORGOTTEN)
    await tamper(
        books,
        "UPDATE payments SET reserved_at = created_at, reserved_by = "
        "(SELECT min(account) FROM wallets) WHERE reference = 'try forgotten'",
    )
    await remove(books, SANDBOX_EVENTS)
    assert await fetchval(books, FORGOTTEN) == payment
    assert await fetchval(books, "SELECT count(*) FROM events WHERE object_id = $1", payment) == 1


async def test_the_saved_responses_of_a_removed_payment_go_with_it(books: str) -> None:
    """A replay would show a payment that does not exist; those of others are still owed."""
    await tamper(
        books,
        "INSERT INTO saved_responses (tenant_id, operation, key, fingerprint, status, body, "
        "completed_at, resource_id) SELECT tenant_id, 'create_payment', "
        "replace(reference, ' ', '-'), sha256(''), 201, '{}', now(), id FROM payments "
        "WHERE reference IN ('try forgotten', 'try paid')",
    )
    await remove(books, SANDBOX_EVENTS)
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
    assert await remove(books, DELIVERIES) == 0
    assert (await fetchval(books, ended), await fetchval(books, attempts)) == before


async def test_a_delivery_that_ended_an_hour_ago_goes(books: str) -> None:
    await tamper(books, _ENDED.format("61 minutes"))
    assert await remove(books, DELIVERIES) > 0
    assert await fetchval(books, "SELECT count(*) FROM delivery_attempts") == 0


async def test_an_event_whose_delivery_ended_less_than_an_hour_ago_stays(books: str) -> None:
    await tamper(
        books,
        "INSERT INTO deliveries (event_id, tenant_id, status, failed_attempts, next_attempt_at) "
        "SELECT id, tenant_id, 'failed', 1, now() - interval '59 minutes' FROM events "
        f"WHERE object_id = ({FORGOTTEN})",
    )
    payment = await fetchval(books, FORGOTTEN)
    await remove(books, SANDBOX_EVENTS)
    assert await fetchval(books, "SELECT count(*) FROM events WHERE object_id = $1", payment) == 1
