"""What is removed once nobody can ask for it any more."""

from __future__ import annotations

from datetime import datetime

import asyncpg

from laari.rules.idempotency import RETENTION

CHUNK = 2_000  # rows in one statement: short locks, and other work in between

# By age for all who live in real time; a moved sandbox clock is looked at tenant by tenant, because
# its own age says nothing about a place in the index.
_IN_REAL_TIME = "t.clock_offset_seconds = 0 AND s.completed_at < $1::timestamptz"
_BY_OWN_CLOCK = (
    "t.clock_offset_seconds <> 0 "
    "AND s.completed_at < $1::timestamptz + make_interval(secs => t.clock_offset_seconds)"
)


async def forget_saved_responses(
    connection: asyncpg.Connection, now: datetime, chunk: int = CHUNK
) -> int:
    """Removes responses that are past their retention on their tenant's own clock."""
    removed = 0
    for condition in (_IN_REAL_TIME, _BY_OWN_CLOCK):
        while True:
            # A row that a retry is writing at this moment is skipped: it has begun a new life.
            status = await connection.execute(
                "DELETE FROM saved_responses WHERE ctid = ANY (ARRAY("
                "SELECT s.ctid FROM saved_responses AS s JOIN tenants AS t ON t.id = s.tenant_id "
                f"WHERE {condition} LIMIT $2 FOR UPDATE OF s SKIP LOCKED))",
                now - RETENTION,
                chunk,
            )
            count = int(status.removeprefix("DELETE "))
            removed += count
            if count < chunk:
                break
    return removed
