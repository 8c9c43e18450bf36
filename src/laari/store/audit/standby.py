"""A standby for the audit that has everything the primary had when the audit began."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
from asyncpg import Connection

from laari.errors import LaariError
from laari.store.ledger.last_seal_file import KnownSeal, is_in_chain
from laari.store.ledger.seals import last_seal
from laari.store.postgres.connect import close, connect_to_standby, is_lost
from laari.store.postgres.pool import connection_to

CATCH_UP_SECONDS = 30.0
POLL_SECONDS = 0.2

# Something tiny in the log, after everything that was committed before. It waits for no standby.
_MARK = """
SELECT pg_logical_emit_message(true, 'laari', '')::text, system_identifier,
    set_config('synchronous_commit', 'off', true)
FROM pg_control_system()
"""
_REPLAYED = """
SELECT system_identifier = $2 AS is_same, pg_last_wal_replay_lsn() >= $1::text::pg_lsn AS has_all
FROM pg_control_system()
"""
_CONFLICT = (
    "the standby ended the audit, to go on replaying the primary's log: set hot_standby_feedback "
    "= on and a longer max_standby_streaming_delay there, or audit the primary"
)


@asynccontextmanager
async def caught_up(primary: str, standby: str, count: int) -> AsyncIterator[list[Connection]]:
    """Connections to the standby; refuses one of another cluster, and one that lags.

    A copy with another history has the same identifier, but not the primary's last seal.
    """
    async with connection_to(primary) as connection:
        seal = await last_seal(connection)
        lsn, identifier, _ = await connection.fetchrow(_MARK)
    connections: list[Connection] = []
    try:
        for _ in range(count):
            connections.append(await connect_to_standby(standby))
        await _await_replay(connections[0], lsn, identifier)
        if seal and not await is_in_chain(connections[0], KnownSeal(seal.number, seal.mac)):
            raise LaariError(
                f"--standby names a copy with another history: it lacks seal {seal.number}"
            )
        yield connections
    except asyncpg.SerializationError:
        raise LaariError(_CONFLICT) from None
    except Exception as error:
        if is_lost(error):
            raise LaariError("the connection to the standby was lost") from error
        raise
    finally:
        for each in connections:
            await close(each)


async def _await_replay(connection: Connection, lsn: str, identifier: int) -> None:
    try:
        async with asyncio.timeout(CATCH_UP_SECONDS):
            while True:
                is_same, has_all = await connection.fetchrow(_REPLAYED, lsn, identifier)
                if not is_same:
                    raise LaariError("--standby names a server of another cluster")
                if has_all:
                    return
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise LaariError(
            f"the standby is more than {CATCH_UP_SECONDS:.0f} seconds behind the primary: see why, "
            "or audit the primary"
        ) from None
