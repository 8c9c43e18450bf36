"""Messages that administrative writes cause, written to the outbox in their transaction."""

import os
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from asyncpg import Connection
from msgspec import Struct

from laari.rules import ids
from laari.rules.messages import addressed, reach
from laari.rules.records.messages import Channel, Language, MessageKind
from laari.rules.records.people import CustomerId, Whose
from laari.rules.shapes.envelopes import to_json
from laari.store.secrets import encrypt


class Outbox(NamedTuple):
    """The channels of the service, and the master key that encrypts messages."""

    channels: frozenset[str]
    master: bytes
    withdrawals: bool = False  # whether customers have a page for them, to which messages link


class Reached(NamedTuple):
    """How the service can reach somebody who logs in."""

    channel: Channel
    recipient: str
    language: Language
    customer_id: UUID | None
    proven: bool  # whether the address is known to be theirs


async def reached(connection: Connection, whose: Whose, channels: frozenset[str]) -> Reached | None:
    """None without a way to reach them. Sandbox customers get no messages."""
    if isinstance(whose, CustomerId):
        row = await connection.fetchrow(
            "SELECT email, mobile, language, id AS customer_id, true AS proven FROM customers "
            "WHERE id = $1 AND mode = 'live'",
            whose.id,
        )
    else:
        row = await connection.fetchrow(
            "SELECT email, NULL::text AS mobile, 'en' AS language, NULL::uuid AS customer_id, "
            "proven FROM persons WHERE id = $1",
            whose.id,
        )
    if row is None:
        return None
    fields = dict(row)
    found = reach(fields.pop("email"), fields.pop("mobile"), channels)
    if found is None:
        return None
    channel, recipient = found
    return Reached(channel, recipient, **fields)


async def write(
    connection: Connection,
    master: bytes,
    to: Reached,
    kind: MessageKind,
    content: Struct,
    *,
    now: datetime,
) -> None:
    message_id = ids.new_id(now, os.urandom)
    sealed_to = addressed(message_id, kind, to.channel, to.recipient, to.language)
    await connection.execute(
        "INSERT INTO messages (id, created_at, kind, channel, recipient, language, parameters, "
        "customer_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        message_id,
        now,
        kind,
        to.channel,
        to.recipient,
        to.language,
        encrypt(master, to_json(content), sealed_to),
        to.customer_id,
    )
