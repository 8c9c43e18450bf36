"""The outbox of messages: leased by senders, and kept until they are purged."""

import time
from datetime import datetime
from typing import Literal
from uuid import UUID

from asyncpg import Connection
from msgspec import Struct

from laari.rules.records import Channel, Language, MessageKind
from laari.store.reads.deliveries import MAX_COUNTED

MessageStatus = Literal["pending", "sent", "failed"]

_LEASE = """
UPDATE messages m SET attempts = attempts + 1, next_attempt_at = now() + $3 * interval '1 second'
FROM (
    SELECT id FROM messages
    WHERE status = 'pending' AND channel = $1 AND next_attempt_at <= now()
    ORDER BY next_attempt_at LIMIT $2 FOR UPDATE SKIP LOCKED
) AS due
WHERE m.id = due.id
RETURNING m.id, m.created_at, m.kind, m.recipient, m.language, m.parameters, m.attempts
"""

# A message that was sent is sent, however late that is known. A failure counts only in its lease.
_RECORD = """
UPDATE messages SET
    status = $3, last_error = $4, next_attempt_at = now() + $5 * interval '1 second',
    sent_at = CASE WHEN $3 = 'sent' THEN now() END,
    parameters = CASE WHEN $3 = 'sent' THEN NULL ELSE parameters END
WHERE id = $1 AND CASE WHEN $3 = 'sent' THEN status <> 'sent'
                       ELSE status = 'pending' AND attempts = $2 END
"""


class LeasedMessage(Struct, frozen=True):
    """A message to send now; `attempts` includes this one and is the number of the lease."""

    id: UUID
    created_at: datetime
    kind: MessageKind
    recipient: str
    language: Language
    parameters: str
    attempts: int


class ListedMessage(Struct, frozen=True):
    """A message without its content, for the operator."""

    id: UUID
    created_at: datetime
    kind: MessageKind
    channel: Channel
    recipient: str
    language: Language
    status: MessageStatus
    attempts: int
    next_attempt_at: datetime | None  # only of one that waits
    last_error: str | None
    sent_at: datetime | None


async def lease(
    connection: Connection, channel: Channel, most: int, lease_seconds: float
) -> list[LeasedMessage]:
    """Leases due messages of this channel; other senders skip them."""
    rows = await connection.fetch(_LEASE, channel, most, lease_seconds)
    return [LeasedMessage(*row) for row in rows]


async def record(
    connection: Connection,
    message: LeasedMessage,
    status: MessageStatus,
    error: str | None,
    wait_seconds: float,
) -> None:
    """Records the result of an attempt; a repetition changes nothing."""
    await connection.execute(_RECORD, message.id, message.attempts, status, error, wait_seconds)


async def resend(connection: Connection, message_id: UUID) -> bool:
    """Sends a message that has failed as if it were new; False if there is none."""
    found = await connection.fetchval(
        "UPDATE messages SET status = 'pending', attempts = 0, next_attempt_at = now() "
        "WHERE id = $1 AND status = 'failed' RETURNING true",
        message_id,
    )
    return found is not None


async def newest(
    connection: Connection,
    *,
    message_id: UUID | None = None,
    status: MessageStatus | None = None,
    limit: int | None = None,
) -> list[ListedMessage]:
    rows = await connection.fetch(
        "SELECT id, created_at, kind, channel, recipient, language, status, attempts, "
        "CASE WHEN status = 'pending' THEN next_attempt_at END, last_error, sent_at FROM messages "
        "WHERE ($1::uuid IS NULL OR id = $1) AND ($2::text IS NULL OR status = $2) "
        "ORDER BY id DESC LIMIT $3",
        message_id,
        status,
        limit,
    )
    return [ListedMessage(*row) for row in rows]


async def backlog(connection: Connection) -> tuple[int, float]:
    """The number of waiting messages, up to a bound, and the age of the oldest."""
    waiting, oldest = await connection.fetchrow(
        "SELECT count(*), extract(epoch FROM min(created_at))::float8 FROM "
        f"(SELECT created_at FROM messages WHERE status = 'pending' LIMIT {MAX_COUNTED}) AS waiting"
    )
    return waiting, 0.0 if oldest is None else max(0.0, time.time() - oldest)
