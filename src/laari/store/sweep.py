"""What is removed once nobody can ask for it any more."""

from __future__ import annotations

from datetime import datetime

import asyncpg

from laari.rules.idempotency import RETENTION

CHUNK = 2_000  # rows in one statement: short locks, and other work in between

# Tenant by tenant, along an index of this expression, since each has its own clock. A row that a
# retry is writing at this moment is skipped: it has begun a new life.
_FORGET = """
DELETE FROM saved_responses WHERE ctid = ANY (ARRAY(
    SELECT s.ctid FROM tenants t CROSS JOIN LATERAL (
        SELECT ctid FROM saved_responses
        WHERE tenant_id | 0 = t.id
            AND completed_at < $1::timestamptz + make_interval(secs => t.clock_offset_seconds)
        ORDER BY completed_at LIMIT $2 FOR UPDATE SKIP LOCKED
    ) s LIMIT $2
))
"""


async def forget_saved_responses(
    connection: asyncpg.Connection, now: datetime, chunk: int = CHUNK
) -> int:
    """Removes responses that are past their retention on their tenant's own clock."""
    removed = 0
    while True:
        status = await connection.execute(_FORGET, now - RETENTION, chunk)
        count = int(status.removeprefix("DELETE "))
        removed += count
        if count < chunk:
            return removed
