"""Which messages about movements somebody wants: their own choice, which decides nothing else."""

from asyncpg import Connection

from laari.rules.people_records import Whose
from laari.rules.records import EVERY_MESSAGE, MessageChoice
from laari.store.people.logins import table_of


async def of(connection: Connection, whose: Whose) -> MessageChoice:
    row = await connection.fetchrow(
        f"SELECT channel, least FROM message_choices WHERE {table_of(whose).column} = $1", whose.id
    )
    return EVERY_MESSAGE if row is None else MessageChoice(*row)


async def choose(connection: Connection, whose: Whose, choice: MessageChoice) -> None:
    column = table_of(whose).column
    await connection.execute(
        f"INSERT INTO message_choices ({column}, channel, least) VALUES ($1, $2, $3) "
        f"ON CONFLICT ({column}) DO UPDATE SET channel = $2, least = $3",
        whose.id,
        choice.channel,
        choice.least,
    )
