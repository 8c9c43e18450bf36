"""Kept connections to PostgreSQL, lent to one function of the store at a time.

Every wait has a limit, and nothing that may have been committed is repeated.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

import asyncpg

from laari.errors import ConnectionLostError, UnavailableError
from laari.spine.engine import OutcomeUnknown
from laari.store.postgres.connect import close, connect, is_lost, prove_writable
from laari.store.postgres.connections import STATEMENT_SECONDS, ConnectionGroup, Query, is_read_only
from laari.store.postgres.deadlines import Watch

A = TypeVar("A")
P = ParamSpec("P")

# What functions of the store are handed; the name by which other layers know it.
Connection: TypeAlias = asyncpg.Connection

READ_CONNECTIONS = 6  # per process; look-ups are coalesced, so listings are what uses more than one
WRITE_CONNECTIONS = 2  # per process, for what is not money: sessions, keys, windows
# A function that found its connection dead has so much left to connect and try another one.
SECOND_TRY_SECONDS = 2.5
ACQUIRE_SECONDS = 2.0  # to wait for a connection to write on
OPERATION_SECONDS = 60.0  # one command of the command line
READY_SECONDS = 2.0  # a database that takes longer to commit is not ready for requests
PROBE_EVERY_SECONDS = 1.0

_LOST = "the connection to the database was lost: what was being written may or may not be done"


@asynccontextmanager
async def connection_to(
    dsn: str, seconds: float = OPERATION_SECONDS, **settings: str
) -> AsyncIterator[asyncpg.Connection]:
    """A connection for one purpose, for at most this time."""
    connection = await connect(dsn, settings)
    watch = Watch()
    watch.expect(connection, seconds)
    try:
        yield connection
    except asyncpg.ReadOnlySQLTransactionError:
        raise UnavailableError("the database cannot be written: it is read-only") from None
    except Exception as error:
        if is_lost(error):
            raise ConnectionLostError(_LOST) from error
        raise
    finally:
        watch.done(connection)
        await close(connection)


class _Run(Protocol):
    def __call__(self, query: Query[A]) -> Coroutine[Any, Any, A]: ...


class Lend:
    """Calls a function of the store with a connection and these arguments."""

    def __init__(self, run: _Run) -> None:
        self._run = run

    def __call__(
        self,
        function: Callable[Concatenate[asyncpg.Connection, P], Awaitable[A]],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> Coroutine[Any, Any, A]:
        return self._run(lambda connection: function(connection, *arguments, **named))


class Pool:
    """Connections for reads, which refuse to write, and connections for writes."""

    def __init__(
        self,
        dsn: str,
        most: int = READ_CONNECTIONS,
        writers: int = WRITE_CONNECTIONS,
        seconds: float = STATEMENT_SECONDS,
    ) -> None:
        self._reading = ConnectionGroup(dsn, most, seconds, writing=False)
        self._writing = ConnectionGroup(dsn, writers, seconds, writing=True)
        self.read = Lend(self._read)
        self.write = Lend(self._write)
        self.write_each = Lend(self._write_each)
        self._probe: asyncio.Task[bool] | None = None
        self._probed_at = 0.0

    @property
    def size(self) -> int:
        return self._reading.size

    @property
    def idle(self) -> int:
        return self._reading.idle

    async def open(self) -> None:
        """Makes the first connection, which proves that the database can be reached."""
        await self.read(asyncpg.Connection.execute, "SELECT 1")

    async def _read(self, query: Query[A]) -> A:
        """Runs a read, and again if its connection was lost.

        After a restart of the database every idle connection is broken.
        """
        connections, loop = self._reading, asyncio.get_running_loop()
        deadline = loop.time() + connections.seconds + SECOND_TRY_SECONDS
        await connections.acquire(deadline)
        try:
            try:
                return await connections.run(query)
            except Exception as error:
                if not is_lost(error):
                    raise
            async with asyncio.timeout_at(deadline):
                return await connections.run(query)
        except Exception as error:
            _refuse_unavailable(error)
            raise
        finally:
            connections.release()

    async def _write(self, query: Query[A]) -> A:
        """Runs a write as one transaction, once. Money goes through the spine instead."""
        return await self._write_each(lambda connection: _committed(connection, query))

    async def _write_each(self, query: Query[A]) -> A:
        """Runs statements that each commit alone, and may be lost or repeated without harm."""
        connections = self._writing
        await connections.acquire(asyncio.get_running_loop().time() + ACQUIRE_SECONDS)
        try:
            return await connections.run(query)
        except Exception as error:
            _refuse_unavailable(error)
            if is_read_only(error):
                raise UnavailableError("the database cannot be written: it is read-only") from error
            raise
        finally:
            connections.release()

    async def is_writable(self) -> bool:
        """Whether a commit works: tried at most once a second for all callers."""
        loop = asyncio.get_running_loop()
        recent = loop.time() - self._probed_at < PROBE_EVERY_SECONDS
        if self._probe is None or (self._probe.done() and not recent):
            self._probed_at = loop.time()
            self._probe = asyncio.create_task(self._look())
        return await asyncio.shield(self._probe)

    async def _look(self) -> bool:
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self.write_each(prove_writable)
        except Exception:
            return False
        return True

    async def close(self) -> None:
        await self._reading.close()
        await self._writing.close()


async def _committed(connection: asyncpg.Connection, query: Query[A]) -> A:
    """One transaction: an error before the commit leaves nothing behind."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        result = await query(connection)
        # A commit of a transaction that has failed is answered with a rollback, and no error.
        await connection.execute("SELECT")
    except BaseException:
        if not connection.is_closed():
            await transaction.rollback()
        raise
    warnings: list[str] = []

    def hear(_connection: asyncpg.Connection, message: asyncpg.PostgresLogMessage) -> None:
        if message.severity_en == "WARNING":
            warnings.append(message.message)

    # A commit that somebody stops from waiting for its standby is done with a warning.
    connection.add_log_listener(hear)
    try:
        await transaction.commit()
    except Exception as error:
        if is_lost(error):
            raise OutcomeUnknown from error
        raise
    finally:
        if not connection.is_closed():
            connection.remove_log_listener(hear)
    if warnings:
        raise OutcomeUnknown("; ".join(warnings))
    return result


def _refuse_unavailable(error: Exception) -> None:
    """Raises UnavailableError if nothing was done and a retry may succeed."""
    if is_lost(error):
        raise UnavailableError("the connection to the database was lost") from error
    if isinstance(error, asyncpg.QueryCanceledError | asyncpg.LockNotAvailableError):
        raise UnavailableError("the database takes too long") from error
    if isinstance(error, asyncpg.DiskFullError):
        raise UnavailableError("the database has no room left on its disk") from error


async def open_pool(
    dsn: str, most: int = READ_CONNECTIONS, seconds: float = STATEMENT_SECONDS
) -> Pool:
    pool = Pool(dsn, most, seconds=seconds)
    await pool.open()
    return pool


async def check_writable(dsn: str) -> None:
    await close(await connect(dsn, writing=True))
