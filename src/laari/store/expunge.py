"""What of a stretch of sealed rows may go, and its removal with everything that hangs off it."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

import asyncpg

from laari.errors import LaariError
from laari.store.sealed_rows import SUBJECTS, Place, rows_of

# An attempt that is in progress is recorded within its lease, which is a matter of minutes.
_ENDED = "d.status <> 'pending' AND d.next_attempt_at <= now() - interval '1 hour'"


class Stretch(NamedTuple):
    """Rows of a table between two places."""

    table: str
    after: Place
    upto: Place

    @property
    def where(self) -> str:
        return rows_of(SUBJECTS[self.table], self.after, self.upto)

    @property
    def bounds(self) -> tuple[int, str | None, int, str | None]:
        return self.after.xid, self.after.key, self.upto.xid, self.upto.key


class SentAgainError(LaariError):
    """An event was put up for delivery while it was being removed: it is left for the next time."""


async def remove_deliveries(connection: asyncpg.Connection, stretch: Stretch) -> int:
    """Deliveries that have ended, and their attempts; the events stay."""
    events = await connection.fetch(
        f"SELECT r.id FROM events r WHERE {stretch.where}", *stretch.bounds
    )
    ended = await connection.fetch(
        f"DELETE FROM deliveries d WHERE d.event_id = ANY($1) AND {_ENDED} RETURNING d.event_id",
        [row["id"] for row in events],
    )
    await connection.execute(
        "DELETE FROM delivery_attempts WHERE event_id = ANY($1)", [row["event_id"] for row in ended]
    )
    return len(ended)


async def remove_sandbox_failed_lines(connection: asyncpg.Connection, stretch: Stretch) -> int:
    return await _remove_failed_lines(
        connection,
        stretch,
        "EXISTS (SELECT FROM wallets w WHERE w.account = r.account AND w.mode = 'sandbox')",
    )


async def remove_failed_lines(connection: asyncpg.Connection, stretch: Stretch) -> int:
    return await _remove_failed_lines(connection, stretch, "true")


async def _remove_failed_lines(
    connection: asyncpg.Connection, stretch: Stretch, condition: str
) -> int:
    removed = await connection.execute(
        f"DELETE FROM transactions r WHERE {stretch.where} AND r.status = 'failed' AND {condition}",
        *stretch.bounds,
    )
    return int(removed.removeprefix("DELETE "))


async def remove_sandbox_events(connection: asyncpg.Connection, stretch: Stretch) -> int:
    return await _remove_events(connection, stretch, "t.mode = 'sandbox'")


async def remove_events(connection: asyncpg.Connection, stretch: Stretch) -> int:
    return await _remove_events(connection, stretch, "true")


async def _remove_events(connection: asyncpg.Connection, stretch: Stretch, condition: str) -> int:
    """Events with their deliveries, and what a sandbox tried and never paid once its last one goes.

    Events stay of what is still open, of live authorizations, and where a delivery is not over.
    """
    found = await connection.fetch(
        "SELECT r.id, r.object_id, t.mode FROM events r JOIN tenants t ON t.id = r.tenant_id "
        f"WHERE {stretch.where} AND {condition} AND NOT EXISTS "
        f"(SELECT FROM deliveries d WHERE d.event_id = r.id AND NOT ({_ENDED}))",
        *stretch.bounds,
    )
    tried = {row["object_id"] for row in found if row["mode"] == "sandbox"}
    unpaid = await _unpaid(connection, list(tried), [row["id"] for row in found])
    objects = {row["object_id"] for row in found} - unpaid.objects
    still_open = await _open(connection, list(objects))
    going = [row["id"] for row in found if row["object_id"] not in still_open]
    # The events first: whoever sends one again waits for this, and then finds nothing to send.
    await connection.execute("DELETE FROM events WHERE id = ANY($1)", going)
    await connection.execute("DELETE FROM delivery_attempts WHERE event_id = ANY($1)", going)
    ended = await connection.fetch(
        f"DELETE FROM deliveries d WHERE event_id = ANY($1) RETURNING NOT ({_ENDED}) AS busy", going
    )
    if any(row["busy"] for row in ended):
        raise SentAgainError("an old event was sent again while it was removed")
    await _remove_unpaid(connection, unpaid)
    return len(going)


# What a sandbox tried that came to nothing, by its own clock.
_UNPAID = """
SELECT o.id FROM {table} o JOIN tenants t ON t.id = o.tenant_id AND t.mode = 'sandbox'
WHERE o.id = ANY($1) AND ({over})
FOR UPDATE OF o SKIP LOCKED
"""
# Asked once they are locked: what was committed before a lock was had is seen only by the next
# statement, and an event that came with it keeps its object.
_WITH_OTHER_EVENTS = "SELECT object_id FROM events WHERE object_id = ANY($1) AND id <> ALL($2)"
_OWN_NOW = "now() + make_interval(secs => t.clock_offset_seconds)"
_PAYMENT_OVER = f"""o.kind = 'hosted' AND (o.status IN ('cancelled', 'expired', 'rejected')
    OR o.status = 'pending' AND o.reserved_at IS NULL AND o.expires_at < {_OWN_NOW})"""
_REQUEST_OVER = "o.status IN ('cancelled', 'expired', 'rejected')"
_AUTHORIZATION_OVER = f"""o.approved_at IS NULL AND (o.status <> 'pending'
    OR o.approval_expires_at < {_OWN_NOW})"""


class Unpaid(NamedTuple):
    payments: list[UUID]
    requests: list[UUID]
    authorizations: list[UUID]

    @property
    def objects(self) -> set[UUID]:
        return {*self.payments, *self.requests, *self.authorizations}


async def _unpaid(
    connection: asyncpg.Connection, objects: list[UUID], events: list[UUID]
) -> Unpaid:
    """Locked, so that nobody pays them meanwhile; what somebody works on is left alone.

    Of these objects those that are over and of which no event is left but these.
    """
    locked = [
        [
            row["id"]
            for row in await connection.fetch(_UNPAID.format(table=table, over=over), objects)
        ]
        for table, over in (
            ("payments", _PAYMENT_OVER),
            ("payment_requests", _REQUEST_OVER),
            ("authorizations", _AUTHORIZATION_OVER),
        )
    ]
    rows = await connection.fetch(_WITH_OTHER_EVENTS, [id for ids in locked for id in ids], events)
    kept = {row["object_id"] for row in rows}
    return Unpaid(*([id for id in ids if id not in kept] for ids in locked))


async def _remove_unpaid(connection: asyncpg.Connection, unpaid: Unpaid) -> None:
    claimed = [*unpaid.payments, *unpaid.requests]
    await connection.execute(
        "DELETE FROM saved_responses WHERE resource_id = ANY($1)", unpaid.payments
    )
    await connection.execute(
        "DELETE FROM reference_claims c USING ("
        "SELECT id, tenant_id, reference FROM payments WHERE id = ANY($1) UNION ALL "
        "SELECT id, tenant_id, reference FROM payment_requests WHERE id = ANY($1)) o "
        "WHERE c.tenant_id = o.tenant_id AND c.reference = o.reference AND c.resource_id = o.id",
        claimed,
    )
    await connection.execute("DELETE FROM payments WHERE id = ANY($1)", unpaid.payments)
    await connection.execute("DELETE FROM payment_requests WHERE id = ANY($1)", unpaid.requests)
    await connection.execute("DELETE FROM authorizations WHERE id = ANY($1)", unpaid.authorizations)


async def _open(connection: asyncpg.Connection, objects: list[UUID]) -> set[UUID]:
    """What may still be paid or charged, and what a live customer agreed to."""
    rows = await connection.fetch(
        "SELECT id FROM payments WHERE id = ANY($1) AND status = 'pending' "
        "UNION ALL SELECT id FROM payment_requests WHERE id = ANY($1) AND status = 'pending' "
        "UNION ALL SELECT a.id FROM authorizations a JOIN tenants t ON t.id = a.tenant_id "
        "WHERE a.id = ANY($1) "
        "AND (t.mode = 'live' OR a.status IN ('pending', 'active', 'suspended'))",
        objects,
    )
    return {row["id"] for row in rows}
