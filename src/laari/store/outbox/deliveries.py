"""Deliveries of events: made with the event, leased by senders, kept with every attempt."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from asyncpg import Connection
from msgspec import Struct

from laari.rules.records.events import Event
from laari.rules.refusals import Refusal, refuse
from laari.store.reads.tenants import SIGNED_WITH
from laari.store.reads.webhook_states import GIVEN_UP, MOST_AT_ONCE
from laari.store.tables import EVENTS

CHANNEL = "laari_deliveries"  # notified when a delivery was made
NO_WEBHOOK = refuse("conflict", "Set a URL and turn on webhooks first.")
NO_EVENT = refuse("not_found", "There is no such event.")


def saving_events(parameter: int) -> tuple[str, str]:
    """The branches of a statement that saves events with their deliveries, and its last query.

    That query returns a row if there is anything to send.
    """
    columns = EVENTS.columns
    branches = f"""
        new AS ({EVENTS.given(parameter)}),
        kept AS (INSERT INTO events ({columns}) SELECT {columns} FROM new),
        made AS (
            INSERT INTO deliveries (event_id, tenant_id)
            SELECT id, tenant_id FROM new WHERE (
                SELECT m.webhooks_enabled AND m.webhook_url IS NOT NULL
                FROM tenants t JOIN merchants m ON m.id = t.merchant_id WHERE t.id = new.tenant_id
            )
            RETURNING 1
        )"""
    return branches, "SELECT 1 FROM made LIMIT 1"


# Here the senders are notified in the commit itself: a person waits for it, and it is rare.
_SAVE_EVENTS = f"WITH {saving_events(1)[0]} SELECT pg_notify('{CHANNEL}', '') FROM made LIMIT 1"

# Steps from tenant to tenant along the index: what one tenant has waiting is never walked through.
_DUE_TENANTS = """
WITH RECURSIVE waiting (tenant_id, next_attempt_at, place) AS (
    (SELECT tenant_id, next_attempt_at, 1 FROM deliveries
     WHERE status = 'pending' AND tenant_id > $1 ORDER BY tenant_id, next_attempt_at LIMIT 1)
    UNION ALL
    SELECT following.*, waiting.place + 1 FROM waiting CROSS JOIN LATERAL (
        SELECT tenant_id, next_attempt_at FROM deliveries
        WHERE status = 'pending' AND tenant_id > waiting.tenant_id
        ORDER BY tenant_id, next_attempt_at LIMIT 1
    ) AS following
    WHERE waiting.place < $2
)
SELECT tenant_id, next_attempt_at <= now() AS due FROM waiting ORDER BY tenant_id
"""

_LEASE = f"""
WITH due AS (
    SELECT d.event_id FROM unnest($1::bigint[], $2::bigint[]) AS room (tenant_id, size)
    CROSS JOIN LATERAL (
        SELECT event_id FROM deliveries
        WHERE status = 'pending' AND tenant_id = room.tenant_id AND next_attempt_at <= now()
        ORDER BY next_attempt_at LIMIT room.size FOR NO KEY UPDATE SKIP LOCKED
    ) AS d
), leased AS (
    UPDATE deliveries d SET leases = leases + 1, next_attempt_at = now() + $3 * interval '1 second'
    FROM due WHERE d.event_id = due.event_id
    RETURNING d.event_id, d.tenant_id, d.leases, d.failed_attempts
)
SELECT c.event_id, c.tenant_id, c.leases AS lease, c.failed_attempts, e.body,
       m.id AS merchant_id, CASE WHEN m.webhooks_enabled THEN m.webhook_url END AS url,
       {SIGNED_WITH} AS secret_encrypted
FROM leased c JOIN events e ON e.id = c.event_id
JOIN tenants t ON t.id = c.tenant_id JOIN merchants m ON m.id = t.merchant_id
ORDER BY c.event_id
"""

# A lease does not wait for the disk: a database that crashed may have forgotten it, but its holder
# still knows its number. No attempt is counted that is not kept.
_RECORD = """
WITH done (event_id, lease, started_at, duration_ms, url, http_status, error, answer,
           acknowledged, retry_seconds) AS (
    SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::timestamptz[], $4::bigint[], $5::text[],
                         $6::bigint[], $7::text[], $8::text[], $9::boolean[], $10::float8[])
), kept AS (
    INSERT INTO delivery_attempts
        (event_id, lease, started_at, duration_ms, url, http_status, error, answer)
    SELECT event_id, lease, started_at, duration_ms, url, http_status, error, answer FROM done
    ON CONFLICT DO NOTHING
    RETURNING event_id, lease
)
UPDATE deliveries d SET
    status = CASE WHEN acknowledged THEN 'delivered'
                  WHEN retry_seconds IS NULL THEN 'failed' ELSE 'pending' END,
    failed_attempts = failed_attempts + CASE WHEN acknowledged THEN 0 ELSE 1 END,
    leases = greatest(leases, done.lease),
    next_attempt_at = now() + coalesce(retry_seconds, 0) * interval '1 second',
    delivered_at = CASE WHEN acknowledged THEN now() END
FROM done
WHERE d.event_id = done.event_id AND CASE
    WHEN acknowledged THEN d.status <> 'delivered'
    ELSE d.status = 'pending' AND d.leases <= done.lease AND EXISTS (
        SELECT FROM kept WHERE kept.event_id = done.event_id AND kept.lease = done.lease) END
