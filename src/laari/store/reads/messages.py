"""The outbox of messages: leased by senders, and kept until they are purged."""

import time
from collections.abc import Collection
from datetime import datetime
from typing import Literal
from uuid import UUID

from asyncpg import Connection
from msgspec import Struct

from laari.rules import terms
from laari.rules.records import Channel, Language, MessageKind
from laari.store.reads.deliveries import MAX_COUNTED

MessageStatus = Literal["pending", "sent", "failed", "suppressed"]  # the last one is on purpose

_LEASE = """
UPDATE messages m SET attempts = attempts + 1, next_attempt_at = now() + $3 * interval '1 second'
FROM (
    SELECT id FROM messages
    WHERE status = 'pending' AND channel = $1 AND next_attempt_at <= now() AND kind <> ALL($4)
    ORDER BY next_attempt_at LIMIT $2 FOR UPDATE SKIP LOCKED
) AS due
WHERE m.id = due.id
RETURNING m.id, m.created_at, m.kind, m.recipient, m.language, m.parameters, m.attempts,
    m.tenant_id, m.customer_id
"""

# Earlier ones count even if they still wait, so that the number of senders changes nothing.
_EARLIER = """
SELECT count(*) FROM (
    SELECT FROM messages WHERE customer_id = $1 AND tenant_id = $2 AND kind = $3 AND id < $4
    AND created_at > $5::timestamptz - interval '24 hours' AND status <> 'suppressed' LIMIT $6
) AS earlier
"""

SMS_OF_LAST_HOUR = (
    "SELECT count(*) FROM messages WHERE channel = 'sms' AND status = 'sent' "
    "AND sent_at > now() - interval '1 hour'"
)

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
    """The messages of its kind, merchant and customer in the 24 hours before it, at most `most`."""
    found: int = await connection.fetchval(
        _EARLIER,
        message.customer_id,
        message.tenant_id,
        message.kind,
        message.id,
        message.created_at,
        most,
    )
    return found


async def sms_of_last_hour(connection: Connection) -> int:
    """The SMS that were sent."""
    found: int = await connection.fetchval(SMS_OF_LAST_HOUR)
    return found


async def invitations_to(connection: Connection, recipient: str) -> tuple[datetime, ...]:
    """The moments of the last invitations to this address, of all merchants; at most the bound."""
    rows = await connection.fetch(
        "SELECT created_at FROM messages WHERE kind = 'invitation' AND recipient = $1 "
        "ORDER BY created_at DESC LIMIT $2",
        recipient,
        terms.INVITATIONS_A_DAY,
    )
    return tuple(row["created_at"] for row in rows)


async def receipts_of(connection: Connection, customer_id: UUID) -> int:
    """How many receipts the customer asked for in 24 hours; at most the bound."""
    found: int = await connection.fetchval(
        "SELECT count(*) FROM (SELECT FROM messages WHERE kind = 'receipt' AND customer_id = $1 "
        "AND created_at > now() - interval '24 hours' LIMIT $2) AS sent",
        customer_id,
        terms.RECEIPTS_A_DAY,
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
        "CASE WHEN status = 'pending' THEN next_attempt_at END AS next_attempt_at, "
        "last_error, sent_at FROM messages "
        "WHERE ($1::uuid IS NULL OR id = $1) AND ($2::text IS NULL OR status = $2) "
        "ORDER BY id DESC LIMIT $3",
        message_id,
        status,
        limit,
    )
    return [ListedMessage(**row) for row in rows]


async def backlog(connection: Connection) -> tuple[int, float]:
    """The number of waiting messages, up to a bound, and the age of the oldest."""
    waiting, oldest = await connection.fetchrow(
        "SELECT count(*), extract(epoch FROM min(created_at))::float8 FROM "
        f"(SELECT created_at FROM messages WHERE status = 'pending' LIMIT {MAX_COUNTED}) AS waiting"
    )
    return waiting, 0.0 if oldest is None else max(0.0, time.time() - oldest)
