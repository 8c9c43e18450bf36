"""A standby for one long look, such as the audit's, that has all the primary had when it began."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import NamedTuple

import asyncpg

from laari.errors import LaariError
from laari.store.connect import close, connect, is_lost
from laari.store.database import connection_to
from laari.store.standby import NOT_YET, Mark, obstacle, state_of, take_mark

CATCH_UP_SECONDS = 30.0
POLL_SECONDS = 0.2
_INSTANCE = "SELECT pg_postmaster_start_time(), inet_server_addr(), inet_server_port()"
_CONFLICT = (
    "the standby ended the work, to go on replaying the primary's log: set hot_standby_feedback "
    "= on and a longer max_standby_streaming_delay there, or read the primary"
)


class CaughtUp(NamedTuple):
    """Connections to one standby, and the moment up to which it has everything at least."""

    connections: list[asyncpg.Connection]
    upto: datetime  # by the primary's clock


@asynccontextmanager
async def caught_up(primary: str, standby: str, most: int = 1) -> AsyncIterator[CaughtUp]:
    """Waits for the standby to replay what the primary has now; refuses another than its own.

    There may be fewer connections than `most`: all of them are to the same server.
    """
    async with connection_to(primary) as connection:
        mark = await take_mark(connection)
    connections = [await connect(standby, standby=True)]
    try:
        await _await_replay(connections[0], mark)
        instance = await connections[0].fetchrow(_INSTANCE)
        for _ in range(most - 1):
            beside = await connect(standby, standby=True)
            connections.append(beside)
            if await beside.fetchrow(_INSTANCE) != instance:  # another host of the URL
                await close(connections.pop())
        yield CaughtUp(connections, mark.at)
    except asyncpg.SerializationError:
        raise LaariError(_CONFLICT) from None
    except Exception as error:
        if is_lost(error):
            raise LaariError("the connection to the standby was lost") from error
        raise
    finally:
        for each in connections:
            await close(each)


async def _await_replay(connection: asyncpg.Connection, mark: Mark) -> None:
    try:
        async with asyncio.timeout(CATCH_UP_SECONDS):
            while True:
                state = await state_of(connection, [mark])
                reason = obstacle(state, [mark], mark.heard)
                if reason is None:
                    return
                if reason != NOT_YET:
                    raise LaariError(f"LAARI_DATABASE_READ_URL: {reason}")
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise LaariError(
            f"the standby is more than {CATCH_UP_SECONDS:.0f} seconds behind the primary: see why, "
            "or read the primary"
        ) from None