RETURNING d.tenant_id, d.status = 'failed' AS given_up
"""


class LeasedDelivery(Struct, frozen=True):
    """A delivery to attempt now, with the merchant's settings as they are now."""

    event_id: UUID
    tenant_id: int
    lease: int  # its number: `leases` of the row when it was leased
    failed_attempts: int
    body: bytes
    merchant_id: str
    url: str | None  # None if webhooks were switched off since
    secret_encrypted: bytes


class Attempt(Struct, frozen=True):
    event_id: UUID
    lease: int
    started_at: datetime
    duration_ms: int
    url: str
    http_status: int | None
    error: str | None
    answer: str | None
    acknowledged: bool
    retry_seconds: float | None  # until the next attempt; None if there is none


# Sends an event again as if it were new.
_AFRESH = (
    "status = 'pending', failed_attempts = 0, leases = deliveries.leases + 1, "
    "next_attempt_at = now(), delivered_at = NULL"
)


async def save_events(connection: Connection, events: Sequence[Event]) -> None:
    """Saves the events and their deliveries in the caller's transaction."""
    await connection.execute(_SAVE_EVENTS, EVENTS.encode(events))


async def due_tenants(connection: Connection, after: int, count: int) -> tuple[list[int], int]:
    """Tenants with due deliveries, and where the next look begins: 0 is the start."""
    rows = await connection.fetch(_DUE_TENANTS, after, count)
    following = rows[-1]["tenant_id"] if len(rows) == count else 0
    return [row["tenant_id"] for row in rows if row["due"]], following


async def lease(
    connection: Connection, room: Mapping[int, int], lease_seconds: float
) -> list[LeasedDelivery]:
    """Leases up to the given number of due deliveries of each tenant; others skip them."""
    rows = await connection.fetch(_LEASE, list(room), list(room.values()), lease_seconds)
    return [LeasedDelivery(**row) for row in rows]


async def release(connection: Connection, unsent: Sequence[LeasedDelivery]) -> None:
    """Makes leased deliveries that were not attempted due again."""
    await connection.execute(
        "UPDATE deliveries d SET next_attempt_at = now() "
        "FROM unnest($1::uuid[], $2::bigint[]) AS u (event_id, lease) "
        "WHERE d.event_id = u.event_id AND d.leases = u.lease AND d.status = 'pending'",
        [delivery.event_id for delivery in unsent],
        [delivery.lease for delivery in unsent],
    )


async def record(connection: Connection, attempts: Sequence[Attempt]) -> set[int]:
    """Records the outcomes of attempts; returns the tenants of events that are given up now."""
    columns = ([getattr(a, field) for a in attempts] for field in Attempt.__struct_fields__)
    rows = await connection.fetch(_RECORD, *columns)
    return {row["tenant_id"] for row in rows if row["given_up"]}


async def resend(connection: Connection, event_id: UUID) -> Refusal | None:
    """Sends the event again as if it were new, if its merchant gets webhooks.

    The lock keeps a purge from removing the event before its delivery exists.
    """
    tenant_id = await connection.fetchval("SELECT tenant_id FROM events WHERE id = $1", event_id)
    if tenant_id is not None and not await _has_receiver(connection, tenant_id):
        return NO_WEBHOOK
    made = await connection.fetchval(
        "INSERT INTO deliveries (event_id, tenant_id) "
        "SELECT id, tenant_id FROM events WHERE id = $1 FOR KEY SHARE "
        f"ON CONFLICT (event_id) DO UPDATE SET {_AFRESH} "
        f"RETURNING pg_notify('{CHANNEL}', '') IS NOT NULL",
        event_id,
    )
    return None if made is not None else NO_EVENT


async def resend_given_up(connection: Connection, tenant_id: int, since: datetime) -> int | Refusal:
    """Sends events again that were given up since this time; returns their number.

    They are the oldest, up to MOST_AT_ONCE.
    """
    if not await _has_receiver(connection, tenant_id):
        return NO_WEBHOOK
    sent = await connection.fetch(
        f"UPDATE deliveries SET {_AFRESH} FROM ({GIVEN_UP}) AS found "
        "WHERE deliveries.event_id = found.event_id AND status = 'failed' "
        "RETURNING deliveries.event_id",
        tenant_id,
        since,
        MOST_AT_ONCE,
    )
    await announce(connection)
    return len(sent)


async def _has_receiver(connection: Connection, tenant_id: int) -> bool:
    """Whether the merchant has a URL and webhooks: a delivery without them fails at once."""
    found: bool = await connection.fetchval(
        "SELECT m.webhooks_enabled AND m.webhook_url IS NOT NULL "
        "FROM tenants t JOIN merchants m ON m.id = t.merchant_id WHERE t.id = $1",
        tenant_id,
    )
    return found


async def announce(connection: Connection) -> None:
    """Wakes the senders. The commit does not wait for the disk: it changes nothing."""
    await connection.execute(
        f"SELECT set_config('synchronous_commit', 'off', true), pg_notify('{CHANNEL}', '')"
    )


async def listen(connection: Connection, wake: Callable[[], None]) -> None:
    await connection.add_listener(CHANNEL, lambda *_: wake())
