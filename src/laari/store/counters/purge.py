"""Purges old rows: saved responses, tokens, sessions, deliveries, messages, rows of sandboxes.

Nothing is decided here: no answer depends on a row that is gone, and no setting changes.
Live payments, events and history stay, and sandbox rows that balances or open objects need. Sandbox
rows are not sealed, so the chain does not change. Ages count by the server's clock, as in event
ids, because a sandbox's clock may be moved.
"""

from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from asyncpg import Connection

from laari.errors import LaariError
from laari.rules.calendar import local_day
from laari.rules.idempotency import RETENTION
from laari.rules.ids import first_id
from laari.rules.limits.sessions import SESSION_IDLE
from laari.store.reads.listing import Position

MOST = 2_000  # rows in one transaction: short locks, and other work in between
# Deliveries are kept at least as long, so that the audit can count those of the newest seals.
DELIVERIES_KEPT = timedelta(days=7)

# An attempt that is in progress is recorded within its lease, which is a matter of minutes.
_ENDED = "d.status <> 'pending' AND d.next_attempt_at <= now() - interval '1 hour'"


# Tenant by tenant, along an index of this expression, since each has its own clock. A row that a
# retry is writing at this moment is skipped.
_SAVED_RESPONSES = """
DELETE FROM saved_responses WHERE ctid = ANY (ARRAY(
    SELECT s.ctid FROM tenants t CROSS JOIN LATERAL (
        SELECT ctid FROM saved_responses
        WHERE tenant_id | 0 = t.id
            AND completed_at < $1::timestamptz + make_interval(secs => t.clock_offset_seconds)
        ORDER BY completed_at LIMIT $2 FOR UPDATE SKIP LOCKED
    ) s LIMIT $2
))
"""
# Their lifetime in real time is over, so no clock can make them valid again.
_ACCESS_TOKENS = """
DELETE FROM access_tokens WHERE digest = ANY (ARRAY(
    SELECT digest FROM access_tokens WHERE expires_at <= $1 LIMIT $2
))
"""


async def purge_saved_responses(connection: Connection, now: datetime, most: int = MOST) -> int:
    """Purges responses past their retention by their tenant's own clock."""
    return await _delete_all(connection, _SAVED_RESPONSES, now - RETENTION, most)


async def purge_access_tokens(connection: Connection, now: datetime, most: int = MOST) -> int:
    return await _delete_all(connection, _ACCESS_TOKENS, now, most)


async def purge_sessions(connection: Connection, now: datetime) -> None:
    """Purges ended sessions, and expired links for passwords and sign-ups."""
    await connection.execute("DELETE FROM sessions WHERE seen_at < $1", now - SESSION_IDLE)
    await connection.execute("DELETE FROM password_links WHERE expires_at < $1", now)
    await connection.execute("DELETE FROM customer_signups WHERE expires_at < $1", now)


async def _delete_all(connection: Connection, statement: str, before: datetime, most: int) -> int:
    total, count = 0, most
    while count == most:
        count = _count(await connection.execute(statement, before, most))
        total += count
    return total


def _count(status: str) -> int:
    return int(status.removeprefix("DELETE "))


_DELIVERIES = f"""
DELETE FROM deliveries WHERE event_id = ANY (ARRAY(
    SELECT d.event_id FROM deliveries d WHERE d.event_id < $1 AND {_ENDED}
    ORDER BY d.event_id LIMIT $2 FOR UPDATE SKIP LOCKED
)) RETURNING event_id
"""


async def purge_deliveries(connection: Connection, before: datetime, most: int = MOST) -> int:
    """Purges ended deliveries of events older than this, with their attempts; events stay.

    One step, in the caller's transaction; returns the number of deliveries.
    """
    await connection.execute("SET LOCAL enable_seqscan = off")  # along the key, from the oldest on
    first = first_id(before)
    gone = [row["event_id"] for row in await connection.fetch(_DELIVERIES, first, most)]
    if gone:
        await connection.execute("DELETE FROM delivery_attempts WHERE event_id = ANY($1)", gone)
        await connection.execute(
            "UPDATE installation SET deliveries_purged_before = greatest("
            "deliveries_purged_before, $1)",
            first,
        )
    return len(gone)


_MESSAGES = """
DELETE FROM messages WHERE id = ANY (ARRAY(
    SELECT id FROM messages WHERE id < $1 AND status <> 'pending'
    ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED
))
"""


async def purge_messages(connection: Connection, before: datetime, most: int = MOST) -> int:
    """Purges messages that were sent or have failed and are older than this, in one step."""
    return _count(await connection.execute(_MESSAGES, first_id(before), most))


_ADDRESSES = """
UPDATE journal SET address = NULL WHERE id = ANY (ARRAY(
    SELECT id FROM journal WHERE address IS NOT NULL AND time < $1 ORDER BY time LIMIT $2
))
"""


async def purge_addresses(connection: Connection, before: datetime, most: int = MOST) -> int:
    """Removes the addresses of older entries of the journal, in one step.

    Seals do not include them. Counts of failed log-ins of those days go too.
    """
    await connection.execute("DELETE FROM failed_logins WHERE day < $1", local_day(before))
    removed = await connection.execute(_ADDRESSES, before, most)
    return int(removed.removeprefix("UPDATE "))


class SandboxTenant(NamedTuple):
    tenant_id: int
    account: int  # of its customer


async def sandboxes(connection: Connection) -> list[SandboxTenant]:
    rows = await connection.fetch(
        "SELECT t.id AS tenant_id, m.sandbox_account AS account FROM tenants t "
        "JOIN merchants m ON m.id = t.merchant_id WHERE t.mode = 'sandbox' ORDER BY t.id"
    )
    return [SandboxTenant(**row) for row in rows]


