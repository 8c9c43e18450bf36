"""Kept connections to PostgreSQL, lent to one function of the store at a time.

Every wait has a limit, and nothing that may have been committed is repeated.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Concatenate, ParamSpec, TypeAlias, TypeVar

import asyncpg

from laari.errors import ConnectionLostError, LaariError, UnavailableError
from laari.spine.batches import OutcomeUnknown
from laari.store.postgres.connect import STALE_SECONDS, close, connect, is_lost, prove_writable
from laari.store.postgres.deadlines import Watch

log = logging.getLogger(__name__)

A = TypeVar("A")
P = ParamSpec("P")

# The name by which other layers know it.
Connection: TypeAlias = asyncpg.Connection
# A function of the store, and one without its other arguments.
Function: TypeAlias = Callable[Concatenate[Connection, P], Awaitable[A]]
Query: TypeAlias = Callable[[Connection], Awaitable[A]]

STATEMENT_SECONDS = 3.0  # the server's own limit
GRACE_SECONDS = 0.5  # then the connection counts as dead
FAIL_FAST_SECONDS = 0.25  # without a new attempt after a failed connection
PING_SECONDS = 1.0  # for the test of an idle connection
# Each statement has one good plan.
_SESSION = {"plan_cache_mode": "force_generic_plan"}
READ_CONNECTIONS = 6  # per process; look-ups are coalesced, so only listings need more than one
WRITE_CONNECTIONS = 2  # per process, for what is not money: sessions, keys, windows
SECOND_TRY_SECONDS = 2.5  # to connect again and repeat a read whose connection was dead
ACQUIRE_SECONDS = 2.0  # to wait for a connection to write on
OPERATION_SECONDS = 60.0  # one command of the command line
READY_SECONDS = 2.0  # a database that takes longer to commit is not ready for requests
PROBE_EVERY_SECONDS = 1.0

_LOST = "the connection to the database was lost: the last write may or may not be done"


class SchemaError(LaariError):
    """A statement names a table or column that the database does not have."""


@asynccontextmanager
async def connection_to(
    dsn: str, seconds: float = OPERATION_SECONDS, **settings: str
) -> AsyncIterator[Connection]:
    """A connection for one purpose, for at most this time."""
    connection = await connect(dsn, settings)
    watch = Watch()
    watch.expect(connection, seconds)
    try:
        yield connection
    except asyncpg.ReadOnlySQLTransactionError:
        raise UnavailableError("the database cannot be written: it is read-only") from None
    except (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError) as error:
        raise SchemaError(f"the schema is not that of this version of Laari: {error}") from error
    except Exception as error:
        if is_lost(error):
            raise ConnectionLostError(_LOST) from error
        raise
    finally:
        watch.done(connection)
        await close(connection)


class ConnectionGroup:
    """A bounded number of connections for one purpose, opened when they are needed.

    Nothing is reset between uses: they are single statements, or transactions that end.
    """

    def __init__(self, dsn: str, most: int, seconds: float, *, writing: bool) -> None:
        self._dsn = dsn
        self._most = most
        self._writing = writing
        # A write cannot be repeated, and a long read would notice a dead connection late.
        self._tries_first = writing or seconds > STATEMENT_SECONDS
        self._settings = _SESSION | {"statement_timeout": f"{int(seconds * 1000)}ms"}
        if not writing:
            self._settings["default_transaction_read_only"] = "on"
        self.seconds = seconds + GRACE_SECONDS
        self._permits = asyncio.Semaphore(most)
        self._idle: list[tuple[Connection, float]] = []
        self._used = 0
        self._watch = Watch()
        self._failure: UnavailableError | None = None
        self._failed_at = 0.0

    @property
    def size(self) -> int:
        return self._used + len(self._idle)

    @property
    def idle(self) -> int:
        return len(self._idle)

    async def acquire(self, deadline: float) -> None:
        """Waits for the right to use one connection; `release` ends it."""
        if self._permits.locked():
            try:
                async with asyncio.timeout_at(deadline):
                    await self._permits.acquire()
            except TimeoutError:
                raise UnavailableError("all connections to the database are in use") from None
        else:
            await self._permits.acquire()  # at once
        self._used += 1

    def release(self) -> None:
        self._used -= 1
        self._permits.release()

    async def run(self, query: Query[A]) -> A:
        connection = await self._take()
        self._watch.expect(connection, self.seconds)
        try:
            return await query(connection)
        except asyncio.CancelledError:  # given up in the middle of something
            connection.terminate()
            raise
        except BaseException as error:
            unusable = is_lost(error) or isinstance(error, OutcomeUnknown)
            if unusable or (self._writing and is_read_only(error)):
                connection.terminate()
                self.drop_idle()  # they were made at the same time as this one
            raise
        finally:
            self._watch.done(connection)
            if not connection.is_closed():
                self._idle.append((connection, asyncio.get_running_loop().time()))

    async def _take(self) -> Connection:
        while self._idle:
            connection, since = self._idle.pop()
            if not connection.is_closed() and await self._is_alive(connection, since):
                return connection
        return await self._connect()

    async def _is_alive(self, connection: Connection, since: float) -> bool:
        """Tests a connection that was idle for a while, if a retry is not possible."""
        if not self._tries_first or asyncio.get_running_loop().time() - since < STALE_SECONDS:
            return True
        try:
            with self._watch.bound(connection, PING_SECONDS):
                await connection.execute("SELECT")
        except BaseException as error:
            connection.terminate()
            if is_lost(error):
                self.drop_idle()
                return False
            raise
        return True

    async def _connect(self) -> Connection:
        """Fails at once for a moment after a connection that could not be made."""
        loop = asyncio.get_running_loop()
        if self._failure is not None and loop.time() - self._failed_at < FAIL_FAST_SECONDS:
            raise UnavailableError(str(self._failure))
        try:
            connection = await connect(self._dsn, self._settings, writing=self._writing)
        except UnavailableError as error:
            if self._failure is None:
                log.warning("no connection to the database: %s", error)
            self._failure, self._failed_at = error, loop.time()
            raise
        if self._failure is not None:
            self._failure = None
            log.warning("the database is back")
        return connection

    def drop_idle(self) -> None:
        while self._idle:
            self._idle.pop()[0].terminate()

    async def close(self) -> None:
        """Ends the connections, each when its user is done."""
        for _ in range(self._most):
            await self._permits.acquire()
        while self._idle:
            await close(self._idle.pop()[0])


def is_read_only(error: BaseException) -> bool:
    """The server was a primary once, or refuses writes."""
    return isinstance(error, asyncpg.ReadOnlySQLTransactionError)


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

    async def read(self, function: Function[P, A], *given: P.args, **named: P.kwargs) -> A:
        """Runs a read, and again if its connection was lost.

        After a restart of the database every idle connection is broken.
        """

        def query(connection: Connection) -> Awaitable[A]:
            return function(connection, *given, **named)

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

    async def write(self, function: Function[P, A], *given: P.args, **named: P.kwargs) -> A:
        """Runs a write as one transaction, once. Money goes through the spine instead."""
        return await self.write_each(_committed, lambda own: function(own, *given, **named))

    async def write_each(self, function: Function[P, A], *given: P.args, **named: P.kwargs) -> A:
        """Runs statements that each commit alone, and may be lost or repeated without harm."""
        connections = self._writing
        await connections.acquire(asyncio.get_running_loop().time() + ACQUIRE_SECONDS)
        try:
            return await connections.run(lambda own: function(own, *given, **named))
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


async def _committed(connection: Connection, query: Query[A]) -> A:
    """One transaction: an error before the commit leaves nothing behind."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        result = await query(connection)
        # A commit of a failed transaction is answered with a rollback and no error.
        await connection.execute("SELECT")
    except BaseException:
        if not connection.is_closed():
            await transaction.rollback()
        raise
    warnings: list[str] = []

    def hear(_connection: Connection, message: asyncpg.PostgresLogMessage) -> None:
        if message.severity_en == "WARNING":
            warnings.append(message.message)

    # A commit whose wait for its standby was cancelled succeeds with a warning.
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
