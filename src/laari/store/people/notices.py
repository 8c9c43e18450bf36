"""Messages that administrative writes cause, written to the outbox in their transaction."""

import os
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from asyncpg import Connection
from msgspec import Struct

from laari.rules import ids
from laari.rules.messages import reach
from laari.rules.records import Channel, Language, MessageKind
from laari.rules.shapes.envelopes import to_json
from laari.store.people.logins import CustomerId, Whose


class Reached(NamedTuple):
    """How the service can reach somebody who logs in."""

    channel: Channel
    recipient: str
    language: Language
    customer_id: UUID | None
    proven: bool  # whether the address is known to be theirs


async def reached(connection: Connection, whose: Whose, channels: frozenset[str]) -> Reached | None:
    """None without a way to reach them. Sandbox customers are nobody: they get no messages."""
    if isinstance(whose, CustomerId):
        row = await connection.fetchrow(
            "SELECT email, mobile, language, id, true FROM customers "
            "WHERE id = $1 AND mode = 'live'",
            whose.id,
        )
    else:
        row = await connection.fetchrow(
            "SELECT email, NULL::text, 'en', NULL::uuid, proven FROM persons WHERE id = $1",
            whose.id,
        )
    if row is None:
        return None
    email, mobile, *rest = row
    found = reach(email, mobile, channels)
    return None if found is None else Reached(*found, *rest)


async def write(
    connection: Connection, to: Reached, kind: MessageKind, content: Struct, now: datetime
) -> None:
    await connection.execute(
        "INSERT INTO messages (id, created_at, kind, channel, recipient, language, parameters, "
        "customer_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        *(ids.new_id(now, os.urandom), now, kind, to.channel, to.recipient, to.language),
        *(to_json(content).decode(), to.customer_id),
    )
