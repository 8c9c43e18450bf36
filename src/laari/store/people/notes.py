"""Notes of operators about customers; they are never changed."""

from datetime import datetime
from uuid import UUID

from asyncpg import Connection
from msgspec import Struct

from laari.rules.actors import Actor

LONGEST = 2_000  # characters


class Note(Struct, frozen=True):
    time: datetime
    author: str
    text: str


async def add(connection: Connection, actor: Actor, customer_id: UUID, text: str) -> None:
    await connection.execute(
        "INSERT INTO customer_notes (customer_id, author, text) VALUES ($1, $2, $3)",
        customer_id,
        actor.name,
        text,
    )


async def of_customer(connection: Connection, customer_id: UUID, most: int) -> list[Note]:
    """The newest first."""
    rows = await connection.fetch(
        "SELECT time, author, text FROM customer_notes WHERE customer_id = $1 "
        "ORDER BY id DESC LIMIT $2",
        customer_id,
        most,
    )
    return [Note(*row) for row in rows]
