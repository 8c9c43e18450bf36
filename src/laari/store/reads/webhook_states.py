"""How the webhooks of a tenant are doing: what waits, what fails, and what was given up."""

import time
from datetime import UTC, datetime
from typing import Literal, NamedTuple
from uuid import UUID

from asyncpg import Connection

MAX_COUNTED = 100_000  # deliveries that wait: a scrape stays cheap however many there are
MOST_AT_ONCE = 1_000  # events that were given up, and are sent again by one form

DeliveryStatus = Literal["pending", "delivered", "failed"]


class GivenUp(NamedTuple):
    """The events of a tenant whose delivery was given up, and the time of the first.

    A receiver that is down for weeks leaves millions: `many` ends above MOST_AT_ONCE.
    """

    many: int
    since: datetime | None


GIVEN_UP = (
    "SELECT d.event_id, e.created_at FROM deliveries d JOIN events e ON e.id = d.event_id "
    "WHERE d.status = 'failed' AND d.tenant_id = $1 AND e.created_at >= $2 "
    "ORDER BY d.event_id LIMIT $3"
)


async def given_up(connection: Connection, tenant_id: int) -> GivenUp:
    row = await connection.fetchrow(
        f"SELECT count(*) AS many, min(created_at) AS since FROM ({GIVEN_UP}) AS found",
        tenant_id,
        datetime.min.replace(tzinfo=UTC),
        MOST_AT_ONCE + 1,
    )
    return GivenUp(**row)


async def backlog(connection: Connection) -> tuple[int, float]:
    """The number of waiting deliveries, up to a bound, and the age of the oldest.

    The first 48 bits of an event's id are its time in milliseconds.
    """
    row = await connection.fetchrow(
        "SELECT count(*), min(event_id::text) FROM "
        f"(SELECT event_id FROM deliveries WHERE status = 'pending' LIMIT {MAX_COUNTED}) AS waiting"
    )
    waiting, oldest = row
    return waiting, 0.0 if oldest is None else max(
        0.0, time.time() - (UUID(oldest).int >> 80) / 1000
    )


class WebhookState(NamedTuple):
    """The deliveries of a tenant: what fails, what was given up, and the newest attempt."""

    failing: int  # wait for another attempt, counted up to MOST_AT_ONCE
    given_up: GivenUp
    last_at: datetime | None
    last_status: int | None
    last_error: str | None


# Of the newest events: a tenant whose webhooks are off has none that were attempted.
_LAST_ATTEMPT = """
SELECT a.started_at, a.http_status, a.error FROM (
    SELECT id FROM events WHERE tenant_id = $1 ORDER BY created_at DESC, id DESC LIMIT 50
) AS newest JOIN delivery_attempts a ON a.event_id = newest.id ORDER BY a.started_at DESC LIMIT 1
"""


async def webhook_state(connection: Connection, tenant_id: int) -> WebhookState:
    failing = await connection.fetchval(
        "SELECT count(*) FROM (SELECT FROM deliveries WHERE tenant_id = $1 AND status = 'pending' "
        f"AND failed_attempts > 0 LIMIT {MOST_AT_ONCE}) AS failing",
        tenant_id,
    )
    last = await connection.fetchrow(_LAST_ATTEMPT, tenant_id)
    given = await given_up(connection, tenant_id)
    if last is None:
        return WebhookState(failing, given, None, None, None)
    return WebhookState(failing, given, last["started_at"], last["http_status"], last["error"])
