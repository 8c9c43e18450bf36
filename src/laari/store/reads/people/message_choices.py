"""Which messages about movements somebody wants."""

from asyncpg import Connection

from laari.rules.people_records import CustomerId, Whose
from laari.rules.records import EVERY_MESSAGE, MessageChoice


async def of(connection: Connection, whose: Whose) -> MessageChoice:
    column = "customer_id" if isinstance(whose, CustomerId) else "person_id"
    row = await connection.fetchrow(
        f"SELECT channel, least FROM message_choices WHERE {column} = $1", whose.id
    )
    return EVERY_MESSAGE if row is None else MessageChoice(**row)
