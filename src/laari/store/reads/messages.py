"""Messages as the operator sees them, and those that count for bounds."""

import time
from datetime import datetime
from uuid import UUID

from asyncpg import Connection
from msgspec import Struct

from laari.rules.limits.invitations import INVITATIONS_A_DAY
from laari.rules.limits.messages import RECEIPTS_A_DAY
from laari.rules.records.messages import Channel, Language, MessageKind, MessageStatus
from laari.store.reads.webhook_states import MAX_COUNTED

SMS_OF_LAST_HOUR = (
    "SELECT count(*) FROM messages WHERE channel = 'sms' AND status = 'sent' "
    "AND sent_at > now() - interval '1 hour'"
)


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
        INVITATIONS_A_DAY,
    )
    return tuple(row["created_at"] for row in rows)


async def receipts_of(connection: Connection, customer_id: UUID) -> int:
    """How many receipts the customer asked for in 24 hours; at most the bound."""
    found: int = await connection.fetchval(
        "SELECT count(*) FROM (SELECT FROM messages WHERE kind = 'receipt' AND customer_id = $1 "
        "AND created_at > now() - interval '24 hours' LIMIT $2) AS sent",
        customer_id,
        RECEIPTS_A_DAY,
    )
    return found


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


async def by_id(connection: Connection, message_id: UUID) -> ListedMessage | None:
    found = await newest(connection, message_id=message_id)
    return found[0] if found else None


async def backlog(connection: Connection) -> tuple[int, float]:
    """The number of waiting messages, up to a bound, and the age of the oldest."""
    waiting, oldest = await connection.fetchrow(
        "SELECT count(*), extract(epoch FROM min(created_at))::float8 FROM "
        f"(SELECT created_at FROM messages WHERE status = 'pending' LIMIT {MAX_COUNTED}) AS waiting"
    )
    return waiting, 0.0 if oldest is None else max(0.0, time.time() - oldest)
