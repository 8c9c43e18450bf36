"""Who gave whom a role of the operator or a log-in, from the journal."""

from asyncpg import Connection

from laari.rules.limits.second_person import RECENT
from laari.rules.people.persons import LOG_IN
from laari.rules.records.second_person import Help


async def recent(connection: Connection) -> tuple[Help, ...]:
    """Those that count, and perhaps older ones: the rule compares its own time."""
    rows = await connection.fetch(
        "SELECT object_id AS email, actor_kind || ' ' || actor_name AS by, time AS at FROM journal "
        f"WHERE object_type = '{LOG_IN}' AND time > now() - $1::interval - interval '1 day'",
        RECENT,
    )
    return tuple(Help(**row) for row in rows)
