"""When the devices of tills were last seen."""

from datetime import datetime

from asyncpg import Connection


async def note_seen(connection: Connection, digest: bytes, now: datetime) -> None:
    await connection.execute(
        "UPDATE till_devices SET last_seen_at = greatest(last_seen_at, $2) WHERE digest = $1",
        digest,
        now,
    )