async def purge_failed_lines(
    connection: Connection, sandbox: SandboxTenant, before: datetime
) -> int:
    """Purges failed lines of the sandbox's wallet, as old as an event of that time."""
    return _count(
        await connection.execute(
            "DELETE FROM transactions WHERE account = $1 AND status = 'failed' AND xid <= "
            "(SELECT xid FROM events WHERE id < $2 ORDER BY id DESC LIMIT 1)",
            sandbox.account,
            first_id(before),
        )
    )


class SentAgainError(LaariError):
    """An event was sent again while it was being purged: the next step tries again."""


_EVENTS = f"""
SELECT e.id, e.object_id, e.created_at, NOT EXISTS (
    SELECT FROM deliveries d WHERE d.event_id = e.id AND NOT ({_ENDED})) AS is_over
FROM events e JOIN tenants t ON t.id = e.tenant_id AND t.mode = 'sandbox'
WHERE e.tenant_id = $1 AND ($2::timestamptz IS NULL OR (e.created_at, e.id) > ($2, $3::uuid))
ORDER BY e.created_at, e.id LIMIT $4
"""


async def purge_sandbox_events(
    connection: Connection,
    sandbox: SandboxTenant,
    before: datetime,
    after: Position | None = None,
    most: int = MOST,
) -> Position | None:
    """Purges old events with their deliveries, and unpaid objects with their last event.

    One step, in the caller's transaction; returns where the next one begins.
    """
    created_at, event_id = after or (None, None)
    page = await connection.fetch(_EVENTS, sandbox.tenant_id, created_at, event_id, most)
    first = first_id(before)
    old = [row for row in page if row["id"] < first and row["is_over"]]
    objects = {row["object_id"] for row in old}
    unpaid = await _lock_unpaid(connection, list(objects), [row["id"] for row in old])
    still_open = await _open(connection, list(objects.difference(*unpaid.values())))
    gone = [row["id"] for row in old if row["object_id"] not in still_open]
    # The events first: a resend waits for this, and then finds nothing to send.
    await connection.execute("DELETE FROM events WHERE id = ANY($1)", gone)
    await connection.execute("DELETE FROM delivery_attempts WHERE event_id = ANY($1)", gone)
    ended = await connection.fetch(
        f"DELETE FROM deliveries d WHERE event_id = ANY($1) RETURNING NOT ({_ENDED}) AS busy", gone
    )
    if any(row["busy"] for row in ended):
        raise SentAgainError("an old event was sent again while it was purged")
    await _delete_unpaid(connection, unpaid)
    return Position(page[-1]["created_at"], page[-1]["id"]) if len(page) == most else None


# When an object of a sandbox can no longer be paid or charged, by the sandbox's own clock.
_OWN_NOW = "now() + make_interval(secs => t.clock_offset_seconds)"
_OVER = {
    "payments": f"""o.kind = 'hosted' AND (o.status IN ('cancelled', 'expired', 'rejected')
        OR o.status = 'pending' AND o.reserved_at IS NULL AND o.expires_at < {_OWN_NOW})""",
    "payment_requests": "o.status IN ('cancelled', 'expired', 'rejected')",
    "authorizations": f"""o.approved_at IS NULL AND (o.status <> 'pending'
        OR o.approval_expires_at < {_OWN_NOW})""",
}


async def _lock_unpaid(
    connection: Connection, objects: list[UUID], events: list[UUID]
) -> dict[str, list[UUID]]:
    """Of these objects those that are over and have no other events, by table.

    Locked, so that nobody pays them meanwhile. Rows that somebody else has locked are left out.
    """
    locked = {}
    for table, over in _OVER.items():
        rows = await connection.fetch(
            f"SELECT o.id FROM {table} o JOIN tenants t ON t.id = o.tenant_id "
            f"AND t.mode = 'sandbox' WHERE o.id = ANY($1) AND ({over}) "
            "FOR UPDATE OF o SKIP LOCKED",
            objects,
        )
        locked[table] = [row["id"] for row in rows]
    # Only a statement after the lock sees an event that was committed just before the lock.
    rows = await connection.fetch(
        "SELECT object_id FROM events WHERE object_id = ANY($1) AND id <> ALL($2)",
        [id for ids in locked.values() for id in ids],
        events,
    )
    kept = {row["object_id"] for row in rows}
    return {table: [id for id in ids if id not in kept] for table, ids in locked.items()}


async def _delete_unpaid(connection: Connection, unpaid: dict[str, list[UUID]]) -> None:
    await connection.execute(
        "DELETE FROM saved_responses WHERE resource_id = ANY($1)", unpaid["payments"]
    )
    await connection.execute(
        "DELETE FROM reference_claims c USING ("
        "SELECT id, tenant_id, reference FROM payments WHERE id = ANY($1) UNION ALL "
        "SELECT id, tenant_id, reference FROM payment_requests WHERE id = ANY($1)) o "
        "WHERE c.tenant_id = o.tenant_id AND c.reference = o.reference AND c.resource_id = o.id",
        [*unpaid["payments"], *unpaid["payment_requests"]],
    )
    for table, ids in unpaid.items():
        await connection.execute(f"DELETE FROM {table} WHERE id = ANY($1)", ids)


async def _open(connection: Connection, objects: list[UUID]) -> set[UUID]:
    """Objects that may still be paid or charged."""
    rows = await connection.fetch(
        "SELECT id FROM payments WHERE id = ANY($1) AND status = 'pending' "
        "UNION ALL SELECT id FROM payment_requests WHERE id = ANY($1) AND status = 'pending' "
        "UNION ALL SELECT id FROM authorizations "
        "WHERE id = ANY($1) AND status IN ('pending', 'active', 'suspended')",
        objects,
    )
    return {row["id"] for row in rows}
