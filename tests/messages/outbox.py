"""Messages in the database, and mail servers of every kind of badness."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from itertools import repeat
from typing import Any
from uuid import UUID, uuid4

import asyncpg
from aiosmtpd.smtp import SMTP, Envelope, Session
from msgspec import Struct
from msgspec.structs import replace

from laari.rules.messages import RequestContent, addressed
from laari.rules.records.messages import Channel, Language, Message, MessageKind
from laari.rules.shapes.envelopes import to_json
from laari.rules.world import World
from laari.settings import SmtpServer
from laari.store.batch.save import save
from laari.store.outbox.messages import LeasedMessage
from laari.store.secrets import decrypt, encrypt
from tests.actors import MASTER

NOW = datetime(2027, 7, 1, 9, 30, tzinfo=UTC)
LINK = "https://pay.example.com/app/requests/prq_1"
CONTENT = RequestContent("Seagull Café", 125_000, "Two coffees", NOW, LINK)
FROM = "Laari <pay@example.com>"


def leased(
    content: Struct = CONTENT,
    kind: MessageKind = "payment_request",
    recipient: str = "aisha@example.mv",
    language: Language = "en",
) -> LeasedMessage:
    return LeasedMessage(uuid4(), NOW, kind, recipient, language, to_json(content), 1)


async def add(
    connection: asyncpg.Connection,
    count: int = 1,
    *,
    channel: Channel = "email",
    recipient: str = "aisha@example.mv",
    content: Struct | None = None,
    kind: MessageKind = "payment_request",
    customer_id: UUID | None = None,
    tenant_id: int | None = 1,
    object_id: UUID | None = None,
    at: datetime | None = None,
) -> list[UUID]:
    """Writes messages as a batch does, each to another customer if none is named; their ids."""
    world = World(at or datetime.now(UTC), "", os.urandom)
    content = content or replace(CONTENT, expires_at=datetime.now(UTC) + timedelta(days=1))
    for _ in range(count):
        message_id = world.new_id()
        to = addressed(message_id, kind, channel, recipient, "en")
        world.messages.append(
            Message(
                id=message_id,
                created_at=world.now,
                kind=kind,
                channel=channel,
                recipient=recipient,
                language="en",
                parameters=encrypt(MASTER, to_json(content), to),
                tenant_id=tenant_id,
                customer_id=customer_id or uuid4(),
                object_id=object_id or uuid4(),
            )
        )
    await save(connection, world)
    return [message.id for message in world.messages]


def content_of(row: asyncpg.Record, master: bytes = MASTER) -> dict[str, Any]:
    """The values of a message's text, from its whole row."""
    to = addressed(row["id"], row["kind"], row["channel"], row["recipient"], row["language"])
    values: dict[str, Any] = json.loads(decrypt(master, row["parameters"], to))
    return values


async def row_of(connection: asyncpg.Connection, message_id: UUID) -> asyncpg.Record:
    return await connection.fetchrow("SELECT * FROM messages WHERE id = $1", message_id)


async def make_due(connection: asyncpg.Connection) -> None:
    await connection.execute("UPDATE messages SET next_attempt_at = now()")


class Mailbox:
    """Received mail. Each command is answered with the next of its answers, then with 250.

    An answer may also be a number of seconds to wait before 250, or None to end the connection.
    """

    def __init__(self) -> None:
        self.received: list[EmailMessage] = []
        self.senders: list[str] = []
        self.recipients: list[str] = []
        self.answers: dict[str, Iterator[str | float | None]] = {}

    def answer(self, command: str, *answers: str | float | None, always: bool = False) -> None:
        self.answers[command] = repeat(answers[0]) if always else iter(answers)

    async def _next(self, server: SMTP, command: str) -> str:
        answer = next(self.answers.get(command, iter(())), "250 OK")
        if answer is None:
            assert server.transport is not None
            server.transport.abort()
            return "451 gone"
        if isinstance(answer, str):
            return answer
        await asyncio.sleep(answer)
        return "250 OK"

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: Any
    ) -> str:
        answer = await self._next(server, "RCPT")
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        answer = await self._next(server, "DATA")
        if answer.startswith("250"):
            assert isinstance(envelope.content, bytes)
            assert envelope.mail_from is not None
            parsed = message_from_bytes(envelope.content, policy=policy.default)
            assert isinstance(parsed, EmailMessage)
            self.received.append(parsed)
            self.senders.append(envelope.mail_from)
            self.recipients += envelope.rcpt_tos
        return answer


@asynccontextmanager
async def mail_server(mailbox: Mailbox, **options: Any) -> AsyncIterator[SmtpServer]:
    loop = asyncio.get_running_loop()
    ssl = options.pop("ssl", None)
    server = await loop.create_server(
        lambda: SMTP(mailbox, loop=loop, hostname="mail.test", **options), "127.0.0.1", 0, ssl=ssl
    )
    try:
        port = server.sockets[0].getsockname()[1]
        yield SmtpServer("127.0.0.1", port, ssl is not None, None, None)
    finally:
        server.close()


@asynccontextmanager
async def silent_server() -> AsyncIterator[SmtpServer]:
    """Accepts connections and never says a word."""
    held: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, writer: held.append(writer), "127.0.0.1", 0)
    try:
        yield SmtpServer("127.0.0.1", server.sockets[0].getsockname()[1], False, None, None)
    finally:
        for writer in held:
            writer.close()
        server.close()
