"""Which messages about movements somebody wants."""

from asyncpg import Connection

from laari.rules.records.messages import EVERY_MESSAGE, MessageChoice
from laari.rules.records.people import CustomerId, Whose


async def of(connection: Connection, whose: Whose) -> MessageChoice:
    column = "customer_id" if isinstance(whose, CustomerId) else "person_id"
    row = await connection.fetchrow(
        f"SELECT channel, least FROM message_choices WHERE {column} = $1", whose.id
    )
    return EVERY_MESSAGE if row is None else MessageChoice(**row)
