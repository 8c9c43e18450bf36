"""The outbox of messages: leased by senders, and kept until they are purged."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from asyncpg import Connection
from msgspec import Struct

from laari.rules.records.messages import Channel, Language, MessageKind, MessageStatus

_LEASE = """
UPDATE messages m SET attempts = attempts + 1, next_attempt_at = now() + $3 * interval '1 second'
FROM (
    SELECT id FROM messages
    WHERE status = 'pending' AND channel = $1 AND next_attempt_at <= now() AND kind <> ALL($4)
    ORDER BY next_attempt_at LIMIT $2 FOR UPDATE SKIP LOCKED
) AS due
WHERE m.id = due.id
RETURNING m.id, m.created_at, m.kind, m.recipient, m.language, m.parameters, m.attempts,
    m.tenant_id, m.customer_id, m.object_id
"""

# Earlier ones count even if they still wait, so that the number of senders changes nothing.
_EARLIER = """
SELECT count(*) FROM (
    SELECT FROM messages WHERE customer_id = $1 AND {about} AND kind = $3 AND id < $4
    AND created_at > $5::timestamptz - interval '24 hours' AND status <> 'suppressed' LIMIT $6
) AS earlier
"""
_OF_MERCHANT = _EARLIER.format(about="tenant_id = $2")
_OF_NONE = _EARLIER.format(about="$2::bigint IS NULL AND tenant_id IS NULL")  # withdrawals

_EARLIER_TO_RECIPIENT = """
SELECT count(*) FROM (
    SELECT FROM messages WHERE recipient = $1 AND kind = $2 AND id < $3
    AND created_at > $4::timestamptz - interval '24 hours' AND status <> 'suppressed' LIMIT $5
) AS earlier
"""

_HAD_IT = """
SELECT EXISTS (
    SELECT FROM messages WHERE recipient = $1 AND kind = $2 AND id < $3
    AND created_at > $4::timestamptz - interval '24 hours' AND status <> 'suppressed'
    AND object_id = $5
)
"""

# A message that was sent is sent, however late that is known. A failure counts only in its lease.
_RECORD = """
UPDATE messages SET
    status = $3, last_error = $4, next_attempt_at = now() + $5 * interval '1 second',
    sent_at = CASE WHEN $3 = 'sent' THEN now() END,
    parameters = CASE WHEN $3 IN ('sent', 'suppressed') THEN NULL ELSE parameters END
WHERE id = $1 AND CASE WHEN $3 = 'sent' THEN status <> 'sent'
                       ELSE status = 'pending' AND attempts = $2 END
"""


class LeasedMessage(Struct, frozen=True):
    """A message to send now; `attempts` includes this one and is the number of the lease.

    `parameters` is JSON; it is encrypted until the sender has opened it.
    """

    id: UUID
    created_at: datetime
    kind: MessageKind
    recipient: str
    language: Language
    parameters: bytes
    attempts: int
    tenant_id: int | None = None
    customer_id: UUID | None = None
    object_id: UUID | None = None


async def lease(
    connection: Connection,
    channel: Channel,
    most: int,
    lease_seconds: float,
    held_back: Collection[MessageKind] = (),
) -> list[LeasedMessage]:
    """Leases due messages of this channel, except of these kinds; other senders skip them."""
    rows = await connection.fetch(_LEASE, channel, most, lease_seconds, list(held_back))
    return [LeasedMessage(**row) for row in rows]


async def earlier(connection: Connection, message: LeasedMessage, most: int) -> int:
    """The messages of its kind to its customer in the 24 hours before it, at most `most`.

    Those about its merchant, or about none.
    """
    found: int = await connection.fetchval(
        _OF_NONE if message.tenant_id is None else _OF_MERCHANT,
        message.customer_id,
        message.tenant_id,
        message.kind,
        message.id,
        message.created_at,
        most,
    )
    return found


async def earlier_to_recipient(connection: Connection, message: LeasedMessage, most: int) -> int:
    """The messages of its kind to its recipient in the 24 hours before it, at most `most`."""
    found: int = await connection.fetchval(
        _EARLIER_TO_RECIPIENT,
        message.recipient,
        message.kind,
        message.id,
        message.created_at,
        most,
    )
    return found


async def had_it(connection: Connection, message: LeasedMessage) -> bool:
    """Whether its recipient had one of its kind about the same in the 24 hours before it."""
    found: bool = await connection.fetchval(
        _HAD_IT,
        message.recipient,
        message.kind,
        message.id,
        message.created_at,
        message.object_id,
    )
    return found


async def record(
    connection: Connection,
    message: LeasedMessage,
    status: MessageStatus,
    error: str | None,
    wait_seconds: float,
) -> None:
    """Records the result of an attempt; a repetition changes nothing."""
    await connection.execute(_RECORD, message.id, message.attempts, status, error, wait_seconds)
